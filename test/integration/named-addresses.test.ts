import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { networkInterfaces } from 'node:os'
import type { AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'
import { request } from 'undici'
import { startApp } from '../app.ts'
import { egressOf, policyOf } from '../egress.ts'
import { startHttp } from '../fixtures/http/server.ts'
import { addCleanup } from '../store.ts'
import { failureOf } from '../unit/upstreams.ts'
import { redirectUri, send } from './oauth-helpers.ts'

/** Starts an internal service that no upstream may reach. */
async function startInternal(t: TestContext) {
  const internal = await startHttp((_request, response) => {
    response.writeHead(400, { 'content-type': 'application/json' })
    response.end('{"error":"INTERNAL body secret=abc","error_description":"INTERNAL description secret=abc"}')
  })
  addCleanup(t, internal.close)
  return internal
}

/** Returns an address of this machine that is not loopback. */
function ownAddress(): string {
  const all = Object.values(networkInterfaces()).flatMap((entries) => entries ?? [])
  const found = all.find(({ family, internal }) => family === 'IPv4' && !internal)
  return found?.address ?? assert.fail('this test needs a network interface beside loopback')
}

const names: Readonly<Record<string, readonly string[]>> = {
  'public.test': ['203.0.113.9'],
  'private.test': ['10.1.2.3'],
  'loopback.test': ['127.0.0.1'],
  'mixed.test': ['203.0.113.9', '127.0.0.1']
}
const resolve = (name: string, _options: object, done: (error: null, found: never[]) => void) =>
  done(null, (names[name] ?? []).map((address) => ({ address, family: 4 })) as never[])

const configured = {
  public: ['203.0.113.9', 'public.test', 'mixed.test', '[2001:db8::1]', '1.1.1.1'],
  private: ['10.1.2.3', 'private.test', '192.168.0.9', '100.64.1.1', '[fd00::7]'],
  loopback: ['127.0.0.1', 'loopback.test', '127.8.8.8', '[::1]']
}
const inside = {
  loopback: ['127.0.0.1', '2130706433', '0x7f.1', '[::ffff:127.0.0.1]', 'loopback.test', 'mixed.test', '[::1]'],
  private: ['10.1.2.3', 'private.test', '172.16.0.1', '[fd00::7]', '[64:ff9b::10.0.0.1]']
}

test('SR-M3 what a server names lies no further inside than its configured URL, in every notation', async (t) => {
  const internal = await startInternal(t)
  const egress = egressOf({ resolve, connectMs: 200 })
  t.after(() => egress.close())
  const refused = /is on loopback or a private network/
  for (const [from, hosts] of Object.entries(configured)) {
    for (const host of hosts) {
      const dispatcher = await egress.dispatcherFor(`http://${host}/mcp`)
      for (const [to, targets] of Object.entries(inside)) {
        if (from === 'loopback' || from === to) continue
        for (const target of from === 'private' && to === 'loopback' ? targets : inside[to as 'private']) {
          const url = `http://${target}:${internal.port}/x`
          assert.match((await failureOf(request(url, { dispatcher }))).message, refused, `${host} names ${target}`)
          assert.equal(await egress.admits(url, `http://${host}/mcp`), false, `${host} names ${target}`)
        }
      }
    }
  }
  assert.equal(internal.requests.length, 0)
  for (const host of configured.loopback) {
    const dispatcher = await egress.dispatcherFor(`http://${host}/mcp`)
    const answer = await request(`${internal.origin}/x`, { dispatcher })
    await answer.body.dump()
    assert.ok(await egress.admits('http://private.test/', `http://${host}/mcp`), host)
  }
  assert.equal(internal.requests.length, configured.loopback.length)
})

test('SR-M3 a host name keeps the place that it had when its server was reached: rebinding gains nothing', async (t) => {
  const internal = await startInternal(t)
  let addresses = [ownAddress()]
  const egress = egressOf({
    connectMs: 200,
    resolve: (_name, _options, done) =>
      done(
        null,
        addresses.map((address) => ({ address, family: 4 }))
      )
  })
  t.after(() => egress.close())
  // no listener is needed
  await request('http://rebinding.test:9/', { dispatcher: egress.dispatcher }).catch(() => {})
  addresses = ['127.0.0.1']
  const dispatcher = await egress.dispatcherFor('http://rebinding.test/mcp')
  for (const host of ['127.0.0.1', 'rebinding.test', 'other.test']) {
    await failureOf(request(`http://${host}:${internal.port}/`, { dispatcher }))
  }
  assert.equal(internal.requests.length, 0)
})

test('URLs that anybody may name lead to public addresses only, also where every name resolves to a private one', async (t) => {
  const internal = await startInternal(t)
  const inward = (name: string, _options: object, done: (error: null, found: never[]) => void) =>
    done(null, [{ address: name.startsWith('private') ? '10.1.2.3' : '127.0.0.1', family: 4 }] as never[])
  for (const lookUp of [resolve, inward]) {
    const egress = egressOf({ resolve: lookUp, connectMs: 200 })
    t.after(() => egress.close())
    const dispatcher = await egress.dispatcherFor(undefined)
    for (const target of [...inside.loopback, ...inside.private]) {
      const failure = await failureOf(request(`http://${target}:${internal.port}/x`, { dispatcher }))
      assert.match(failure.message, /is on loopback or a private network/, target)
    }
  }
  assert.equal(internal.requests.length, 0)
})

test('SR-M3 TOWPATH_EGRESS_ALLOW lists addresses inside that servers outside may name', async (t) => {
  const internal = await startInternal(t)
  for (const allow of ['127.0.0.0/8', 'loopback', 'loopback.test']) {
    const egress = egressOf({ resolve, policy: policyOf({ allow: [allow] }) })
    t.after(() => egress.close())
    const host = allow === 'loopback.test' ? allow : '127.0.0.1'
    const dispatcher = await egress.dispatcherFor('http://203.0.113.9/mcp')
    const answer = await request(`http://${host}:${internal.port}/`, { dispatcher })
    await answer.body.dump()
  }
  assert.equal(internal.requests.length, 3)
})

type Answers = (path: string, origin: string) => object | undefined

/** Starts an upstream on a non-loopback address that requires a sign-in and serves the test's metadata. */
async function startOutside(t: TestContext, challenge: string, answers: Answers) {
  const requests: string[] = []
  const handle = ({ url = '' }: IncomingMessage, response: ServerResponse) => {
    requests.push(url)
    if (url === '/mcp') return void response.writeHead(401, { 'www-authenticate': challenge }).end()
    const body = answers(url, origin)
    response.writeHead(body ? 200 : 404, { 'content-type': 'application/json' }).end(JSON.stringify(body ?? {}))
  }
  const server = createServer((incoming, response) => handle(incoming, response))
  await new Promise<void>((resolve) => server.listen(0, ownAddress(), resolve))
  addCleanup(t, async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  const origin = `http://${ownAddress()}:${(server.address() as AddressInfo).port}`
  return { url: `${origin}/mcp`, requests }
}

const server = (origin: string, more: object) => ({
  issuer: origin,
  authorization_endpoint: 'https://203.0.113.9/authorize',
  token_endpoint: 'https://203.0.113.9/token',
  code_challenge_methods_supported: ['S256'],
  ...more
})
const isServer = (path: string) => path.startsWith('/.well-known/oauth-authorization-server')

for (const [what, challengeOf, answersOf] of [
  ['resource_metadata', (internal: string) => `Bearer resource_metadata="${internal}/m"`, () => () => undefined],
  [
    'authorization_servers',
    () => 'Bearer',
    (internal: string) => (path: string, origin: string) =>
      path.includes('protected-resource') ? { resource: origin, authorization_servers: [internal] } : undefined
  ],
  ...['registration_endpoint', 'authorization_endpoint'].map(
    (name) =>
      [
        name,
        () => 'Bearer',
        (internal: string) => (path: string, origin: string) =>
          isServer(path) ? server(origin, { [name]: `${internal}/i` }) : undefined
      ] as const
  )
] as const) {
  for (const client of [{}, { oauth_client_id: 'mine', oauth_client_secret: 'client-secret' }]) {
    if (what === 'registration_endpoint' && 'oauth_client_id' in client) continue
    const kind = 'oauth_client_id' in client ? 'a configured client' : 'a client to be registered'
    for (const [route, method] of [
      ['/servers', 'POST'],
      ['/servers?force=true', 'POST']
    ] as const) {
      test(`SR-M3 ${what} on loopback is not followed for an upstream elsewhere (${kind}, ${route})`, async (t) => {
        const app = await startApp(t)
        const internal = await startInternal(t)
        const { url } = await startOutside(t, challengeOf(internal.origin), answersOf(internal.origin))
        const payload = { name: 'out', transport: 'streamable_http', url, oauth_redirect_uri: redirectUri, ...client }
        const { status, text } = await send(app, method, route, payload)
        assert.equal(status, 502, text)
        assert.match(text, /TOWPATH_EGRESS_ALLOW/)
        assert.doesNotMatch(text, /INTERNAL|secret=abc/)
        assert.equal(internal.requests.length, 0)
      })
    }
  }
}

test('SR-M3 token_endpoint on loopback gets neither the code nor the secret of an upstream elsewhere', async (t) => {
  const app = await startApp(t)
  const internal = await startInternal(t)
  const { url } = await startOutside(t, 'Bearer', (path, origin) =>
    isServer(path) ? server(origin, { token_endpoint: `${internal.origin}/t` }) : undefined
  )
  const client = { oauth_client_id: 'mine', oauth_client_secret: 'client-secret' }
  const payload = { name: 'out', transport: 'streamable_http', url, oauth_redirect_uri: redirectUri, ...client }
  const { body } = await send(app, 'POST', '/servers', payload)
  const { session_id: id, authorization_url: login } = body.authorization_required
  const state = new URL(login).searchParams.get('state')
  const { status, text } = await send(app, 'POST', `/upstream_oauth/sessions/${id}/complete`, { code: 'c', state })
  assert.equal(status, 502, text)
  assert.match(text, /TOWPATH_EGRESS_ALLOW/)
  assert.equal(internal.requests.length, 0)
})

test('SR-M3 words of a service that is reached are not read back, whatever they are', async (t) => {
  const app = await startApp(t)
  let error: unknown
  const upstream = await startHttp(({ path }, response) => {
    const { origin } = upstream
    if (path === '/mcp') return void response.writeHead(401, { 'www-authenticate': 'Bearer' }).end()
    const body = isServer(path)
      ? server(origin, { token_endpoint: `${origin}/t`, registration_endpoint: `${origin}/r` })
      : { error, error_description: 'INTERNAL secret=abc' }
    response.writeHead(isServer(path) ? 200 : 400, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  addCleanup(t, upstream.close)
  const payload = {
    name: 'in',
    transport: 'streamable_http',
    url: `${upstream.origin}/mcp`,
    oauth_redirect_uri: redirectUri
  }
  for (error of ['invalid_client_metadata', 'INTERNAL secret=abc', 'a'.repeat(41), 'x\ny', '', 7, { a: 'INTERNAL' }]) {
    const { status, text } = await send(app, 'POST', '/servers', payload)
    assert.equal(status, 502, text)
    assert.doesNotMatch(text, /INTERNAL|abc|aaaa/)
    assert.equal(text.includes('invalid_client_metadata'), error === 'invalid_client_metadata')
  }
})
