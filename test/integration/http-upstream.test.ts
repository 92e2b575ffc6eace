import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { type TestContext, test } from 'node:test'
import { Payload } from '../../src/json/payload.ts'
import { type Answer, type OutgoingRequest, type Sink, Call, silentSink } from '../../src/upstream/transport/call.ts'
import { UpstreamFailure } from '../../src/protocol/upstream-failure.ts'
import type { HttpConnection } from '../../src/upstream/http/connection.ts'
import { type HttpClientOptions, createHttpClient } from '../../src/upstream/http/streamable-http-client.ts'
import { complete } from '../../src/lib/time-slice.ts'
import type { ServerReads } from '../../src/upstream/transport/read-scheduler.ts'
import { connector } from '../egress.ts'
import { type Fault, startFaulty } from '../fixtures/http/faulty.ts'
import { createRecorder, startRecorder } from '../fixtures/http/recorder.ts'
import {
  type Handler,
  type RecordedRequest,
  openEvents,
  sendEvent,
  sendJson,
  startHttp
} from '../fixtures/http/server.ts'
import { until } from '../until.ts'

const MEGABYTE = 1_048_576

const soon = () => performance.now() + 60_000
const newClient = (t: TestContext, url: string, more: Partial<HttpClientOptions> = {}) => {
  const client = createHttpClient({
    url,
    headers: {},
    version: '1.2.3',
    connector,
    maxResponseBytes: 16 * MEGABYTE,
    ...more
  })
  t.after(() => client.close())
  return client
}
const openLegacy = (t: TestContext, url: string, more: Partial<HttpClientOptions> = {}) =>
  newClient(t, url, more).open({ era: 'legacy', capabilities: '{}', deadline: soon() })
const openModern = (t: TestContext, url: string, more: Partial<HttpClientOptions> = {}) =>
  newClient(t, url, more).open({ era: 'modern', capabilities: '{}', deadline: soon() })

const toolCall = (name: string, args: unknown = {}): OutgoingRequest => ({
  method: 'tools/call',
  members: `"name":${JSON.stringify(name)},"arguments":${JSON.stringify(args)}`,
  meta: '',
  name
})
const send = (connection: HttpConnection, request: OutgoingRequest, sink: Sink = silentSink) =>
  connection.send(new Call(request, sink))
const textOf = ({ body }: Answer): string =>
  (JSON.parse(body.toString()) as { content: { text: string }[] }).content[0]!.text

const failure = async (promise: Promise<unknown>): Promise<UpstreamFailure> => {
  const error = await promise.then(
    () => assert.fail('did not fail'),
    (reason: unknown) => reason
  )
  assert.ok(error instanceof UpstreamFailure, String(error))
  return error
}

interface ReceivedMessages {
  notifications: [method: string, params: string][]
  requests: [method: string, params: string][]
}
const createRecordingSink = (answer: string = '{}', capabilities = '{}'): Sink & ReceivedMessages => {
  const heard: ReceivedMessages = { notifications: [], requests: [] }
  return {
    ...heard,
    capabilities,
    wantsProgress: true,
    notify: (...told) => void heard.notifications.push(told),
    request: async (method, params) => {
      heard.requests.push([method, params])
      return { kind: 'result', body: Payload.of(answer) }
    }
  }
}

/** Starts an upstream without sessions whose responses to `tools/call` are written by the test. */
async function startScripted(t: TestContext, onCall: Handler) {
  const fixture = await startHttp((request, response) => {
    const { id, method } = request.message ?? {}
    const protocolVersion = '2025-11-25'
    if (method === 'tools/call' || request.method === 'GET') onCall(request, response)
    else if (id === undefined || method === undefined) response.writeHead(202).end()
    else sendJson(response, 200, { jsonrpc: '2.0', id, result: { protocolVersion, capabilities: {} } })
  })
  t.after(fixture.close)
  return { ...fixture, url: `${fixture.origin}/mcp` }
}
const reply = (request: RecordedRequest, response: ServerResponse, result: object = { content: [] }) => {
  sendEvent(response, { jsonrpc: '2.0', id: request.message!.id, result })
  response.end()
}

test('a legacy session is opened, carries calls with its id and version, and is deleted at the end', async (t) => {
  const upstream = await startRecorder(t)
  const connection = await openLegacy(t, upstream.url, { headers: { 'X-Team': 'blue' } })
  assert.equal(connection.hasSession, true)
  assert.equal(connection.greeting.version, '2025-11-25')
  assert.deepEqual(connection.greeting.serverInfo, { name: 'alpha', version: '1.0.0' })
  assert.equal(connection.greeting.instructions, 'Be kind')
  assert.equal(connection.greeting.capabilities.tools !== undefined, true)

  const answer = await send(connection, toolCall('echo', { text: 'hä' }))
  assert.equal(answer.kind, 'result')
  assert.equal(textOf(answer), '{"server":"alpha","arguments":{"text":"hä"}}')

  const [initialize, initialized, call] = upstream.requests
  assert.deepEqual(initialize!.message!.params!.clientInfo, { name: 'towpath', version: '1.2.3' })
  assert.equal(initialize!.headers['mcp-protocol-version'], undefined)
  assert.equal(initialized!.message!.method, 'notifications/initialized')
  const [session] = upstream.sessions
  for (const { headers } of [initialized!, call!]) {
    assert.equal(headers['mcp-session-id'], session)
    assert.equal(headers['mcp-protocol-version'], '2025-11-25')
    assert.equal(headers['x-team'], 'blue')
    assert.equal(headers.accept, 'application/json, text/event-stream')
  }
  assert.equal(call!.message!.params!._meta, undefined)

  let closes = 0
  connection.onClose = () => closes++
  connection.close()
  connection.close()
  await until('the session is deleted', () => upstream.sessions.size === 0)
  assert.deepEqual([connection.closed, closes], [true, 1])
  assert.equal((await failure(send(connection, toolCall('echo')))).maybeProcessed, false)
})

test('what initialize declares are the capabilities that it was opened with', async (t) => {
  const upstream = await startRecorder(t)
  const client = newClient(t, upstream.url)
  await client.open({ era: 'legacy', capabilities: '{"roots":{"listChanged":true}}', deadline: soon() })
  assert.deepEqual(upstream.calls('initialize')[0]!.params!.capabilities, { roots: { listChanged: true } })
})

test('a legacy upstream known to have no sessions is called without a handshake', async (t) => {
  const upstream = await startRecorder(t, { legacy: 'sessionless' })
  const negotiation = {
    modern: null,
    legacy: '2025-06-18',
    hasSessions: false,
    capabilities: { tools: {} },
    serverInfo: null,
    instructions: null,
    checkedAt: ''
  }
  const connection = await openLegacy(t, upstream.url, { negotiation })
  await send(connection, toolCall('echo'))
  assert.deepEqual(
    upstream.requests.map(({ message, headers }) => [message!.method, headers['mcp-protocol-version']]),
    [['tools/call', '2025-06-18']]
  )
  assert.deepEqual(connection.greeting.capabilities, { tools: {} })
  connection.close()
})

test('a modern call is one POST that carries version, client and the capabilities of its caller', async (t) => {
  const upstream = await startRecorder(t, { modern: true, legacy: 'none' })
  const connection = await openModern(t, upstream.url)
  const request = { ...toolCall('echo', { a: 1 }), meta: '"traceparent":"00-1"' }
  const answer = await send(connection, request, { ...silentSink, capabilities: '{"sampling":{}}' })
  assert.equal(JSON.parse(answer.body.toString()).resultType, 'complete')
  assert.equal(upstream.requests.length, 1)
  const { headers, message } = upstream.requests[0]!
  assert.equal(headers['mcp-protocol-version'], '2026-07-28')
  assert.equal(headers['mcp-method'], 'tools/call')
  assert.equal(headers['mcp-name'], 'echo')
  assert.equal(headers['mcp-session-id'], undefined)
  assert.deepEqual(message!.params!._meta, {
    traceparent: '00-1',
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'towpath', version: '1.2.3' },
    'io.modelcontextprotocol/clientCapabilities': { sampling: {} }
  })
  await send(connection, { method: 'tools/list', members: '', meta: '' })
  assert.equal(upstream.requests[1]!.headers['mcp-name'], undefined)
})

test('names that a header cannot carry go as base64', async (t) => {
  const upstream = await startRecorder(t, { modern: true, legacy: 'none' })
  const connection = await openModern(t, upstream.url)
  for (const name of ['grüßen', ' outer', 'a\nb', '=?base64?YQ==?=', 'plain/name.x y']) {
    await send(connection, toolCall(name))
    const sent = upstream.requests.at(-1)!.headers['mcp-name'] as string
    const [, encoded] = /^=\?base64\?(.*)\?=$/.exec(sent) ?? []
    assert.equal(encoded === undefined ? sent : Buffer.from(encoded, 'base64').toString(), name)
    assert.equal(encoded === undefined, name === 'plain/name.x y')
  }
})

test('requests go out over kept connections, and each has an id of its own', async (t) => {
  const upstream = await startRecorder(t, { legacy: 'sessionless' })
  const connection = await openLegacy(t, upstream.url)
  for (let i = 0; i < 5; i++) await send(connection, toolCall('echo'))
  await Promise.all(Array.from({ length: 5 }, () => send(connection, toolCall('echo'))))
  const ids = upstream.requests.flatMap(({ message }) => message!.id ?? [])
  assert.equal(new Set(ids).size, 11)
  assert.ok(upstream.openConnections() <= 7, `${upstream.openConnections()} connections`)
})

test('results come back byte for byte, from JSON and from an event stream', async (t) => {
  const result = '{ "content": [{"type":"text","text":"\\u00e4ü😀"}], "n": 12345678901234567890.10 }'
  const layouts = [
    (id: string) => `{"jsonrpc":"2.0","id":${id},"result":${result}}`,
    (id: string) => `{"result":${result},"jsonrpc":"2.0","id":${id}}\n`,
    (id: string) => ` {"id": ${id}, "x": [1, "}"], "jsonrpc": "2.0", "result": ${result} } `
  ]
  for (const layout of layouts) {
    for (const type of ['application/json; charset=utf-8', 'text/event-stream']) {
      const isStream = type.startsWith('text')
      const upstream = await startScripted(t, (request, response) => {
        const text = layout(String(request.message!.id))
        response.writeHead(200, { 'content-type': type })
        // in small chunks, which split characters and lines
        const bytes = Buffer.from(isStream ? `data: ${text.trim()}\n\n` : text)
        for (let at = 0; at < bytes.length; at += 7) response.write(bytes.subarray(at, at + 7))
        response.end()
      })
      const { kind, body } = await send(await openLegacy(t, upstream.url), toolCall('x'))
      assert.deepEqual([kind, body.toString()], ['result', result])
    }
  }
})

test('a JSON-RPC error is an answer, also where HTTP says 4xx', async (t) => {
  const error = '{"code":-32602,"message":"no","data":{"a":1.0}}'
  for (const status of [200, 400, 404, 500]) {
    const upstream = await startScripted(t, (request, response) => {
      const id = status === 500 ? 'null' : String(request.message!.id)
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(`{"jsonrpc":"2.0","id":${id},"error":${error}}`)
    })
    const { kind, body } = await send(await openLegacy(t, upstream.url), toolCall('x'))
    assert.deepEqual([kind, body.toString()], ['error', error])
  }
})

test('a tool-level error is a result', async (t) => {
  const upstream = await startRecorder(t)
  const answer = await send(await openLegacy(t, upstream.url), toolCall('fail'))
  assert.equal(answer.kind, 'result')
  assert.equal(JSON.parse(answer.body.toString()).isError, true)
})

const broken: [Fault, string][] = [
  ['truncated', 'answered with malformed JSON'],
  ['wrong_id', 'answered with the id of another request'],
  ['two_results', 'answered with JSON that repeats a member'],
  ['no_jsonrpc', 'answered with something that is not JSON-RPC 2.0'],
  ['bad_utf8', 'answered with invalid UTF-8'],
  ['html', 'answered HTTP 200 with neither JSON nor an event stream'],
  ['sse_garbage', 'answered with malformed JSON'],
  ['redirect', 'redirects to another URL (HTTP 307); register that URL instead']
]
for (const [mode, message] of broken) {
  test(`UP-04 an answer of the kind ${mode} fails its call alone`, async (t) => {
    const upstream = await startFaulty(t, { mode, sentinel: 'SENT' })
    const connection = await openLegacy(t, upstream.url)
    const failed = await failure(send(connection, toolCall('echo')))
    assert.deepEqual([failed.reason, failed.message], ['bad_response', message])
    upstream.mode = 'none'
    assert.equal((await send(connection, toolCall('echo'))).kind, 'result')
  })
}

/** Starts an upstream behind a listener that redirects some paths and forwards the others to the upstream. */
async function startRedirecting(t: TestContext, locations: Readonly<Record<string, string>>, status = 307) {
  const upstream = await startRecorder(t)
  const front = await startHttp(({ path, method, headers, body }, response) => {
    const location = locations[path]
    if (location !== undefined) return void response.writeHead(status, { location }).end()
    const { 'mcp-session-id': session, authorization } = headers
    const own = { ...(session && { 'mcp-session-id': String(session) }), ...(authorization && { authorization }) }
    const init = { method, headers: { 'content-type': 'application/json', accept: headers.accept!, ...own } }
    void fetch(upstream.url, method === 'POST' ? { ...init, body } : init).then(async (answer) => {
      const names = ['content-type', 'mcp-session-id'].filter((name) => answer.headers.has(name))
      response.writeHead(answer.status, Object.fromEntries(names.map((name) => [name, answer.headers.get(name)!])))
      response.end(Buffer.from(await answer.arrayBuffer()))
    })
  })
  t.after(front.close)
  return { front, upstream }
}

for (const status of [307, 308]) {
  test(`a redirect within the origin is followed with everything that was sent (${status})`, async (t) => {
    const { front, upstream } = await startRedirecting(t, { '/mcp': '/mcp/', '/mcp/': '/deeper/mcp?x=1' }, status)
    const headers = { Authorization: 'Bearer token' }
    const connection = await openLegacy(t, `${front.origin}/mcp`, { headers })
    const answer = await send(connection, toolCall('echo', { text: 'zwölf' }))
    assert.match(textOf(answer), /zwölf/)
    assert.deepEqual(front.requests.map(({ path }) => path).slice(0, 3), ['/mcp', '/mcp/', '/deeper/mcp?x=1'])
    // the endpoint is remembered after it was found once
    assert.equal(front.requests.filter(({ path }) => path === '/mcp').length, 1)
    const calls = upstream.requests.filter(({ message }) => message?.method === 'tools/call')
    assert.deepEqual(
      calls.map((call) => call.headers.authorization),
      ['Bearer token']
    )
  })
}

test('many calls at once that are all redirected reach the upstream once each', async (t) => {
  const { front } = await startRedirecting(t, { '/mcp': '/mcp/' })
  const connection = await openModern(t, `${front.origin}/mcp`)
  await Promise.all(Array.from({ length: 20 }, () => send(connection, toolCall('echo')).catch(() => {})))
  const reached = front.requests.filter(({ path, message }) => path === '/mcp/' && message?.method === 'tools/call')
  assert.equal(reached.length, 20)
})

const refusedRedirects: [string, (origin: string) => Record<string, string>, number][] = [
  ['to another host', () => ({ '/mcp': 'http://localhost:9/mcp' }), 307],
  ['to another port', () => ({ '/mcp': 'http://127.0.0.1:9/mcp' }), 307],
  ['to another scheme', (origin) => ({ '/mcp': origin.replace('http:', 'https:') }), 308],
  ['that would turn a POST into a GET', () => ({ '/mcp': '/mcp/' }), 302],
  ['to itself', () => ({ '/mcp': '/mcp' }), 307],
  ['in a circle', () => ({ '/mcp': '/a', '/a': '/b', '/b': '/mcp' }), 307],
  ['more than three times', () => ({ '/mcp': '/a', '/a': '/b', '/b': '/c', '/c': '/d' }), 307],
  ['to what is no URL', () => ({ '/mcp': 'http://[' }), 307]
]
for (const [what, locations, status] of refusedRedirects) {
  test(`a redirect ${what} is not followed`, async (t) => {
    const table: Record<string, string> = {}
    const { front, upstream } = await startRedirecting(t, table, status)
    Object.assign(table, locations(front.origin))
    const failed = await failure(openLegacy(t, `${front.origin}/mcp`))
    const message = `redirects to another URL (HTTP ${status}); register that URL instead`
    assert.deepEqual([failed.reason, failed.message], ['bad_response', message])
    assert.equal(upstream.requests.length, 0)
    assert.ok(front.requests.length <= 4)
  })
}

test('UP-04 other answers that are JSON but no answer to the request are refused', async (t) => {
  const bodies = ['[]', '{}', '"x"', '{"jsonrpc":"2.0","id":ID}', '{"jsonrpc":"2.0","id":ID,"result":1}']
  bodies.push('{"jsonrpc":"2.0","id":ID,"result":{}} x', '{"jsonrpc":"2.0","id":ID,"error":{"message":"no code"}}')
  bodies.push(
    '{"jsonrpc":"2.0","id":ID,"result":{},"error":{"code":1,"message":"m"}}',
    '{"jsonrpc":"2.0","id":ID,"method":"x"}'
  )
  bodies.push(`{"jsonrpc":"2.0","id":ID,"result":{"a":${'['.repeat(100)}${']'.repeat(100)}}}`, '')
  for (const body of bodies) {
    const upstream = await startScripted(t, (request, response) => {
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(body.replace('ID', String(request.message!.id)))
    })
    assert.equal((await failure(send(await openLegacy(t, upstream.url), toolCall('x')))).reason, 'bad_response', body)
  }
})

test('UP-05 of an error page only the status is told', async (t) => {
  const upstream = await startFaulty(t, { mode: 'bad_gateway', sentinel: 'SENT' })
  const failed = await failure(send(await openLegacy(t, upstream.url), toolCall('echo')))
  assert.deepEqual([failed.reason, failed.status, failed.message], ['unreachable', 502, 'answered HTTP 502'])
})

test('UP-06 an event stream that ends without a result fails at once', async (t) => {
  const upstream = await startFaulty(t, { mode: 'sse_ends' })
  const connection = await openLegacy(t, upstream.url)
  const failed = await failure(send(connection, toolCall('echo')))
  assert.deepEqual([failed.reason, failed.message], ['unreachable', 'event stream ended before the answer'])
})

for (const mode of ['huge', 'huge_event'] as const) {
  test(`UP-07 an endless answer is cut at the limit, and its connection closed (${mode})`, async (t) => {
    const upstream = await startFaulty(t, { mode })
    const connection = await openLegacy(t, upstream.url, { maxResponseBytes: MEGABYTE })
    const failed = await failure(send(connection, toolCall('echo')))
    assert.deepEqual([failed.reason, failed.message], ['too_large', 'answered with more than 1048576 bytes'])
    await until('the flooded connection is closed', () => upstream.requests.at(-1)!.aborted)
    upstream.mode = 'none'
    await send(connection, toolCall('echo'))
  })
}

test('an answer below the limit may come in any number of chunks', async (t) => {
  const text = 'x'.repeat(3 * MEGABYTE)
  const upstream = await startScripted(t, (request, response) =>
    sendJson(response, 200, { jsonrpc: '2.0', id: request.message!.id, result: { content: [{ type: 'text', text }] } })
  )
  const answer = await send(await openLegacy(t, upstream.url), toolCall('x'))
  assert.equal(textOf(answer) === text, true)
})

for (const mode of ['silent', 'drip'] as const) {
  test(`UP-02 a stopped legacy call is cancelled upstream and its connection closed (${mode})`, async (t) => {
    const upstream = await startFaulty(t, { mode })
    const connection = await openLegacy(t, upstream.url)
    const call = new Call(toolCall('slow', { ms: 60_000 }), silentSink)
    const failed = failure(connection.send(call))
    await until('the call arrives', () => upstream.requests.some(({ message }) => message?.method === 'tools/call'))
    const { id } = upstream.requests.at(-1)!.message!
    call.stop(new UpstreamFailure('timeout', 'took too long'))
    assert.equal((await failed).message, 'took too long')
    const cancels = () => upstream.requests.filter(({ message }) => message?.method === 'notifications/cancelled')
    await until('the cancellation arrives', () => cancels().length === 1)
    assert.deepEqual(cancels()[0]!.message!.params, { requestId: id, reason: 'timeout' })
    upstream.mode = 'none'
    await send(connection, toolCall('echo'))
    const { aborted } = upstream.requests.find(({ message }) => message?.id === id)!
    assert.equal(aborted, true)
  })
}

test('UP-02 a session is deleted only when it has taken what was cancelled, also by a client that closes', async (t) => {
  const recorder = createRecorder({})
  const order: string[] = []
  const upstream = await startHttp((request, response) => {
    if (request.method === 'DELETE') order.push('deleted')
    if (request.message?.method !== 'notifications/cancelled') return recorder.handle(request, response)
    setTimeout(() => {
      order.push('cancelled')
      recorder.handle(request, response)
    }, 100)
  })
  t.after(upstream.close)
  const client = newClient(t, `${upstream.origin}/mcp`)
  const connection = await client.open({ era: 'legacy', capabilities: '{}', deadline: soon() })
  const call = new Call(toolCall('slow', { ms: 60_000 }), silentSink)
  const failed = failure(connection.send(call))
  await until('the call arrives', () => upstream.requests.some(({ message }) => message?.method === 'tools/call'))
  call.stop(new UpstreamFailure('cancelled', 'the caller left'))
  await failed
  connection.close()
  client.close()
  await until('the session is deleted', () => recorder.sessions.size === 0)
  assert.deepEqual(order, ['cancelled', 'deleted'])
})

test('a stopped modern call is cancelled by closing its connection, without a message', async (t) => {
  const upstream = await startRecorder(t, { modern: true, legacy: 'none' })
  const connection = await openModern(t, upstream.url)
  const call = new Call(toolCall('slow', { ms: 60_000 }), silentSink)
  const failed = failure(connection.send(call))
  await until('the call arrives', () => upstream.requests.length === 1)
  call.stop(new UpstreamFailure('cancelled', 'the caller left'))
  assert.equal((await failed).reason, 'cancelled')
  await until('the upstream notices', () => upstream.cancelled.length === 1)
  assert.deepEqual([upstream.requests.length, upstream.requests[0]!.aborted], [1, true])
})

test('a call that is stopped before it could be sent never is, and one stopped beforehand neither', async (t) => {
  const upstream = await startRecorder(t, { legacy: 'sessionless' })
  const connection = await openLegacy(t, upstream.url, { connections: 1 })
  const first = send(connection, toolCall('slow', { ms: 100 }))
  const queued = new Call(toolCall('echo'), silentSink)
  const failed = failure(connection.send(queued))
  queued.stop(new UpstreamFailure('cancelled', 'the caller left'))
  assert.equal((await failed).reason, 'cancelled')
  assert.equal((await failure(connection.send(queued))).reason, 'cancelled')
  await first
  assert.equal((await send(connection, toolCall('whoami'))).kind, 'result')
  assert.deepEqual(
    upstream.calls('tools/call').map(({ params }) => params!.name),
    ['slow', 'whoami']
  )
  assert.equal(upstream.calls('notifications/cancelled').length, 0)
})

test('closing a connection fails the calls under way', async (t) => {
  const upstream = await startRecorder(t)
  const connection = await openLegacy(t, upstream.url)
  const failed = failure(send(connection, toolCall('slow', { ms: 60_000 })))
  await until('the call arrives', () => upstream.calls('tools/call').length === 1)
  connection.close()
  assert.equal((await failed).reason, 'cancelled')
})

test('more requests than allowed are refused at once', async (t) => {
  const upstream = await startRecorder(t, { legacy: 'sessionless' })
  const connection = await openLegacy(t, upstream.url, { connections: 2, maxRequests: 3 })
  const slow = Array.from({ length: 3 }, () => send(connection, toolCall('slow', { ms: 100 })))
  const failed = await failure(send(connection, toolCall('echo')))
  assert.deepEqual([failed.reason, failed.maybeProcessed], ['overloaded', false])
  await Promise.all(slow)
  await send(connection, toolCall('echo'))
})

test('a session that the upstream forgot ends the connection, and the call was not taken', async (t) => {
  const upstream = await startRecorder(t)
  const connection = await openLegacy(t, upstream.url)
  let closes = 0
  connection.onClose = () => closes++
  upstream.dropSessions()
  const failed = await failure(send(connection, toolCall('echo')))
  assert.deepEqual([failed.reason, failed.maybeProcessed, failed.status], ['unreachable', false, 404])
  assert.deepEqual([connection.closed, closes], [true, 1])
  assert.equal(upstream.calls('tools/call').length, 1)
})

test('a 400 about the session ends it too, any other 400 does not', async (t) => {
  const upstream = await startHttp((request, response) => {
    const { id, method, params } = request.message ?? {}
    if (id === undefined) return response.writeHead(202).end()
    const result = { protocolVersion: '2025-11-25', capabilities: {} }
    if (method === 'initialize')
      return sendJson(response, 200, { jsonrpc: '2.0', id, result }, { 'mcp-session-id': 's' })
    const message = params!.name === 'a' ? 'Bad arguments' : 'Bad Request: No valid session ID provided'
    sendJson(response, 400, { jsonrpc: '2.0', id: null, error: { code: -32000, message } })
  })
  t.after(upstream.close)
  const connection = await openLegacy(t, upstream.origin)
  assert.equal((await send(connection, toolCall('a'))).kind, 'error')
  const failed = await failure(send(connection, toolCall('b')))
  assert.deepEqual([failed.maybeProcessed, failed.status, connection.closed], [false, 400, true])
})

test('a refused connection proves that the call was not taken, a reset one does not', async (t) => {
  const gone = await startRecorder(null)
  await gone.close()
  const failed = await failure(send(await openModern(t, gone.url), toolCall('echo')))
  assert.deepEqual([failed.reason, failed.maybeProcessed, failed.message], ['unreachable', false, 'connection refused'])

  const upstream = await startFaulty(t, { mode: 'reset' })
  const reset = await failure(send(await openLegacy(t, upstream.url), toolCall('echo')))
  assert.deepEqual([reset.reason, reset.maybeProcessed], ['unreachable', true])
  const calls = upstream.requests.filter(({ message }) => message?.method === 'tools/call')
  assert.equal(calls.length, 1)
})

test('UP-01 an upstream that accepts and never answers fails to open at the deadline', async (t) => {
  const upstream = await startFaulty(t, { mode: 'silent', everything: true })
  const client = newClient(t, upstream.url)
  const deadline = performance.now() + 200
  const failed = await failure(client.open({ era: 'legacy', capabilities: '{}', deadline }))
  assert.equal(failed.reason, 'timeout')
  await until('its connection is closed', () => upstream.requests[0]!.aborted)
})

test('a rejected token is told apart from a missing one, and the challenge is kept', async (t) => {
  const upstream = await startRecorder(t, { authorization: 'Bearer good' })
  const open = (headers: Record<string, string>) =>
    newClient(t, upstream.url, { headers }).open({ era: 'legacy', capabilities: '{}', deadline: soon() })
  const missing = await failure(open({}))
  assert.deepEqual(
    [missing.reason, missing.status, missing.message],
    ['auth', 401, 'demands authentication (HTTP 401)']
  )
  assert.deepEqual(missing.cause, { wwwAuthenticate: 'Bearer resource_metadata="x"' })
  const rejected = await failure(open({ authorization: 'Bearer bad' }))
  assert.equal(rejected.message, 'rejected the configured token (HTTP 401)')
  await open({ Authorization: 'Bearer good' })
})

test('an initialize that agrees on no known revision fails the opening', async (t) => {
  const upstream = await startHttp((request, response) =>
    sendJson(response, 200, {
      jsonrpc: '2.0',
      id: request.message!.id,
      result: { protocolVersion: '1999-01-01', capabilities: {} }
    })
  )
  t.after(upstream.close)
  const failed = await failure(openLegacy(t, upstream.origin))
  assert.deepEqual([failed.reason, failed.message], ['bad_response', 'speaks an unknown protocol version'])
})

test('progress reaches the caller that asked for it, without the token, and counts as life', async (t) => {
  for (const era of ['legacy', 'modern'] as const) {
    const upstream = await startRecorder(t, { modern: true, answers: 'sse' })
    const connection = await newClient(t, upstream.url).open({ era, capabilities: '{}', deadline: soon() })
    const sink = createRecordingSink()
    const call = new Call(toolCall('slow', { ms: 100 }), sink)
    call.idleTimeoutMs = 1000
    await connection.send(call)
    const [first] = sink.notifications
    assert.deepEqual(first, ['notifications/progress', '{"progress":1}'])
    assert.ok(call.idleDeadline < Infinity)
    await send(connection, toolCall('slow', { ms: 50 }), { ...sink, wantsProgress: false })
    assert.equal((upstream.calls('tools/call')[1]!.params!._meta as Record<string, unknown>)?.progressToken, undefined)
    connection.close()
  }
})

test('messages of a call go to its sink, broadcasts to the connection, foreign progress nowhere', async (t) => {
  const upstream = await startScripted(t, (request, response) => {
    openEvents(response)
    for (const [method, params] of [
      ['notifications/message', { level: 'info', data: 'hä' }],
      ['notifications/tools/list_changed', undefined],
      ['notifications/progress', { progressToken: 999_999, progress: 1 }]
    ]) {
      sendEvent(response, { jsonrpc: '2.0', method, params })
    }
    reply(request, response)
  })
  const connection = await openLegacy(t, upstream.url)
  const sink = createRecordingSink()
  const broadcasts: string[] = []
  connection.onNotification = (method) => broadcasts.push(method)
  await send(connection, toolCall('x'), sink)
  assert.deepEqual(sink.notifications, [['notifications/message', '{"level":"info","data":"hä"}']])
  assert.deepEqual(broadcasts, ['notifications/tools/list_changed'])
})

test('a request of the upstream is answered by the sink, ping by the transport', async (t) => {
  const upstream = await startScripted(t, (request, response) => {
    openEvents(response)
    sendEvent(response, { jsonrpc: '2.0', id: 'p-1', method: 'ping' })
    sendEvent(response, { jsonrpc: '2.0', id: 7, method: 'sampling/createMessage', params: { maxTokens: 3 } })
    const answers = () => upstream.requests.filter(({ message }) => message?.result)
    void until('both are answered', () => answers().length === 2).then(() => reply(request, response))
  })
  const connection = await openLegacy(t, upstream.url)
  const sink = createRecordingSink('{"role":"assistant"}')
  await send(connection, toolCall('x'), sink)
  assert.deepEqual(sink.requests, [['sampling/createMessage', '{"maxTokens":3}']])
  const answers = upstream.requests.flatMap(({ message }) => (message?.result ? [message] : []))
  assert.deepEqual(
    answers.sort((a, b) => String(b.id).localeCompare(String(a.id))),
    [
      { jsonrpc: '2.0', id: 'p-1', result: {} },
      { jsonrpc: '2.0', id: 7, result: { role: 'assistant' } }
    ]
  )
})

test('answers to the upstream get through while every connection waits for one', async (t) => {
  const upstream = await startScripted(t, (request, response) => {
    openEvents(response)
    const { id } = request.message!
    sendEvent(response, { jsonrpc: '2.0', id: `push-${id}`, method: 'roots/list' })
    const isAnswered = () => upstream.requests.some(({ message }) => message?.id === `push-${id}`)
    void until('it is answered', isAnswered).then(() => reply(request, response))
  })
  const connection = await openLegacy(t, upstream.url, { connections: 2 })
  await Promise.all(
    Array.from({ length: 4 }, () => send(connection, toolCall('x'), createRecordingSink('{"roots":[]}')))
  )
})

test('a legacy stream with event ids is taken up again after the time that the upstream asked for', async (t) => {
  let id: unknown
  let broke = 0
  let resumed = 0
  const upstream = await startScripted(t, (request, response) => {
    openEvents(response)
    if (request.method === 'POST') {
      id = request.message!.id
      broke = performance.now()
      response.end('id: s_1\nretry: 60\ndata: \n\n')
    } else if (request.headers['last-event-id'] === 's_1') {
      resumed = performance.now()
      sendEvent(response, { jsonrpc: '2.0', method: 'notifications/message', params: { data: 1 } }, 's_2')
      response.end()
    } else {
      assert.equal(request.headers['last-event-id'], 's_2')
      sendEvent(response, { jsonrpc: '2.0', id, result: { content: [] } })
      response.end()
    }
  })
  const sink = createRecordingSink()
  const answer = await send(await openLegacy(t, upstream.url), toolCall('x'), sink)
  assert.equal(answer.body.toString(), '{"content":[]}')
  assert.equal(sink.notifications.length, 1)
  assert.ok(resumed - broke > 40, `after ${resumed - broke} ms`)
  assert.equal(upstream.requests.filter(({ method }) => method === 'GET').length, 2)
})

test('a call that waits to take its stream up again can be stopped', async (t) => {
  const upstream = await startScripted(t, (_request, response) => {
    openEvents(response)
    response.end('id: s_1\nretry: 60000\ndata: \n\n')
  })
  const call = new Call(toolCall('x'), silentSink)
  const failed = failure((await openLegacy(t, upstream.url)).send(call))
  await until('the call arrives', () => upstream.requests.some(({ message }) => message?.method === 'tools/call'))
  call.stop(new UpstreamFailure('timeout', 'took too long'))
  assert.equal((await failed).reason, 'timeout')
})

test('a response that stays open behind the answer does not hold the answer, and is closed', async (t) => {
  const upstream = await startScripted(t, (request, response) => {
    openEvents(response)
    sendEvent(response, { jsonrpc: '2.0', id: request.message!.id, result: { content: [] } })
  })
  const connection = await openLegacy(t, upstream.url)
  await send(connection, toolCall('x'))
  await until('the open response is closed', () => upstream.requests.at(-1)!.aborted)
})

/** Returns a handler that waits until the test releases it. */
function createGate() {
  const works: (() => void)[] = []
  const go = () => {
    for (const work of works.splice(0)) work()
  }
  const schedule = (work: () => void) => void works.push(work)
  const reads: ServerReads = {
    schedule,
    readInSteps: (_, steps) => complete(steps()),
    open: (read) => ({ add: (chunk) => works.push(() => read(chunk)) > 0, close() {} })
  }
  return { works, go, reads }
}
const logged = { jsonrpc: '2.0', method: 'notifications/message', params: { data: 1 } }

test('an answer that has arrived counts, with all before it, although its connection breaks before it is read', async (t) => {
  const upstream = await startScripted(t, ({ message }, response) => {
    openEvents(response)
    sendEvent(response, logged)
    sendEvent(response, { jsonrpc: '2.0', id: message!.id, result: { content: [] } })
    response.socket!.end('no chunk\r\n')
  })
  const { works, go, reads } = createGate()
  const connection = await openModern(t, upstream.url, { reads, maxRequests: 1 })
  for (let round = 0; round < 2; round++) {
    const sink = createRecordingSink()
    const answered = send(connection, toolCall('x'), sink)
    await until('the stream breaks', () => works.length > 0 && upstream.openConnections() === 0)
    assert.deepEqual(sink.notifications, [])
    go()
    assert.equal((await answered).body.toString(), '{"content":[]}')
    assert.deepEqual(sink.notifications, [['notifications/message', '{"data":1}']])
  }
})

for (const form of ['json', 'events'] as const) {
  test(`a call that is stopped before its answer is read stays stopped, and hears nothing (${form})`, async (t) => {
    const upstream = await startScripted(t, (request, response) => {
      const { id } = request.message!
      if (form === 'json') return sendJson(response, 200, { jsonrpc: '2.0', id, result: { content: [] } })
      openEvents(response)
      sendEvent(response, logged)
      reply(request, response)
    })
    const { works, go, reads } = createGate()
    const connection = await openModern(t, upstream.url, { reads, maxRequests: 1 })
    const sink = createRecordingSink()
    const call = new Call(toolCall('x'), sink)
    const failed = failure(connection.send(call))
    await until('the answer arrives', () => works.length > 0)
    call.stop(new UpstreamFailure('cancelled', 'the caller left'))
    go()
    assert.equal((await failed).reason, 'cancelled')
    const next = send(connection, toolCall('x'))
    await until('the next one arrives', () => works.length > 0)
    let isAnswered = false
    void next.finally(() => (isAnswered = true))
    // the response may arrive in chunks
    await until('the next one is answered', () => {
      go()
      return isAnswered
    })
    assert.equal((await next).kind, 'result')
    assert.deepEqual(sink.notifications, [])
  })
}

test('a session can be watched, and an upstream without such a stream says so', async (t) => {
  const upstream = await startRecorder(t)
  const connection = await openLegacy(t, upstream.url)
  const sink = createRecordingSink()
  let ends = 0
  assert.equal(await connection.openNotificationStream(sink, () => ends++), true)
  upstream.setExtraTools([{ name: 'new', inputSchema: { type: 'object' } }])
  await until('the change is told', () => sink.notifications.length === 1)
  assert.deepEqual(sink.notifications, [['notifications/tools/list_changed', '{}']])
  const { headers } = upstream.requests.find(({ method }) => method === 'GET')!
  assert.equal(headers.accept, 'text/event-stream')
  assert.equal(headers['content-type'], undefined)
  connection.close()
  await until('the end is told', () => ends === 1)

  const other = await startRecorder(t, { legacy: 'sessionless' })
  assert.equal(await (await openLegacy(t, other.url)).openNotificationStream(sink, () => {}), false)
})

test('closing the client ends its sessions', async (t) => {
  const upstream = await startRecorder(t)
  const client = newClient(t, upstream.url)
  const open = () => client.open({ era: 'legacy', capabilities: '{}', deadline: soon() })
  await Promise.all([open(), open()])
  assert.equal(upstream.sessions.size, 2)
  client.close()
  await until('the sessions are deleted', () => upstream.sessions.size === 0)
  assert.equal((await failure(open())).maybeProcessed, false)
})

test('the method of a notification is escaped in the message', async (t) => {
  const upstream = await startRecorder(t)
  const connection = await openLegacy(t, upstream.url)
  const method = 'notifications/"odd"\\'
  connection.notify(method, '{"a":1}')
  await until('the notification arrives', () => upstream.calls(method).length === 1, 10_000)
  assert.deepEqual(upstream.calls(method)[0]!.params, { a: 1 })
})
