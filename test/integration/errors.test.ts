import assert from 'node:assert/strict'
import { connect, type AddressInfo } from 'node:net'
import test from 'node:test'
import { withoutExplanation } from '../explained.ts'
import type { FastifyInstance, InjectOptions } from 'fastify'
import { buildApp } from '../../src/app.ts'
import { toAppError, UpstreamFailure, type FailureReason } from '../../src/protocol/upstream-failure.ts'
import { freshConfig, register, startApp, stdioServer } from '../app.ts'
import { addCleanup } from '../store.ts'

const json = { 'content-type': 'application/json' }
const nested = (depth: number) => `{"name":"a","x":${'['.repeat(depth)}${']'.repeat(depth)}}`
const post = (url: string, payload: object): InjectOptions => ({ method: 'POST', url, payload })

function invoke(payload: string | Buffer, type = 'application/json'): InjectOptions {
  return { method: 'POST', url: '/api/v0/tools/invoke', payload, headers: type ? { 'content-type': type } : {} }
}

const encoded = (url: string, encoding: string): InjectOptions => ({
  method: 'POST',
  url,
  payload: '{"name":"a__b"}',
  headers: { ...json, 'content-encoding': encoding }
})

type Case = readonly [request: InjectOptions | string, status: number, error: string | RegExp, code?: string]

const groups: Readonly<Record<string, readonly Case[]>> = {
  'IN-14 what is missing is a 400, what does not exist a 404': [
    ['/api/v0/tool', 400, '"name" is required'],
    ['/api/v0/prompt', 400, '"name" is required'],
    [{ method: 'POST', url: '/api/v0/prompts/disable' }, 400, '"entity" is required'],
    ['/api/v0/tool?name=a__b', 404, /does not exist/],
    ['/api/v0/prompt?name=a__b', 404, /does not exist/],
    ['/api/v0/resource?uri=a:b', 404, /does not exist/],
    ['/api/v0/tools?server=nobody', 404, 'server "nobody" does not exist'],
    [{ method: 'DELETE', url: '/api/v0/servers/nobody' }, 404, 'server "nobody" does not exist'],
    [{ method: 'POST', url: '/api/v0/servers/nobody/refresh' }, 404, 'server "nobody" does not exist'],
    [{ method: 'POST', url: '/api/v0/tools/enable?entity=nobody' }, 404, /does not exist/]
  ],
  'IN-16 a query parameter that is given twice is a 400': [
    ['/api/v0/tools?server=a&server=b', 400, 'query parameter "server" is given more than once'],
    ['/api/v0/tool?name=a&name=b', 400, 'query parameter "name" is given more than once'],
    ['/health?x=1&x=2', 400, 'query parameter "x" is given more than once']
  ],
  'IN-08 NUL is a 400 wherever it stands': [
    ['/api/v0/tool?name=a%00', 400, /NUL/],
    [{ method: 'POST', url: '/api/v0/tools/enable?entity=%00' }, 400, /NUL/],
    ['/api/v0/servers/a%00', 400, /NUL/],
    [post('/api/v0/servers', { ...stdioServer('a'), description: 'a\0' }), 400, /NUL/],
    [post('/api/v0/tools/invoke', { name: 'a\0' }), 400, /NUL/],
    [post('/api/v0/resources/read', { uri: 'a\0' }), 400, /NUL/]
  ],
  'LI-10 a name in a path that is too long is a 414': [
    [`/api/v0/servers/${'a'.repeat(4_097)}`, 414, 'a part of the path is too long'],
    [`/api/v0/servers/${'a'.repeat(5_000)}`, 414, 'a part of the path is too long']
  ],
  'LI-11 very long names, entities and URLs are refused': [
    [`/api/v0/tool?name=${'_'.repeat(100_000)}`, 400, /longer than/],
    [{ method: 'POST', url: `/api/v0/tools/enable?entity=${'a'.repeat(99_999)}!` }, 400, /longer than/],
    [post('/api/v0/servers', { name: 'a', transport: 'sse', url: `http://${'_'.repeat(100_000)}` }), 400, /longer than/]
  ],
  'IN-17 routes that are not there, or not in this mode, answer in the one shape': [
    ['/api/v0/nowhere', 404, 'no such route'],
    ['/metrics', 404, 'metrics are off: OpenTelemetry is disabled (OTEL_ENABLED)'],
    ['/docs/static/..%2f..%2fpackage.json', 404, 'no such file'],
    ['/%zz', 400, 'the path is not a valid URL path'],
    [{ method: 'PATCH', url: '/api/v0/servers/a' }, 405, /^PATCH is not allowed here/],
    ['/api/v0/users', 403, 'only in enterprise mode', 'enterprise_mode_only'],
    [post('/api/v0/clients', {}), 403, 'only in enterprise mode', 'enterprise_mode_only'],
    [{ method: 'POST', url: '/init' }, 409, 'development mode needs no initialisation']
  ],
  'IN-09 a body that is not JSON is refused and nothing is executed': [
    [invoke('{"name":'), 400, /malformed JSON/],
    [invoke(''), 400, 'the body must be an object'],
    [invoke('[]'), 400, 'the body must be an object'],
    [invoke('name=a', 'text/plain'), 415, 'the content type must be application/json'],
    [invoke('name=a', 'application/x-www-form-urlencoded'), 415, 'the content type must be application/json'],
    [invoke('{"name":"a__b"}', ''), 415, 'the content type must be application/json'],
    [invoke(Buffer.from('7b226e616d65223a22ff227d', 'hex')), 400, 'the body is not valid UTF-8']
  ],
  'IN-05 members that reach for prototypes are refused': [
    [invoke('{"name":"a","x":{"__proto__":{"y":1}}}'), 400, /not accepted/],
    [invoke('{"name":"a","constructor":{"prototype":1}}'), 400, /not accepted/]
  ],
  'a body with a Content-Encoding is a 415, on REST and on MCP': [
    [encoded('/api/v0/tools/invoke', 'gzip'), 415, 'bodies with a Content-Encoding are not accepted'],
    [encoded('/mcp', 'br'), 415, 'bodies with a Content-Encoding are not accepted'],
    [encoded('/api/v0/tools/invoke', 'identity'), 404, /does not exist/]
  ],
  'LI-01 LI-03 bodies beyond the limits are refused': [
    [invoke(nested(64)), 400, /deeper than 64/],
    [invoke(`{"name":"a","x":[${'1,'.repeat(100_001)}1]}`), 400, /more than 100000/],
    [invoke(`{"name":"${'a'.repeat(1_048_576 - 11)}"}`), 400, /longer than/],
    [invoke(`{"name":"${'a'.repeat(1_048_576 - 10)}"}`), 413, 'the request body is too large']
  ]
}
for (const [title, cases] of Object.entries(groups)) {
  test(title, async (t) => {
    const app = await startApp(t)
    for (const [request, ...expected] of cases) await check(app, request, ...expected)
  })
}

test('an empty body with a JSON type is no body', async (t) => {
  const app = await startApp(t)
  await check(
    app,
    { method: 'POST', url: '/api/v0/servers/nobody/enable', headers: json },
    404,
    /"nobody" does not exist/
  )
})

test('a wrong method names the right ones', async (t) => {
  const answer = await (await startApp(t)).inject({ method: 'DELETE', url: '/api/v0/server_configs' })
  assert.deepEqual([answer.statusCode, answer.headers.allow], [405, 'GET, HEAD'])
})

test('IN-17 a second registration is a 409', async (t) => {
  const app = await startApp(t)
  await register(app, stdioServer('twice'))
  await check(
    app,
    { method: 'POST', url: '/api/v0/servers', payload: stdioServer('twice') },
    409,
    'server "twice" already exists'
  )
})

test('IN-17 SE-07 what nobody foresaw is a 500 that tells nothing, and a log line without credentials', async (t) => {
  const lines: string[] = []
  const app = await buildApp(await freshConfig(t), { log: { write: (line) => lines.push(line) } })
  addCleanup(t, () => app.close())
  app.get('/broken', { config: { access: 'public' } }, () => {
    throw new Error('cannot connect to postgres://towpath:SENT@db/towpath')
  })
  await check(app, '/broken', 500, 'internal server error')
  const log = lines.join('')
  assert.match(log, /cannot connect to postgres:\/\/\*\*\*@db/)
  assert.doesNotMatch(log, /SENT/)
})

test('a failure of an upstream is one warning without a stack, a caller who left is not worth one', async (t) => {
  const lines: string[] = []
  const app = await buildApp(await freshConfig(t), { log: { write: (line) => lines.push(line) } })
  addCleanup(t, () => app.close())
  const failing = (reason: FailureReason) => () => {
    throw toAppError(new UpstreamFailure(reason, 'connection refused'), 'one', { withOutput: false })
  }
  app.get('/failing', { config: { access: 'public' } }, failing('unreachable'))
  app.get('/left', { config: { access: 'public' } }, failing('cancelled'))
  await check(app, '/left', 503, /refused/)
  await check(app, '/failing', 502, 'server "one": connection refused')
  const logged = lines.map((line) => JSON.parse(line) as Record<string, unknown>)
  assert.deepEqual(
    logged.map(({ level, msg, err }) => [level, msg, err]),
    [[40, 'request failed: server "one": connection refused', undefined]]
  )
})

test('LI-01 a sender of far too much gets to read the refusal, on REST and on MCP', async (t) => {
  const port = await listen(await startApp(t))
  for (const path of ['/api/v0/tools/invoke', '/mcp']) {
    for (let i = 0; i < 5; i++) {
      const body = Buffer.alloc(24 * 1024 * 1024, 'a')
      const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', headers: json, body })
      assert.deepEqual([answer.status, await answer.json()], [413, { error: 'the request body is too large' }])
    }
  }
})

test('LI-01 a sender that stops half-way is refused all the same', async (t) => {
  const port = await listen(await startApp(t))
  const text = await exchange(
    port,
    'POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99999999\r\n\r\n{'
  )
  assert.match(text, /^HTTP\/1\.1 413 /)
})

test('LI-10 a request without Host, or with an unknown expectation, is refused in the one shape', async (t) => {
  const port = await listen(await startApp(t))
  for (const [bytes, status, error] of [
    ['GET /health HTTP/1.1\r\n\r\n', 400, 'the request has no Host header'],
    [
      'POST /mcp HTTP/1.1\r\nHost: localhost\r\nExpect: foo\r\nContent-Length: 0\r\n\r\n',
      417,
      'the only supported expectation is 100-continue'
    ]
  ] as const) {
    const text = await exchange(port, bytes)
    assert.match(text, new RegExp(`^HTTP/1\\.1 ${status} `))
    assert.match(text, /content-type: application\/json/i)
    assert.ok(text.includes(JSON.stringify({ error })), text)
  }
})

test('LI-01 LI-10 the parser refuses in the same shape, and closes', async (t) => {
  const patient = await listen(await startApp(t))
  const hasty = await listen(await startApp(t, { env: { TOWPATH_REQUEST_BODY_TIMEOUT_MS: '500' } }))
  const get = (headers: string, path = '/health') => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n`
  const requests: readonly [bytes: string, status: number][] = [
    [get(`X-Long: ${'a'.repeat(20_000)}\r\n`), 431],
    [get('', `/${'a'.repeat(20_000)}`), 431],
    [get('No colon\r\n'), 400],
    [
      `POST /api/v0/tools/invoke HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n` +
        `200000\r\n${'a'.repeat(0x200000)}\r\n0\r\n\r\n`,
      413
    ],
    ['GET /health HTTP/1.1\r\nHost: local', 408]
  ]
  for (const [bytes, status] of requests) {
    const port = status === 408 ? hasty : patient
    const text = await exchange(port, bytes)
    assert.match(text, new RegExp(`^HTTP/1\\.1 ${status} `), text.slice(0, 80))
    assert.match(text, /content-type: application\/json/i)
    assert.match(text, /connection: close/i)
    assert.match(text, /\r\n\r\n\{"error":"[^"]+"\}$/)
    assert.equal((await fetch(`http://127.0.0.1:${port}/health`)).status, 200)
  }
})

test('IN-12 a request that is answered before its body has come is not answered again when the body is broken', async (t) => {
  const port = await listen(await startApp(t))
  const head = 'POST /nowhere HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n'
  const text = await exchange(port, `${head}5\r\nhello0\r\n\r\nGET /metadata HTTP/1.1\r\nHost: localhost\r\n\r\n`)
  assert.deepEqual(text.match(/HTTP\/1\.1 \d+/g), ['HTTP/1.1 404'])
})

test('LI-04 senders that never finish their headers are cut off, and disturb nobody', async (t) => {
  const app = await startApp(t, { env: { TOWPATH_REQUEST_BODY_TIMEOUT_MS: '1000' } })
  const port = await listen(app)
  const sockets = Array.from({ length: 300 }, () => connect(port, '127.0.0.1').on('error', () => {}))
  const closed = Promise.all(sockets.map((socket) => new Promise((resolve) => socket.on('close', resolve).resume())))
  for (const socket of sockets) socket.write('GET /health HTTP/1.1\r\nHost: localhost\r\nX: ')
  const drip = setInterval(() => sockets.forEach((socket) => socket.write('a')), 100)
  t.after(() => clearInterval(drip))
  assert.equal((await fetch(`http://127.0.0.1:${port}/health`)).status, 200)
  await closed
})

async function check(
  app: FastifyInstance,
  request: InjectOptions | string,
  status: number,
  error: string | RegExp,
  code?: string
) {
  const answer = await app.inject(request)
  assert.equal(answer.statusCode, status, answer.body)
  assert.match(String(answer.headers['content-type']), /^application\/json/)
  const body = answer.json<{ error: string; code?: string }>()
  // failures of servers explain themselves in addition
  assert.deepEqual(Object.keys(withoutExplanation(body)), code === undefined ? ['error'] : ['error', 'code'])
  assert.equal(body.code, code)
  if (typeof error === 'string') assert.equal(body.error, error)
  else assert.match(body.error, error)
  assert.doesNotMatch(answer.body, /node_modules|\bat .*:\d+|\/src\//)
}

async function listen(app: FastifyInstance): Promise<number> {
  await app.listen({ host: '127.0.0.1', port: 0 })
  return (app.server.address() as AddressInfo).port
}

/** Returns everything that the server sends until it closes the connection. */
function exchange(port: number, bytes: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
    })
    socket.on('error', () => {})
    socket.on('close', () => resolve(text))
    socket.write(bytes)
  })
}
