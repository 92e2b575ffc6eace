import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import { addCleanup } from '../store.ts'
import { until } from '../until.ts'
import { startGateway, type Gateway } from './harness.ts'
import { echoTool, sendJson, sendResult, startUpstream, type Message } from './upstream.ts'

/** The Helm chart gives the process 1 GiB, half of which V8 takes. */
const LIMIT_MB = 1_000
const META = 'io.modelcontextprotocol/'
const both = 'application/json, text/event-stream'

const rssOf = ({ pid }: Gateway): number =>
  Math.round(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1_024)

const body = (method: string, params: object = {}, id: unknown = 1) =>
  JSON.stringify({ jsonrpc: '2.0', id, method, params })

const modern = (method: string, params: object, capabilities: object = {}) =>
  body(method, {
    ...params,
    _meta: { [`${META}protocolVersion`]: '2026-07-28', [`${META}clientCapabilities`]: capabilities }
  })

const post = async ({ url }: Gateway, text: string, headers: Record<string, string> = {}) => {
  const all = { 'content-type': 'application/json', accept: both, ...headers }
  const response = await fetch(`${url}/mcp`, { method: 'POST', headers: all, body: text })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

/** Opens a client that sends and never reads. */
function deafClient(t: TestContext, gateway: Gateway, requests: string): Socket {
  const socket = connect(gateway.port, '127.0.0.1')
  addCleanup(t, () => socket.destroy())
  socket.on('error', () => {})
  socket.pause()
  socket.write(requests)
  return socket
}

const httpPost = (text: string) =>
  `POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\naccept: ${both}\r\n` +
  `content-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`

/** Asserts that another caller is served and memory stays within the limit; reports the numbers. */
async function checkServed(t: TestContext, gateway: Gateway, before: number, what: string): Promise<void> {
  const answer = await post(gateway, body('tools/call', { name: 'good__echo', arguments: { a: 1 } }))
  assert.equal(answer.status, 200, `${what}: ${answer.text.slice(0, 200)}`)
  assert.match(answer.text, /"result"/, what)
  const listed = await post(gateway, body('tools/list'))
  assert.match(listed.text.slice(0, 60), /"result"/, what)
  assert.equal((await gateway.get('/api/v0/servers')).status, 200, what)
  const after = rssOf(gateway)
  t.diagnostic(`${what}: RSS ${before} MB before, ${after} MB after`)
  assert.ok(after < LIMIT_MB, `${what}: ${after} MB`)
}

async function start(t: TestContext, heapMb = 512) {
  const gateway = await startGateway(t, { env: { NODE_OPTIONS: `--max-old-space-size=${heapMb}` } })
  const good = await startUpstream(t, 'good')
  await gateway.register({ name: 'good', transport: 'streamable_http', url: good.url })
  return gateway
}

const manyTools = Array.from({ length: 300 }, (_, i) => ({
  name: `tool_${i}`,
  description: 'd'.repeat(2_000),
  inputSchema: { type: 'object' }
}))

test('SR-H2 forty connections with batches of lists that nobody reads leave room for others', async (t) => {
  const gateway = await start(t)
  const many = await startUpstream(t, 'many', { tools: manyTools })
  await gateway.register({ name: 'many', transport: 'streamable_http', url: many.url })
  await post(gateway, body('tools/list'))
  const before = rssOf(gateway)
  const batch = `[${Array.from({ length: 100 }, (_, id) => body('tools/list', {}, id)).join(',')}]`
  for (let round = 0; round < 3; round++) {
    for (let i = 0; i < 40; i++) deafClient(t, gateway, httpPost(batch))
    await checkServed(t, gateway, before, `batches, round ${round}`)
  }
  const answer = await post(gateway, batch)
  assert.ok(answer.text.length <= 4_194_304 + 100_000)
  const answers = JSON.parse(answer.text) as { result?: { tools: object[] }; error?: { message: string } }[]
  assert.equal(answers.length, 100)
  assert.equal(answers[0]!.result!.tools.length, 301)
  assert.equal(answers[99]!.error!.message, 'the responses of the batch are too large in total')
})

test('SR-H2 single and pipelined lists and reads that nobody reads leave room for others', async (t) => {
  const gateway = await start(t)
  let reads = 0
  const contents = { contents: [{ uri: 'big://1', text: 'x'.repeat(2_000_000) }] }
  const many = await startUpstream(t, 'many', {
    tools: manyTools,
    onRequest(message, response) {
      if (message.method === 'initialize') {
        const capabilities = { tools: {}, resources: {} }
        const serverInfo = { name: 'many', version: '1' }
        sendResult(response, message, { protocolVersion: '2025-11-25', capabilities, serverInfo })
      } else if (message.method === 'resources/list') {
        sendResult(response, message, { resources: [{ uri: 'big://1', name: 'big' }] })
      } else if (message.method === 'resources/templates/list') {
        sendResult(response, message, { resourceTemplates: [] })
      } else if (message.method === 'resources/read') {
        reads++
        sendResult(response, message, contents)
      } else return false
      return true
    }
  })
  await gateway.register({ name: 'many', transport: 'streamable_http', url: many.url })
  const before = rssOf(gateway)
  for (const text of [body('tools/list'), body('resources/read', { uri: 'big://1' })]) {
    for (let round = 1; round <= 3; round++) {
      for (let i = 0; i < 100; i++) deafClient(t, gateway, httpPost(text).repeat(8))
      const isRead = text.includes('resources/read')
      await until('they are read', () => !isRead || reads >= 100 * round)
      await checkServed(t, gateway, before, `unread ${text.slice(30, 60)}, round ${round}`)
    }
  }
})

test('SR-H2 subscriptions to long URIs are refused, and those to many keep within their bytes', async (t) => {
  const gateway = await start(t)
  const telling = await startUpstream(t, 'telling', {
    onRequest(message, response) {
      if (message.method === 'initialize') {
        const capabilities = { tools: {}, resources: { subscribe: true } }
        const serverInfo = { name: 'telling', version: '1' }
        sendResult(response, message, { protocolVersion: '2025-11-25', capabilities, serverInfo })
      } else if (message.method === 'resources/list') {
        sendResult(response, message, { resources: [{ uri: 'file:///a', name: 'a' }] })
      } else if (message.method === 'resources/templates/list') {
        sendResult(response, message, { resourceTemplates: [{ uriTemplate: 'file:///{+path}', name: 't' }] })
      } else if (message.method.startsWith('resources/')) sendResult(response, message, {})
      else return false
      return true
    }
  })
  await gateway.register({ name: 'telling', transport: 'streamable_http', url: telling.url })
  const open = async () => {
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'a', version: '1' } }
    const answer = await post(gateway, body('initialize', params))
    return { 'mcp-session-id': answer.headers.get('mcp-session-id')! }
  }
  const before = rssOf(gateway)
  const session = await open()
  for (let i = 0; i < 112; i++) {
    const uri = `file:///${i}/${'x'.repeat(4_000_000)}`
    const answer = await post(gateway, body('resources/subscribe', { uri }), session)
    assert.match(answer.text, /-32602/)
  }
  await checkServed(t, gateway, before, '112 subscriptions of 4 MB')
  // a short URI must not keep the memory of its long request alive
  let taken = 0
  let refused = 0
  for (let s = 0; s < 2; s++) {
    const own = await open()
    for (let i = 0; i < 35; i++) {
      const text = body('resources/subscribe', {
        padding: 'p'.repeat(4_000_000),
        uri: `file:///some/long/path/${s}/${i}`
      })
      if ((await post(gateway, text, own)).text.includes('"result"')) taken++
      else refused++
    }
  }
  assert.deepEqual([taken, refused], [70, 0])
  await checkServed(t, gateway, before, '70 subscriptions in requests of 4 MB')
  const counts = await Promise.all(
    Array.from({ length: 8 }, async (_, s) => {
      const own = await open()
      let count = 0
      for (let i = 0; i < 400; i++) {
        const uri = `file:///${s}/${i}/${'x'.repeat(8_000)}`
        if ((await post(gateway, body('resources/subscribe', { uri }), own)).status !== 200) break
        count++
      }
      return count
    })
  )
  assert.ok(Math.max(...counts) <= 130, `a session keeps at most 4 MiB: ${counts.join()}`)
  await checkServed(t, gateway, before, `${counts.reduce((a, b) => a + b)} subscriptions of 8 kB`)
})

const answering = (t: TestContext, result: (message: Message) => object) =>
  startUpstream(t, 'bad', {
    tools: [echoTool],
    onCall: (message, response) => sendJson(response, { jsonrpc: '2.0', id: message.id, ...result(message) })
  })

test('SR-H3 fifty results that link to URIs of 10 MB lock nobody out', async (t) => {
  const gateway = await start(t)
  let n = 0
  const content = () => [{ type: 'resource_link', name: 'l', uri: `x://${n++}/${'y'.repeat(10_000_000)}` }]
  const bad = await answering(t, () => ({ result: { content: content() } }))
  await gateway.register({ name: 'bad', transport: 'streamable_http', url: bad.url })
  const before = rssOf(gateway)
  for (let i = 0; i < 50; i++) {
    const answer = await post(gateway, body('tools/call', { name: 'bad__echo', arguments: {} }))
    assert.equal(answer.status, 200, `call ${i}`)
  }
  await checkServed(t, gateway, before, '50 links of 10 MB')
  assert.ok((await gateway.post('/api/v0/servers/bad/disable')).status < 300)
})

test('SR-H3 elicitation ids of any size lock nobody out', async (t) => {
  // 192 ids of 1 MB exceed the limit; more would only take longer
  const gateway = await start(t, 192)
  let n = 0
  const elicitations = () =>
    Array.from({ length: 8 }, () => ({
      mode: 'url',
      message: 'm',
      url: 'https://a.example/',
      elicitationId: `${n++}${'y'.repeat(1_000_000)}`
    }))
  const bad = await answering(t, () => ({
    error: { code: -32042, message: 'visit', data: { elicitations: elicitations() } }
  }))
  await gateway.register({ name: 'bad', transport: 'streamable_http', url: bad.url })
  const params = {
    protocolVersion: '2025-11-25',
    capabilities: { elicitation: { url: {} } },
    clientInfo: { name: 'a' }
  }
  const session = { 'mcp-session-id': (await post(gateway, body('initialize', params))).headers.get('mcp-session-id')! }
  const before = rssOf(gateway)
  for (let i = 0; i < 24; i++) {
    await post(gateway, body('tools/call', { name: 'bad__echo', arguments: {} }), session)
  }
  await checkServed(t, gateway, before, '192 elicitation ids of 1 MB')
})

test('SR-H3 questions of megabytes that wait for their callers lock nobody out', async (t) => {
  const gateway = await start(t)
  let n = 0
  const bad = await startUpstream(t, 'bad', {
    onCall(_message, response) {
      // a long message is truncated, a schema is kept
      const properties = { a: { type: 'string', description: 'q'.repeat(4_000_000) } }
      const params = { message: 'q', requestedSchema: { type: 'object', properties } }
      const question = { jsonrpc: '2.0', id: `q${n++}`, method: 'elicitation/create', params }
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(`event: message\ndata: ${JSON.stringify(question)}\n\n`)
    }
  })
  await gateway.register({ name: 'bad', transport: 'streamable_http', url: bad.url })
  const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'bad__echo' }
  const text = modern('tools/call', { name: 'bad__echo', arguments: {} }, { elicitation: {} })
  const before = rssOf(gateway)
  let asked = 0
  let refused = 0
  for (let i = 0; i < 80; i++) {
    const answer = await post(gateway, text, headers)
    if (answer.text.includes('"input_required"')) asked++
    else if (answer.text.includes('too many calls are waiting')) refused++
  }
  assert.ok(asked >= 1 && asked <= 10, `asked ${asked}, refused ${refused}`)
  assert.equal(asked + refused, 80)
  await checkServed(t, gateway, before, `${asked} questions of 4 MB, ${refused} refused`)
})
