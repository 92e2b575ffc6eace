import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { Payload } from '../../src/json/payload.ts'
import { type Answer, type Sink, Call, silentSink } from '../../src/upstream/transport/call.ts'
import { readUpstream } from '../../src/upstream/discovery/read-upstream.ts'
import { UpstreamFailure } from '../../src/protocol/upstream-failure.ts'
import type { HttpClientOptions } from '../../src/upstream/http/streamable-http-client.ts'
import { type SseConnection, createSseClient } from '../../src/upstream/http/sse-client.ts'
import { connector } from '../egress.ts'
import { freePort } from '../ports.ts'
import { sendEvent, startHttp } from '../fixtures/http/server.ts'
import { startSse } from '../fixtures/http/sse.ts'
import { until } from '../until.ts'

const newClient = (t: TestContext, url: string, more: Partial<HttpClientOptions> = {}) => {
  const options = { url, headers: {}, version: '1.2.3', connector, maxResponseBytes: 1_048_576, ...more }
  const client = createSseClient(options)
  t.after(() => client.close())
  return client
}
const open = (t: TestContext, url: string, more: Partial<HttpClientOptions> = {}, ms = 60_000) =>
  newClient(t, url, more).open({ era: 'legacy', capabilities: '{"roots":{}}', deadline: performance.now() + ms })

const newCall = (args: unknown = {}, sink: Sink = silentSink) =>
  new Call({ method: 'tools/call', members: `"name":"echo","arguments":${JSON.stringify(args)}`, meta: '' }, sink)
const call = (connection: SseConnection, args?: unknown, sink?: Sink) => connection.send(newCall(args, sink))
const textOf = ({ body }: Answer) => (JSON.parse(body.toString()) as { content: { text: string }[] }).content[0]!.text

const failure = async (promise: Promise<unknown>): Promise<UpstreamFailure> => {
  const error = await promise.then(
    () => assert.fail('did not fail'),
    (reason: unknown) => reason
  )
  assert.ok(error instanceof UpstreamFailure, String(error))
  return error
}

test('a connection is one event stream, messages go to the endpoint that it names', async (t) => {
  const upstream = await startSse(t, { authorization: 'Bearer good' })
  const connection = await open(t, upstream.url, { headers: { Authorization: 'Bearer good' } })
  assert.equal(connection.greeting.version, '2024-11-05')
  assert.deepEqual(connection.greeting.serverInfo, { name: 'old', version: '1' })
  const answers = await Promise.all([call(connection, { n: 1 }), call(connection, { n: 'zwölf' })])
  assert.deepEqual(answers.map(textOf), ['{"n":1}', '{"n":"zwölf"}'])
  const posted = upstream.requests.filter(({ method }) => method === 'POST').map(({ message }) => message!.method)
  assert.deepEqual(posted, ['initialize', 'notifications/initialized', 'tools/call', 'tools/call'])
  assert.deepEqual(upstream.calls('initialize')[0]!.params!.capabilities, { roots: {} })

  let closes = 0
  connection.onClose = () => closes++
  connection.close()
  connection.close()
  await until('the stream is closed', () => upstream.streams.size === 0)
  assert.deepEqual([connection.closed, closes], [true, 1])
  assert.equal((await failure(call(connection))).maybeProcessed, false)
})

test('an endpoint at another origin is refused, and nothing is sent there', async (t) => {
  const other = await startHttp((_request, response) => response.writeHead(202).end())
  t.after(other.close)
  const upstream = await startSse(t, { endpoint: `${other.origin}/message` })
  const failed = await failure(open(t, upstream.url))
  assert.deepEqual([failed.reason, failed.message], ['bad_response', 'named an endpoint at another origin'])
  await until('the stream is closed', () => upstream.streams.size === 0)
  assert.equal(other.requests.length, 0)
})

test('UP-01 a stream that names no endpoint fails to open at the deadline', async (t) => {
  const upstream = await startSse(t, { endpoint: null })
  const failed = await failure(open(t, upstream.url, {}, 150))
  assert.equal(failed.reason, 'timeout')
  await until('the stream is closed', () => upstream.streams.size === 0)
})

test('what is no such server is told by its status', async (t) => {
  const upstream = await startSse(t, { authorization: 'Bearer good' })
  assert.equal((await failure(open(t, upstream.url))).message, 'demands authentication (HTTP 401)')
  const rejected = await failure(open(t, upstream.url, { headers: { authorization: 'Bearer bad' } }))
  assert.deepEqual([rejected.reason, rejected.message], ['auth', 'rejected the configured token (HTTP 401)'])
  const web = await startHttp((_request, response) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end('<p>')
  )
  t.after(web.close)
  const message = 'answered HTTP 200 with neither JSON nor an event stream'
  assert.equal((await failure(open(t, web.origin))).message, message)
  const modern = newClient(t, upstream.url).open({ era: 'modern', capabilities: '{}', deadline: 0 })
  assert.equal((await failure(modern)).reason, 'bad_response')
})

test('UP-06 the end of the stream fails every call under way at once, and ends the connection', async (t) => {
  const upstream = await startSse(t, { onCall: () => {} })
  const connection = await open(t, upstream.url)
  let closes = 0
  connection.onClose = () => closes++
  const failed = [failure(call(connection)), failure(call(connection))]
  await until('the calls arrive', () => upstream.calls('tools/call').length === 2)
  for (const stream of upstream.streams.values()) stream.end()
  for (const { reason, message } of await Promise.all(failed)) {
    assert.deepEqual([reason, message], ['unreachable', 'event stream ended'])
  }
  assert.deepEqual([connection.closed, closes], [true, 1])
})

test('UP-02 a stopped call is cancelled upstream, and the others go on', async (t) => {
  const upstream = await startSse(t, {
    onCall: ({ id, params }, stream) =>
      params!.arguments === 1 || sendEvent(stream, { jsonrpc: '2.0', id, result: { content: [] } })
  })
  const connection = await open(t, upstream.url)
  const stopped = newCall(1)
  const failed = failure(connection.send(stopped))
  await until('the call arrives', () => upstream.calls('tools/call').length === 1)
  stopped.stop(new UpstreamFailure('timeout', 'took too long'))
  assert.equal((await failed).reason, 'timeout')
  await until('it is cancelled', () => upstream.calls('notifications/cancelled').length === 1)
  const { requestId } = upstream.calls('notifications/cancelled')[0]!.params as { requestId: unknown }
  assert.equal(requestId, upstream.calls('tools/call')[0]!.id)
  assert.equal((await call(connection, 2)).kind, 'result')
})

test('UP-02 hundreds of calls stopped at once are all cancelled upstream, though answers wait to be accepted', async (t) => {
  let waiting = 0
  const upstream = await startSse(t, {
    onCall: () => {},
    onAnswer: () => void waiting++
  })
  const connection = await open(t, upstream.url)
  const calls = Array.from({ length: 300 }, () => newCall(1))
  const failed = Promise.all(calls.map((each) => failure(connection.send(each))))
  await until('the calls arrive', () => upstream.calls('tools/call').length === 300)
  const [stream] = upstream.streams.values()
  for (let id = 0; id < 30; id++) sendEvent(stream!, { jsonrpc: '2.0', id, method: 'ping' })
  await until('answers wait', () => waiting > 0)
  for (const each of calls) each.stop(new UpstreamFailure('timeout', 'took too long'))
  await failed
  await until('they are cancelled', () => upstream.calls('notifications/cancelled').length === 300)
})

test('UP-07 an event above the limit ends the connection', async (t) => {
  const upstream = await startSse(t, {
    onCall: (_message, stream) => void stream.write(`data: ${'x'.repeat(2_000_000)}`)
  })
  const connection = await open(t, upstream.url)
  assert.equal((await failure(call(connection))).reason, 'too_large')
  await until('the stream is closed', () => upstream.streams.size === 0)
})

test('UP-04 what is no JSON-RPC on the stream is passed over', async (t) => {
  const upstream = await startSse(t, {
    onCall({ id }, stream) {
      stream.write('data: <html>\n\ndata: {"jsonrpc"\n\n')
      stream.write(
        Buffer.concat([Buffer.from('data: {"jsonrpc":"2.0","id":1,"result":{"x":"'), Buffer.from([0xff, 0x0a])])
      )
      stream.write('"}}\n\n')
      sendEvent(stream, { jsonrpc: '2.0', id, result: { content: [] } })
    }
  })
  assert.equal((await call(await open(t, upstream.url))).kind, 'result')
})

test('a message that is refused with 404 was not taken, and ends the connection', async (t) => {
  const upstream = await startSse(t, { onCall: () => {} })
  const connection = await open(t, upstream.url)
  const sessions = upstream.streams as Map<string, unknown>
  sessions.clear()
  const failed = await failure(call(connection))
  assert.deepEqual(
    [failed.reason, failed.maybeProcessed, failed.status, connection.closed],
    ['unreachable', false, 404, true]
  )
})

test('progress, messages and requests of the upstream reach the call', async (t) => {
  const upstream = await startSse(t, {
    onCall({ id, params }, stream) {
      const { progressToken } = params!._meta as { progressToken: unknown }
      sendEvent(stream, { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, progress: 1 } })
      sendEvent(stream, { jsonrpc: '2.0', id: 'r', method: 'roots/list' })
      const isAnswered = () => upstream.requests.some(({ message }) => message?.id === 'r')
      void until('it is answered', isAnswered).then(() =>
        sendEvent(stream, { jsonrpc: '2.0', id, result: { content: [] } })
      )
    }
  })
  const told: string[] = []
  const sink: Sink = {
    capabilities: '{}',
    wantsProgress: true,
    notify: (method, params) => void told.push(`${method} ${params}`),
    request: async (method) => ({ kind: 'result', body: Payload.of(JSON.stringify({ roots: [], asked: method })) })
  }
  await call(await open(t, upstream.url), {}, sink)
  assert.deepEqual(told, ['notifications/progress {"progress":1}'])
  const { message } = upstream.requests.find((request) => request.message?.id === 'r')!
  assert.deepEqual(message!.result, { roots: [], asked: 'roots/list' })
})

test('closing the client closes its streams', async (t) => {
  const upstream = await startSse(t, { onCall: () => {} })
  const client = newClient(t, upstream.url)
  const connection = await client.open({ era: 'legacy', capabilities: '{}', deadline: performance.now() + 60_000 })
  const failed = failure(call(connection))
  client.close()
  assert.equal((await failed).reason, 'cancelled')
  await until('the stream is closed', () => upstream.streams.size === 0)
})

test('discovery asks an SSE upstream for nothing but initialize and its lists', async (t) => {
  const upstream = await startSse(t)
  const options = { deadline: performance.now() + 60_000, warn: () => {} }
  const { negotiation, items } = await readUpstream(newClient(t, upstream.url), 'sse', options)
  assert.deepEqual([negotiation.modern, negotiation.legacy, negotiation.hasSessions], [null, '2024-11-05', true])
  assert.deepEqual(
    items.map(({ name }) => name),
    ['echo']
  )
  const methods = upstream.requests.flatMap(({ message }) => message?.method ?? [])
  assert.deepEqual(methods, ['initialize', 'notifications/initialized', 'tools/list'])
})

test('the reference server answers over this transport', async (t) => {
  const main = new URL('../../node_modules/@modelcontextprotocol/server-everything/dist/index.js', import.meta.url)
  const port = await freePort()
  const child = spawn(process.execPath, [main.pathname, 'sse'], {
    env: { ...process.env, PORT: String(port) },
    stdio: ['ignore', 'pipe', 'pipe']
  })
  t.after(async () => {
    child.kill('SIGKILL')
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  })
  await Promise.race([once(child.stderr, 'data'), once(child.stdout, 'data')])
  const url = `http://127.0.0.1:${port}/sse`
  const connection = await until('it to listen', () => open(t, url))
  assert.equal(textOf(await call(connection, { message: 'hi' })), 'Echo: hi')
})

test('a redirect of the stream within the origin is followed, one to another origin is not', async (t) => {
  const upstream = await startSse(t)
  const locations: Record<string, string> = { '/old': `${upstream.url}`, '/slash': '/slash/' }
  const front = await startHttp(({ path }, response) => {
    const location = locations[path]
    if (location === undefined) response.writeHead(200, { 'content-type': 'text/event-stream' }).end()
    else response.writeHead(301, { location }).end()
  })
  t.after(front.close)
  const other = await failure(open(t, `${front.origin}/old`))
  assert.equal(other.message, 'redirects to another URL (HTTP 301); register that URL instead')
  assert.equal(upstream.requests.length, 0)
  const followed = await failure(open(t, `${front.origin}/slash`))
  assert.equal(followed.message, 'event stream ended')
  assert.deepEqual(
    front.requests.map(({ path }) => path),
    ['/old', '/slash', '/slash/']
  )
})
