import assert from 'node:assert/strict'
import { request as httpRequest } from 'node:http'
import { test, type TestContext } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { addCleanup } from '../store.ts'
import { addRecorder, legacyBody, readAnswer, startMcp, type Answer, type Mcp, type RpcAnswer } from './mcp-helpers.ts'
import { until } from '../until.ts'

interface Message extends RpcAnswer {
  readonly method?: string
}

interface Sse {
  readonly endpoint: string
  readonly heard: Message[]
  readonly ended: () => boolean
  post(body: string, path?: string): Promise<{ status: number; text: string }>
  /** Returns the response to the request with this id. */
  answer(id: unknown): Promise<Message>
  close(): void
}

const origin = (mcp: Mcp) => new URL(mcp.url).origin
const headers = { 'content-type': 'application/json' }
const summaryOf = ({ status, body }: Answer) => [status, body.error?.code, body.id]
const slow = (ms: number, id: unknown, more: object = {}) =>
  legacyBody('tools/call', { name: 'one__slow', arguments: { ms }, ...more }, id)
const hello = (version: string, id: unknown = 0) =>
  legacyBody('initialize', { protocolVersion: version, capabilities: {}, clientInfo: { name: 'x', version: '1' } }, id)

/** Opens an HTTP+SSE client without an SDK. */
async function openSse(t: TestContext, mcp: Mcp, path = '/sse'): Promise<Sse> {
  const stop = new AbortController()
  addCleanup(t, () => stop.abort())
  const response = await fetch(`${origin(mcp)}${path}`, {
    headers: { accept: 'text/event-stream' },
    signal: stop.signal
  })
  assert.deepEqual([response.status, response.headers.get('content-type')], [200, 'text/event-stream'])
  const heard: Message[] = []
  let endpoint = ''
  let ended = false
  const read = async () => {
    let rest = ''
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      const frames = `${rest}${chunk}`.split('\n\n')
      rest = frames.pop()!
      for (const frame of frames) {
        const [, event, data] = /^event: (\w+)\ndata: (.*)$/.exec(frame) ?? []
        if (event === 'endpoint') endpoint = data!
        if (event === 'message') heard.push(JSON.parse(data!) as Message)
      }
    }
  }
  void read()
    .catch(() => {})
    .finally(() => (ended = true))
  await until('the endpoint is told', () => endpoint !== '')
  return {
    endpoint,
    heard,
    ended: () => ended,
    async post(body, to = endpoint) {
      const answer = await fetch(`${origin(mcp)}${to}`, { method: 'POST', headers, body })
      return { status: answer.status, text: await answer.text() }
    },
    async answer(id) {
      await until(`an answer to ${String(id)}`, () => heard.some((one) => one.id === id))
      return heard.find((one) => one.id === id)!
    },
    close: () => stop.abort()
  }
}

test('a client of 2024-11-05 opens a stream, posts to its companion and hears the answers on the stream', async (t) => {
  const mcp = await startMcp(t)
  await addRecorder(t, mcp, 'one')
  const sse = await openSse(t, mcp)
  assert.match(sse.endpoint, /^\/message\?sessionId=[\w-]{22}$/)
  assert.deepEqual(await sse.post(legacyBody('ping', {}, 'early')), { status: 202, text: 'Accepted' })
  assert.deepEqual((await sse.answer('early')).result, {})
  await sse.post(hello('2024-11-05'))
  assert.equal((await sse.answer(0)).result.protocolVersion, '2024-11-05')
  assert.equal((await sse.post('{"jsonrpc":"2.0","method":"notifications/initialized"}')).status, 202)
  await sse.post(hello('2024-11-05', 'again'))
  assert.equal((await sse.answer('again')).error!.code, -32600)
  await sse.post(slow(100, 'slow', { _meta: { progressToken: 5 } }))
  await sse.answer('slow')
  assert.equal(sse.heard.at(-1)!.id, 'slow')
  assert.ok(sse.heard.some(({ method }) => method === 'notifications/progress'))
  await sse.post(legacyBody('nothing', {}, 'odd'))
  assert.equal((await sse.answer('odd')).error!.code, -32601)
  await sse.post(`[${legacyBody('ping', {}, 'b1')},${legacyBody('ping', {}, 'b2')}]`)
  await Promise.all([sse.answer('b1'), sse.answer('b2')])
  const news = await openSse(t, mcp)
  await news.post(hello('1999-01-01'))
  assert.equal((await news.answer(0)).result.protocolVersion, '2025-11-25')
  assert.equal((await news.post(`[${legacyBody('ping', {}, 'b1')}]`)).status, 400)
})

test('what is posted wrongly is refused where it is posted', async (t) => {
  const mcp = await startMcp(t)
  const sse = await openSse(t, mcp)
  const send = async (path: string, body = legacyBody('ping'), init: RequestInit = {}) =>
    readAnswer(await fetch(`${origin(mcp)}${path}`, { method: 'POST', headers, body, ...init }))
  assert.deepEqual(summaryOf(await send('/message')), [400, -32000, null])
  assert.deepEqual(summaryOf(await send('/message?sessionId=')), [400, -32000, null])
  const session = await mcp.initialize()
  for (const id of ['x', sse.endpoint.slice(-22, -1), session['mcp-session-id']]) {
    assert.deepEqual(summaryOf(await send(`/message?sessionId=${id}`)), [404, -32001, null], id)
  }
  const id = sse.endpoint.slice(-22)
  assert.deepEqual(summaryOf(await mcp.legacy('ping', {}, { 'mcp-session-id': id })), [404, -32001, 7])
  assert.deepEqual(summaryOf(await send(sse.endpoint, '{')), [400, -32700, null])
  assert.deepEqual(summaryOf(await send(sse.endpoint, '[]')), [400, -32600, null])
  const other = await send(sse.endpoint, 'x', { headers: { 'content-type': 'text/plain' } })
  assert.equal(other.status, 415)
  const wrong: [string, string, string][] = [
    ['POST', '/sse', 'GET'],
    ['DELETE', '/sse', 'GET'],
    ['HEAD', '/sse', 'GET'],
    ['GET', sse.endpoint, 'POST'],
    ['DELETE', sse.endpoint, 'POST']
  ]
  for (const [method, path, allow] of wrong) {
    const answer = await fetch(`${origin(mcp)}${path}`, { method })
    assert.deepEqual([answer.status, answer.headers.get('allow')], [405, allow], `${method} ${path}`)
  }
  const unread = await fetch(`${origin(mcp)}/sse`, { headers: { accept: 'application/json' } })
  assert.deepEqual(summaryOf(await readAnswer(unread)), [406, -32000, null])
  assert.deepEqual(sse.heard, [])
})

test('LI-01 POST /message takes 4 MiB and no byte more', async (t) => {
  const mcp = await startMcp(t)
  const sse = await openSse(t, mcp)
  const padded = (size: number) => legacyBody('ping').padEnd(size)
  assert.equal((await sse.post(padded(4_194_304))).status, 202)
  const refused = await sse.post(padded(4_194_305))
  assert.deepEqual([refused.status, Object.keys(JSON.parse(refused.text) as object)], [413, ['error']])
  assert.equal((await sse.post(legacyBody('ping', {}, 'next'))).status, 202)
  await sse.answer('next')
})

test('DA-03 /sse and /message refuse a foreign Host and a foreign Origin', async (t) => {
  const mcp = await startMcp(t)
  const sse = await openSse(t, mcp)
  const { port } = new URL(mcp.url)
  const ask = (method: string, path: string, more: Record<string, string>) =>
    new Promise<number | undefined>((resolve, reject) => {
      const request = httpRequest({ port, host: '127.0.0.1', method, path, headers: { ...headers, ...more } })
      request.on('response', (response) => {
        response.destroy()
        resolve(response.statusCode)
      })
      request.on('error', reject)
      request.end(method === 'POST' ? legacyBody('ping') : undefined)
    })
  for (const [method, path, status] of [
    ['GET', '/sse', 200],
    ['POST', sse.endpoint, 202]
  ] as const) {
    for (const host of ['evil.example', '127.0.0.1.evil.example']) {
      assert.equal(await ask(method, path, { host }), 403, `${path} ${host}`)
    }
    for (const foreign of ['http://evil.example', 'null']) {
      assert.equal(await ask(method, path, { origin: foreign }), 403, `${path} ${foreign}`)
    }
    assert.equal(await ask(method, path, { host: `localhost:${port}` }), status)
  }
})

test('the stream is the session: when it closes, its calls are cancelled and its upstream sessions end', async (t) => {
  const mcp = await startMcp(t)
  const recorder = await addRecorder(t, mcp, 'one', {}, { session_mode: 'stateful' })
  await until('the session of the registration is closed', () => recorder.sessions.size === 0)
  const [sse, other] = [await openSse(t, mcp), await openSse(t, mcp)]
  await other.post(slow(300, 'theirs'))
  await sse.post(slow(60_000, 'mine'))
  await sse.post(slow(60_000, 'alone'))
  await until('all arrive', () => recorder.calls('tools/call').length === 3)
  await sse.post('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"alone"}}')
  await until('one is cancelled', () => recorder.calls('notifications/cancelled').length === 1)
  sse.close()
  await until('the other is too', () => recorder.calls('notifications/cancelled').length === 2)
  await until('the upstream session is closed', () => recorder.sessions.size === 1)
  await until('the session is forgotten', () => sse.ended())
  assert.equal((await sse.post(legacyBody('ping'))).status, 404)
  assert.equal((await other.answer('theirs')).error, undefined)
  assert.deepEqual(sse.heard, [])
})

test('changed lists are told of on the stream', async (t) => {
  const mcp = await startMcp(t)
  const sse = await openSse(t, mcp)
  await addRecorder(t, mcp, 'one')
  await until('all three are told of', () => sse.heard.length === 3)
  assert.ok(sse.heard.every(({ method }) => /^notifications\/\w+\/list_changed$/.test(method!)))
})

test('the companion stands below the path of the public URL, and a group has a pair of its own', async (t) => {
  const mcp = await startMcp(t, { TOWPATH_PUBLIC_URL: 'https://tools.example/gateway/' })
  await addRecorder(t, mcp, 'one')
  assert.match((await openSse(t, mcp)).endpoint, /^\/gateway\/message\?sessionId=/)
  const group = { name: 'few', included_tools: ['one__echo'] }
  const created = await mcp.app.inject({ method: 'POST', url: '/api/v0/tool-groups', payload: group })
  assert.equal(created.statusCode, 201, created.body)
  const sse = await openSse(t, mcp, '/v0/groups/few/sse')
  assert.match(sse.endpoint, /^\/gateway\/v0\/groups\/few\/message\?sessionId=/)
  const path = sse.endpoint.slice('/gateway'.length)
  assert.equal((await sse.post(legacyBody('tools/list', {}, 1), path)).status, 202)
  const { tools } = (await sse.answer(1)).result as { tools: { name: string }[] }
  assert.deepEqual(
    tools.map(({ name }) => name),
    ['one__echo']
  )
  assert.equal((await sse.post(legacyBody('ping'), path.replace('/v0/groups/few', ''))).status, 404)
  assert.equal((await fetch(`${origin(mcp)}/v0/groups/none/sse`)).status, 404)
  await mcp.app.inject({ method: 'DELETE', url: '/api/v0/tool-groups/few' })
  await until('the stream ends with the group', sse.ended)
})

test('a client of the SDK lists, calls and gets progress over /sse, and its abort reaches the upstream', async (t) => {
  const mcp = await startMcp(t)
  const recorder = await addRecorder(t, mcp, 'one')
  const client = new Client({ name: 'test', version: '1' })
  // the SDK's own transport does not satisfy its interface under exactOptionalPropertyTypes
  await client.connect(new SSEClientTransport(new URL(`${origin(mcp)}/sse`)) as Transport)
  addCleanup(t, () => client.close())
  assert.equal(client.getServerVersion()?.name, 'towpath')
  const { tools } = await client.listTools()
  assert.equal(tools.length, 4)
  const heard: number[] = []
  const onprogress = ({ progress }: { progress: number }) => void heard.push(progress)
  // this SDK loses progress that arrives together with the result
  await until('progress', async () => {
    await client.callTool({ name: 'one__slow', arguments: { ms: 100 } }, undefined, { onprogress })
    return heard.length > 0
  })
  const { contents } = await client.readResource({ uri: 'fixture://note' })
  assert.equal(contents.length, 1)
  const stop = new AbortController()
  const before = recorder.calls('tools/call').length
  const call = client.callTool({ name: 'one__slow', arguments: { ms: 60_000 } }, undefined, { signal: stop.signal })
  const failed = assert.rejects(call)
  await until('it arrives', () => recorder.calls('tools/call').length > before)
  stop.abort()
  await failed
  await until('the upstream is told', () => recorder.calls('notifications/cancelled').length === 1)
})

test('SR-H2 a body of a megabyte, read in steps, is answered over both transports as a short one is', async (t) => {
  const mcp = await startMcp(t)
  const sse = await openSse(t, mcp)
  const post = async (body: string) => {
    const answer = await fetch(mcp.url, {
      method: 'POST',
      headers: { ...headers, accept: 'application/json, text/event-stream' },
      body
    })
    return { status: answer.status, text: await answer.text() }
  }
  for (const padding of ['x', 'x'.repeat(1_000_000)]) {
    const id = padding.length
    const ping = legacyBody('ping', { padding }, id)
    assert.equal((await sse.post(ping)).status, 202)
    assert.deepEqual((await sse.answer(id)).result, {})
    const inside = (text: string) => ping.replace('"x', `"${text}x`)
    for (const good of [ping, ping.replace('{', '{\n\t'), inside('\\ud800'), inside('\\n')]) {
      const answered = await post(good)
      assert.equal(answered.status, 200)
      assert.match(answered.text, /"result":\{\}/)
    }
    const malformed = [ping.slice(0, -1), ...['\n', '\t', '\r', '\u0001', '\\q', '\\u12'].map(inside)]
    for (const send of [post, sse.post.bind(sse)]) {
      for (const bad of [...malformed, ...malformed.map((each) => `[${each}]`)]) {
        const { status, text } = await send(bad)
        assert.deepEqual(
          [status, /-32700/.test(text)],
          [400, true],
          `${bad.length} ${JSON.stringify(bad.slice(0, 99))}`
        )
      }
    }
  }
})
