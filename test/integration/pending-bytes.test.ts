import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { test, type TestContext } from 'node:test'
import { register } from '../app.ts'
import { sendEvent } from '../fixtures/http/server.ts'
import { startSse } from '../fixtures/http/sse.ts'
import { addCleanup } from '../store.ts'
import { until } from '../until.ts'
import { startUpstream, type Message } from '../e2e/upstream.ts'
import { addRecorder, legacyBody, openStream, startMcp, type Mcp } from './mcp-helpers.ts'

const part = 'x'.repeat(200_000)
/** The limit per server is a quarter: enough for one unfinished response, not for two. */
const env = { TOWPATH_PENDING_BYTES: '1200000' }

const beginning = (id: unknown) =>
  `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"content":[{"type":"text","text":"${part}`

/** Sends the first bytes of a result, and never the last. */
const endless = {
  json(message: Message, response: ServerResponse) {
    response.writeHead(200, { 'content-type': 'application/json' }).write(beginning(message.id))
  },
  stream(message: Message, response: ServerResponse) {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(`data: ${beginning(message.id)}`)
  }
}

const program = `
const say = (value) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...value }) + '\\n')
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line)
  const capabilities = { tools: {} }
  const serverInfo = { name: 'bad', version: '1' }
  if (method === 'initialize') say({ id, result: { protocolVersion: '2025-11-25', capabilities, serverInfo } })
  else if (method === 'tools/list') say({ id, result: { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] } })
  else if (method === 'tools/call') process.stdout.write('{"jsonrpc":"2.0","id":' + id + ',"result":{"a":"' + 'x'.repeat(200000))
})`

const addBad: Record<string, (t: TestContext, mcp: Mcp) => Promise<void>> = {
  async 'streamable HTTP, JSON'(t, { app }) {
    const { url } = await startUpstream(t, 'bad', { onCall: endless.json })
    await register(app, { name: 'bad', transport: 'streamable_http', url })
  },
  async 'streamable HTTP, event stream'(t, { app }) {
    const { url } = await startUpstream(t, 'bad', { onCall: endless.stream })
    await register(app, { name: 'bad', transport: 'streamable_http', url })
  },
  async SSE(t, { app }) {
    const fixture = await startSse(null, {
      onCall: (message, stream) => void stream.write(`data: ${beginning(message.id)}`)
    })
    addCleanup(t, fixture.close)
    await register(app, { name: 'bad', transport: 'sse', url: fixture.url })
  },
  async stdio(_t, { app }) {
    await register(app, { name: 'bad', transport: 'stdio', command: process.execPath, args: ['-e', program] })
  }
}

for (const [transport, add] of Object.entries(addBad)) {
  test(`SR-H3 unfinished answers are counted to their server alone (${transport})`, async (t) => {
    const mcp = await startMcp(t, env)
    await addRecorder(t, mcp, 'good')
    await add(t, mcp)
    const stop = new AbortController()
    addCleanup(t, () => stop.abort())
    const texts: string[] = []
    const call = async () => {
      const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
      const body = legacyBody('tools/call', { name: 'bad__echo', arguments: {} })
      texts.push(await (await fetch(mcp.url, { method: 'POST', headers, body, signal: stop.signal })).text())
    }
    for (let i = 0; i < 3; i++) void call().catch(() => {})
    await until('there is no room for another', () => texts.length > 0)
    assert.match(texts[0]!, /"reason":"too_large"/)
    assert.match(texts[0]!, /use too much memory in total/)
    for (let i = 0; i < 3; i++) {
      const { body } = await mcp.legacy('tools/call', { name: 'good__echo', arguments: { text: part } })
      assert.equal(body.error, undefined)
    }
    stop.abort()
    await until('what was held is given back', async () => {
      const { body } = await mcp.legacy('tools/call', { name: 'good__echo', arguments: {} })
      return body.error === undefined && mcp.app.gateway.stats().activeCalls === 0
    })
  })
}

test('SR-H3 questions that nobody answers are counted to their server', async (t) => {
  const mcp = await startMcp(t, env)
  const answers: string[] = []
  let n = 0
  const { url } = await startUpstream(t, 'bad', {
    onRequest(message, response) {
      if (message.method === undefined) {
        answers.push(JSON.stringify(message))
        response.writeHead(202).end()
        return true
      }
      return false
    },
    onCall(_message, response) {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      for (let i = 0; i < 7; i++) {
        const params = { message: part.slice(0, 60_000), requestedSchema: { type: 'object', properties: {} } }
        response.write(
          `data: ${JSON.stringify({ jsonrpc: '2.0', id: `q${n++}`, method: 'elicitation/create', params })}\n\n`
        )
      }
    }
  })
  await register(mcp.app, { name: 'bad', transport: 'streamable_http', url })
  const session = await mcp.initialize('2025-11-25', { elicitation: {} })
  await openStream(t, mcp.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...session },
    body: legacyBody('tools/call', { name: 'bad__echo', arguments: {} })
  })
  await until('those past four are refused', () => answers.length === 3)
  for (const answer of answers) assert.match(answer, /Too many concurrent requests/)
})

test('SR-H2 large arguments of calls under way have a limit together, over MCP of both eras and REST', async (t) => {
  const mcp = await startMcp(t, { TOWPATH_CALL_BYTES: '300000' })
  const recorder = await addRecorder(t, mcp, 'one')
  const large = { name: 'one__slow', arguments: { ms: 600_000, text: part } }
  const running = mcp.legacy('tools/call', large)
  await until('it arrives', () => recorder.calls('tools/call').length === 1)
  const invoke = (payload: object) => mcp.app.inject({ method: 'POST', url: '/api/v0/tools/invoke', payload })
  assert.equal((await mcp.legacy('tools/call', large)).status, 429)
  assert.equal((await mcp.modern('tools/call', large)).status, 429)
  assert.equal((await invoke(large)).statusCode, 429)
  const small = { name: 'one__echo', arguments: { text: 'a' } }
  assert.equal((await mcp.legacy('tools/call', small)).status, 200)
  assert.equal((await mcp.modern('tools/call', small)).status, 200)
  assert.equal((await invoke({ name: 'one__echo', arguments: { text: 'a' } })).statusCode, 200)
  recorder.finish()
  assert.equal((await running).status, 200)
  assert.equal((await mcp.legacy('tools/call', { name: 'one__echo', arguments: { text: part } })).status, 200)
})

const talkative = `
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line)
  if (method !== 'initialize') return
  const result = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 'a', version: '1' } }
  const instructions = 'i'.repeat(1_100_000)
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result: { ...result, instructions } }) + '\\n')
})`

test('SR-H3 what a server says of itself for each session is at most 1 MiB', async (t) => {
  const mcp = await startMcp(t)
  const { url } = await startUpstream(t, 'bad', {
    onRequest(message, response) {
      if (message.method !== 'initialize') return false
      const serverInfo = { name: 'bad', version: '1' }
      const result = {
        protocolVersion: '2025-11-25',
        capabilities: {},
        serverInfo,
        instructions: 'i'.repeat(1_100_000)
      }
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, result }))
      return true
    }
  })
  const servers = [
    { name: 'http', transport: 'streamable_http', url },
    { name: 'stdio', transport: 'stdio', command: process.execPath, args: ['-e', talkative] }
  ]
  for (const payload of servers) {
    const { statusCode, body } = await mcp.app.inject({ method: 'POST', url: '/api/v0/servers', payload })
    assert.equal(statusCode, 502, payload.name)
    assert.match(body, /answered the handshake with more than 1048576 bytes/)
  }
})

/** Pings in portions small enough for all pongs to have their turn; more than may wait for the server to accept them. */
async function pingInPortions(stream: ServerResponse) {
  for (let portion = 0; portion < 40; portion++) {
    const pings = Array.from(
      { length: 10 },
      (_, at) => `data: {"jsonrpc":"2.0","id":"p${portion}-${at}","method":"ping"}\n\n`
    )
    stream.write(pings.join(''))
    await delay(5)
  }
}

type Respond = (response: ServerResponse) => void

/** Registers a server that pings during each call. `take` gets the HTTP response to each pong. */
const addPinging: Record<string, (t: TestContext, mcp: Mcp, take: Respond) => Promise<void>> = {
  async 'streamable HTTP'(t, { app }, take) {
    const { url } = await startUpstream(t, 'bad', {
      onRequest(message, response) {
        if (message.method !== undefined) return false
        take(response)
        return true
      },
      async onCall(message, response) {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        await pingInPortions(response)
        response.end(`data: ${JSON.stringify({ jsonrpc: '2.0', id: message.id, result: { content: [] } })}\n\n`)
      }
    })
    await register(app, { name: 'bad', transport: 'streamable_http', url, session_mode: 'stateful' })
  },
  async SSE(t, { app }, take) {
    const fixture = await startSse(null, {
      onAnswer: take,
      async onCall(message, stream) {
        await pingInPortions(stream)
        sendEvent(stream, { jsonrpc: '2.0', id: message.id, result: { content: [] } })
      }
    })
    addCleanup(t, fixture.close)
    await register(app, { name: 'bad', transport: 'sse', url: fixture.url, session_mode: 'stateful' })
  }
}

for (const [transport, add] of Object.entries(addPinging)) {
  test(`SR-H3 a server that asks faster than it accepts answers is sent 256 of them at most (${transport})`, async (t) => {
    const mcp = await startMcp(t)
    const held: ServerResponse[] = []
    let [accepted, isAccepting] = [0, false]
    const accept = (response: ServerResponse) => {
      accepted++
      response.writeHead(202).end()
    }
    await add(t, mcp, (response) => (isAccepting ? accept(response) : void held.push(response)))
    const { body } = await mcp.legacy('tools/call', { name: 'bad__echo', arguments: {} })
    assert.equal(body.error, undefined)
    await until('answers arrive', () => held.length > 0)
    isAccepting = true
    held.forEach(accept)
    let before = -1
    await until('no more answers to arrive', async () => {
      before = accepted
      await delay(200)
      return accepted === before
    })
    assert.ok(accepted > 64 && accepted <= 256, `${accepted} answers`)
  })
}
