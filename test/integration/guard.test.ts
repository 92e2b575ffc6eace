import assert from 'node:assert/strict'
import { request, type IncomingMessage } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { text as textOf } from 'node:stream/consumers'
import test from 'node:test'
import type { InjectOptions } from 'fastify'
import { buildApp } from '../../src/app.ts'
import { freshConfig, register, startApp, stdioServer } from '../app.ts'
import { addCleanup } from '../store.ts'

const refusedHost = { error: 'this Host is not allowed; see TOWPATH_ALLOWED_HOSTS' }
const refusedOrigin = { error: 'this Origin is not allowed; see TOWPATH_ALLOWED_ORIGINS' }

test('DA-03 a foreign Host is 403 on every kind of route, known or not', async (t) => {
  const app = await startApp(t)
  const urls = [
    '/',
    '/health',
    '/mcp',
    '/sse',
    '/message',
    '/docs',
    '/openapi.json',
    '/api/v0/servers',
    '/v0/groups/g/mcp',
    '/x'
  ]
  for (const url of urls) {
    for (const host of ['evil.example', '127.0.0.1.evil.example']) {
      const answer = await app.inject({ url, headers: { host } })
      assert.deepEqual([answer.statusCode, answer.json()], [403, refusedHost], url)
    }
  }
  const local = await app.inject({ url: '/api/v0/servers', headers: { host: 'localhost:8080' } })
  assert.equal(local.statusCode, 200)
})

test('a URL that is written with scheme and host is guarded as any other', async (t) => {
  const app = await startApp(t)
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  const ask = (path: string) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      request({ port, host: '127.0.0.1', path, agent: false }, (answer) => resolve(answer.resume()))
        .on('error', reject)
        .end()
    })
  for (const path of ['/api/v0/servers', `http://127.0.0.1:${port}/api/v0/servers`]) {
    const { statusCode, headers } = await ask(path)
    assert.deepEqual([statusCode, headers['cache-control']], [200, 'no-store'], path)
  }
})

test('DA-04 a foreign or null Origin changes nothing', async (t) => {
  const app = await startApp(t)
  await register(app, stdioServer('alpha'))
  const requests: InjectOptions[] = [
    { method: 'POST', url: '/api/v0/servers', payload: stdioServer('beta') },
    { method: 'DELETE', url: '/api/v0/servers/alpha' },
    { method: 'POST', url: '/api/v0/servers/alpha/disable' },
    { method: 'POST', url: '/api/v0/tools/disable?entity=alpha' },
    { method: 'PATCH', url: '/api/dashboard/servers/alpha/enabled', payload: { enabled: false } },
    { method: 'POST', url: '/mcp', payload: { jsonrpc: '2.0', id: 1, method: 'ping' } },
    { method: 'GET', url: '/mcp' }
  ]
  const before = (await app.inject('/api/v0/servers')).body
  for (const origin of ['http://evil.example', 'null']) {
    for (const request of requests) {
      const answer = await app.inject({ ...request, headers: { origin } })
      assert.deepEqual([answer.statusCode, answer.json()], [403, refusedOrigin], JSON.stringify(request))
    }
  }
  assert.equal((await app.inject('/api/v0/servers')).body, before)
})

test('DA-04 a request that the browser calls cross-site changes nothing, a page of ours does', async (t) => {
  const app = await startApp(t)
  const post = (headers: Record<string, string>) =>
    app.inject({ method: 'POST', url: '/api/v0/servers/a/enable', headers })
  for (const site of ['cross-site', 'same-site', '']) {
    assert.equal((await post({ 'sec-fetch-site': site })).statusCode, 403, site)
    assert.equal((await app.inject({ url: '/mcp', headers: { 'sec-fetch-site': site } })).statusCode, 403, site)
  }
  for (const site of ['same-origin', 'none'])
    assert.equal((await post({ 'sec-fetch-site': site })).statusCode, 404, site)
  const page = { 'sec-fetch-site': 'same-origin', origin: 'http://localhost:8080', host: 'localhost:8080' }
  assert.equal((await post(page)).statusCode, 404)
})

/** Requests that change data without a body, so that browsers send no CORS preflight. */
const withoutBody: InjectOptions[] = [
  { method: 'POST', url: '/api/v0/servers/alpha/disable' },
  { method: 'POST', url: '/api/v0/servers/alpha/enable' },
  { method: 'POST', url: '/api/v0/servers/alpha/refresh' },
  { method: 'POST', url: '/api/v0/tools/disable?entity=alpha' },
  { method: 'POST', url: '/api/dashboard/servers/alpha/test' },
  { method: 'POST', url: '/api/dashboard/servers/demo' },
  { method: 'DELETE', url: '/api/v0/servers/alpha' },
  { method: 'POST', url: '/mcp' },
  { method: 'GET', url: '/mcp' },
  { method: 'GET', url: '/sse' },
  { method: 'POST', url: '/message' },
  { method: 'GET', url: '/api/dashboard/events' }
]

test('SR-L4 CR-A10 pages of other loopback origins change nothing in development mode', async (t) => {
  const app = await startApp(t)
  await register(app, stdioServer('alpha'))
  const before = (await app.inject('/api/v0/servers')).body
  for (const origin of ['http://localhost:3000', 'https://localhost', 'http://127.0.0.1:8080', 'http://[::1]:8080']) {
    for (const site of ['cross-site', 'same-site', undefined]) {
      const headers = { host: 'localhost:8080', origin, ...(site ? { 'sec-fetch-site': site } : {}) }
      for (const request of withoutBody) {
        const answer = await app.inject({ ...request, headers })
        assert.deepEqual([answer.statusCode, answer.json()], [403, refusedOrigin], JSON.stringify([request, origin]))
      }
    }
    const read = await app.inject({ url: '/api/v0/servers', headers: { host: 'localhost:8080', origin } })
    assert.deepEqual([read.statusCode, read.headers['access-control-allow-origin']], [200, undefined], origin)
  }
  assert.equal((await app.inject('/api/v0/servers')).body, before)
})

test('SR-L4 own pages, listed origins and callers that are no browser go on changing things', async (t) => {
  const listed = 'http://localhost:3000'
  const app = await startApp(t, { env: { TOWPATH_ALLOWED_ORIGINS: listed } })
  await register(app, stdioServer('alpha'))
  const host = 'localhost:8080'
  for (const headers of [
    { host },
    { host, origin: `http://${host}`, 'sec-fetch-site': 'same-origin' },
    { host, origin: listed, 'sec-fetch-site': 'cross-site' },
    // the dashboard of `npm run dev:dashboard`: Vite forwards Host
    { host: 'localhost:5173', origin: 'http://localhost:5173', 'sec-fetch-site': 'same-origin' }
  ]) {
    const answer = await app.inject({ method: 'POST', url: '/api/v0/servers/alpha/disable', headers })
    assert.equal(answer.statusCode, 200, JSON.stringify(headers))
  }
})

const enterprise = { SERVER_MODE: 'enterprise', TOWPATH_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64') }

for (const [mode, env] of Object.entries({ development: {}, enterprise })) {
  test(`SR-L3 CR-A11 requests that name two hosts are 400 on every kind of route in ${mode} mode`, async (t) => {
    const app = await startApp(t, { env })
    await app.listen({ port: 0, host: '127.0.0.1' })
    const { port } = app.server.address() as AddressInfo
    const send = async (text: string) => {
      const socket = connect(port, '127.0.0.1')
      socket.end(`${text}\r\nconnection: close\r\n\r\n`)
      const answer = await textOf(socket)
      return Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1])
    }
    const paths = [
      '/health',
      '/',
      '/docs',
      '/openapi.json',
      '/api/v0/servers',
      '/mcp',
      '/sse',
      '/v0/groups/g/mcp',
      '/x'
    ]
    for (const path of paths) {
      for (const method of ['GET', 'POST', 'DELETE']) {
        for (const [target, hosts] of [
          [path, 'Host: localhost\r\nHost: localhost'],
          [path, 'Host: localhost\r\nhost: evil.example'],
          [path, 'HOST: evil.example\r\nX-A: b\r\nHost: localhost'],
          [path, 'Host: localhost, evil.example'],
          [path, 'Host: a@localhost'],
          [`http://evil.example${path}`, 'Host: localhost'],
          [`http://localhost:81${path}`, 'Host: localhost'],
          [`https://localhost${path}`, 'Host: localhost:80'],
          [`http://a@localhost${path}`, 'Host: localhost'],
          [`HTTP://evil.example${path}`, 'Host: localhost']
        ] as const) {
          assert.equal(await send(`${method} ${target} HTTP/1.1\r\n${hosts}`), 400, `${method} ${target} ${hosts}`)
        }
      }
    }
    for (const [target, host] of [
      ['http://localhost/health', 'localhost'],
      ['http://LOCALHOST:80/health', 'localhost'],
      ['http://localhost/health', 'localhost:80'],
      [`http://127.0.0.1:${port}/health`, `127.0.0.1:${port}`],
      ['http://[::1]/health', '[::1]']
    ] as const) {
      assert.equal(await send(`GET ${target} HTTP/1.1\r\nHost: ${host}`), 200, `${target} ${host}`)
    }
  })
}

test('DA-06 a preflight from a foreign origin gets no CORS header', async (t) => {
  const app = await startApp(t)
  for (const url of ['/api/v0/servers', '/mcp', '/nowhere']) {
    for (const origin of ['http://evil.example', 'null', 'http://localhost:3000', undefined]) {
      const headers = { 'access-control-request-method': 'POST', ...(origin ? { origin } : {}) }
      const answer = await app.inject({ method: 'OPTIONS', url, headers })
      assert.equal(answer.statusCode, origin === undefined ? 405 : 403, `${url} ${origin}`)
      assert.deepEqual(
        Object.keys(answer.headers).filter((name) => name.startsWith('access-control')),
        []
      )
    }
  }
})

test('DA-06 a configured origin gets the headers that an MCP client in a page needs, and never "*"', async (t) => {
  const origin = 'https://app.example.com'
  const app = await startApp(t, { env: { TOWPATH_ALLOWED_ORIGINS: origin } })
  const preflight = await app.inject({
    method: 'OPTIONS',
    url: '/mcp',
    headers: { origin, 'access-control-request-headers': 'content-type, mcp-param-region, x-evil' }
  })
  assert.equal(preflight.statusCode, 204)
  assert.equal(preflight.headers['access-control-allow-origin'], origin)
  const allowed = String(preflight.headers['access-control-allow-headers'])
  for (const name of ['Authorization', 'Mcp-Session-Id', 'Mcp-Method', 'mcp-param-region'])
    assert.ok(allowed.includes(name))
  assert.ok(!allowed.includes('x-evil'))

  const answer = await app.inject({ url: '/api/v0/servers', headers: { origin, 'sec-fetch-site': 'cross-site' } })
  assert.equal(answer.headers['access-control-allow-origin'], origin)
  assert.match(String(answer.headers['access-control-expose-headers']), /Mcp-Session-Id/)
  assert.match(String(answer.headers.vary), /Origin/)
})

test('answers that depend on the caller are not stored, and none is sniffed', async (t) => {
  const app = await startApp(t)
  for (const url of ['/api/v0/servers', '/api/v0/server_configs', '/api/v0/tools', '/api/v0/nowhere']) {
    const { headers } = await app.inject(url)
    assert.equal(headers['cache-control'], 'no-store', url)
  }
  for (const url of ['/health', '/nowhere', '/docs', '/api/v0/servers']) {
    const { headers } = await app.inject(url)
    assert.deepEqual([headers['x-content-type-options'], headers['referrer-policy']], ['nosniff', 'no-referrer'], url)
  }
})

test('a route that does not say who may call it stops the start', async (t) => {
  const app = await buildApp(await freshConfig(t))
  addCleanup(t, () => app.close())
  app.get('/forgotten', () => 'x')
  await assert.rejects(async () => app.ready(), /without a declared access: GET \/forgotten/)
})
