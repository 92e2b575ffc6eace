import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { startAuthorizationServer, type AuthorizationServer } from '../fixtures/oauth/authorization-server.ts'
import { engines, addCleanup } from '../store.ts'
import {
  begin,
  call,
  complete,
  redirectUri,
  registration,
  send,
  setUp,
  signIn,
  type SignInStart,
  type Setup
} from './oauth-helpers.ts'
import { cellsOf, someFor } from '../matrix.ts'

const secret = 'SENTINEL-client-secret'
const own = { oauth_client_id: 'known', oauth_client_secret: secret }

/**
 * Registration of the gateway at authorization servers: a preconfigured client with a secret, or dynamic registration.
 */
const clients = [
  ['client_secret_basic', own],
  ['dynamic registration', {}]
] as const

/** Routes that change the configuration of an existing server. */
const routes = [
  [
    'PUT',
    (setup: Setup, more: object) => send(setup.app, 'PUT', '/servers/guarded', registration(setup.upstream, more))
  ],
  [
    'force',
    (setup: Setup, more: object) => send(setup.app, 'POST', '/servers?force=true', registration(setup.upstream, more))
  ],
  [
    'PUT of the dashboard',
    async ({ app, upstream }: Setup, more: object) => {
      const { name: _, ...payload } = registration(upstream, more) as Record<string, unknown>
      const answer = await app.inject({ method: 'PUT', url: '/api/dashboard/servers/guarded', payload })
      // oxlint-disable-next-line typescript/no-explicit-any -- tests assert on the shape
      return { status: answer.statusCode, body: answer.json() as any, text: answer.body }
    }
  ]
] as const

const startEvil = async (t: TestContext, more: object = {}): Promise<AuthorizationServer> => {
  const evil = await startAuthorizationServer(null, more)
  addCleanup(t, evil.close)
  return evil
}

/** Asserts that only public documents were requested. */
function assertNothingSent({ requests }: AuthorizationServer): void {
  assert.deepEqual(
    requests.filter(({ method }) => method !== 'GET'),
    []
  )
  assert.ok(!JSON.stringify(requests).includes(secret))
}

const changed = (issuer: string) => ({
  error: `the upstream names another authorization server than before, "${issuer}": give it as "oauth_issuer" if that is right`,
  code: 'upstream_oauth_issuer_changed'
})

const begunOf = (body: { authorization_required: { session_id: string; authorization_url: string } }): SignInStart => ({
  id: body.authorization_required.session_id,
  url: new URL(body.authorization_required.authorization_url)
})

for (const [engine, [how, client]] of cellsOf(engines, clients)) {
  test(`SR-M4 an upstream that names another issuer gets neither secret nor person, whichever route is taken (${how}, ${engine})`, async (t) => {
    const setup = await setUp(t, { clients: { known: secret }, refresh: false }, { engine })
    const { app, as, upstream } = setup
    await signIn(setup, client)
    const evil = await startEvil(t, { clients: { known: secret } })
    upstream.issuer = evil
    as.revoke()
    for (const [route, configure] of routes) {
      const { status, body } = await configure(setup, client)
      assert.deepEqual([status, body], [409, changed(evil.issuer)], route)
    }
    assertNothingSent(evil)
    assert.equal((await call(app)).status, 502)
    // the server is still signed in at the first issuer
    upstream.issuer = as
    const again = await routes[1][1](setup, client)
    assert.equal(again.status, 202, again.text)
    assert.equal((await complete(setup, begunOf(again.body))).status, 201)
    assert.equal((await call(app)).status, 200)
  })
}

for (const [how, client] of clients) {
  for (const [route, configure] of routes) {
    test(`SR-M4 a new issuer is accepted by naming it, or by removing the server, and both are in the audit log (${how}, ${route})`, async (t) => {
      const setup = await setUp(t, { clients: { known: secret }, refresh: false })
      const { app, as, upstream } = setup
      await signIn(setup, client)
      const moved = await startEvil(t, { clients: { known: secret } })
      upstream.issuer = moved
      as.revoke()
      const wrong = await configure(setup, { ...client, oauth_issuer: 'https://third.example' })
      assert.deepEqual([wrong.status, wrong.body.code], [409, 'upstream_oauth_issuer_changed'])
      assertNothingSent(moved)
      const named = await configure(setup, { ...client, oauth_issuer: moved.issuer })
      assert.equal(named.status, 202, named.text)
      const done = await complete({ ...setup, as: moved }, begunOf(named.body))
      assert.equal(done.status, 201, done.text)
      assert.equal((await call(app)).status, 200)
      const rows = (await send(app, 'GET', '/audit?action=upstream_oauth.complete&target=guarded')).body.entries
      assert.equal(rows[0].after.oauth_issuer, moved.issuer)
      assert.equal((await send(app, 'GET', '/server_configs')).body[0].oauth_issuer, moved.issuer)

      upstream.issuer = as
      assert.equal((await configure(setup, client)).status, 409)
      assert.equal((await send(app, 'DELETE', '/servers/guarded')).status, 204)
      assert.equal((await complete(setup, await begin(setup, client))).status, 201)
      assert.equal((await call(app)).status, 200)
    })
  }

  test(`SR-M4 a pinned issuer holds at the first registration, also through the dashboard (${how})`, async (t) => {
    const setup = await setUp(t, { clients: { known: secret } })
    const { app, as, upstream } = setup
    const evil = await startEvil(t, { clients: { known: secret } })
    upstream.issuer = evil
    const pinned = { ...client, oauth_issuer: as.issuer }
    const refused = {
      error: `the upstream names the authorization server "${evil.issuer}", and "oauth_issuer" names another one`,
      code: 'upstream_oauth_issuer_changed'
    }
    for (const path of ['/api/v0/servers', '/api/v0/servers?force=true', '/api/dashboard/servers']) {
      const payload = registration(upstream, pinned)
      const answer = await app.inject({ method: 'POST', url: path, payload })
      assert.deepEqual([answer.statusCode, answer.json()], [409, refused], path)
    }
    assertNothingSent(evil)
    assert.deepEqual((await send(app, 'GET', '/servers')).body, [])
    // of several issuers that an upstream names, the pinned one is used
    upstream.metadata = { authorization_servers: [evil.issuer, as.issuer] }
    upstream.issuer = as
    await signIn(setup, pinned)
    assert.equal((await call(app)).status, 200)
    assertNothingSent(evil)
    assert.equal((await send(app, 'GET', '/server_configs')).body[0].oauth_issuer, as.issuer)
  })
}

test('SR-M4 pins are compared as text: letter case, a slash and a path make another issuer', async (t) => {
  const setup = await setUp(t)
  const { app, as, upstream } = setup
  for (const other of [
    `${as.issuer}/`,
    `${as.issuer}/x`,
    as.issuer.replace('127.0.0.1', 'localhost'),
    as.issuer.replace('http', 'HTTP')
  ]) {
    const { status, body } = await send(app, 'POST', '/servers', registration(upstream, { oauth_issuer: other }))
    assert.deepEqual([status, body.code], [409, 'upstream_oauth_issuer_changed'], other)
  }
  assertNothingSent(as)
  for (const bad of ['as.example', 'http://as.example', 'https://user:pass@as.example', 'https://as.example#x']) {
    const { status, body } = await send(app, 'POST', '/servers', registration(upstream, { oauth_issuer: bad }))
    assert.equal(status, 400)
    assert.match(body.error, /^"oauth_issuer" must /)
  }
})

for (const engine of someFor('SR-M4', engines)) {
  test(`SR-M4 a refresh token goes to the issuer that gave it, whatever the upstream names meanwhile (${engine})`, async (t) => {
    const setup = await setUp(t, { clients: { known: secret } }, { engine })
    const { app, as, upstream } = setup
    await signIn(setup, own)
    const evil = await startEvil(t, { clients: { known: secret } })
    upstream.metadata = { authorization_servers: [evil.issuer] }
    as.revoke()
    assert.equal((await call(app)).status, 200)
    assert.equal(as.tokenRequests('refresh_token').length, 1)
    // another pin: the first issuer's tokens are not used, and the issuer that the upstream names is not contacted
    const { status } = await routes[1][1](setup, { ...own, oauth_issuer: 'https://third.example' })
    assert.equal(status, 409)
    assert.equal((await routes[0][1](setup, { ...own, oauth_issuer: 'https://third.example' })).status, 409)
    assertNothingSent(evil)
    assert.equal((await call(app)).status, 200)
  })
}

test('SR-M4 an upstream that asks for no sign-in at one replacement stays bound at the next', async (t) => {
  for (const [route, configure] of routes) {
    const setup = await setUp(t, { clients: { known: secret }, refresh: false })
    const { as, upstream } = setup
    await signIn(setup, own)
    as.revoke()
    const evil = await startEvil(t)
    const { accepts } = as
    Object.assign(upstream, { issuer: { ...evil, accepts: () => true } })
    const open = await configure(setup, own)
    assert.ok([200, 201].includes(open.status), open.text)
    Object.assign(upstream, { issuer: { ...evil, accepts } })
    const { status, body } = await configure(setup, own)
    assert.deepEqual([status, body.code], [409, 'upstream_oauth_issuer_changed'], route)
    assertNothingSent(evil)
  }
})

test('SR-M4 the dashboard shows the pin, and a kept client secret does not follow to another one', async (t) => {
  const setup = await setUp(t, { clients: { known: secret } })
  const { app, as, upstream } = setup
  await signIn(setup, { ...own, oauth_issuer: as.issuer })
  const url = '/api/dashboard/servers/guarded'
  const shown = await app.inject({ url })
  assert.equal(shown.json<{ config_summary: { oauth_issuer?: string } }>().config_summary.oauth_issuer, as.issuer)
  const kept = {
    transport: 'streamable_http',
    url: null,
    oauth_client_id: null,
    oauth_client_secret: null,
    oauth_redirect_uri: redirectUri
  }
  const evil = await startEvil(t, { clients: { known: secret } })
  upstream.metadata = { authorization_servers: [evil.issuer] }
  const refused = await app.inject({ method: 'PUT', url, payload: { ...kept, oauth_issuer: evil.issuer } })
  assert.deepEqual(
    [refused.statusCode, refused.json()],
    [
      400,
      {
        error: 'the server now has another target: give "oauth_client_secret" again, or leave it out',
        code: 'secrets_not_kept'
      }
    ]
  )
  assertNothingSent(evil)
  const same = await app.inject({ method: 'PUT', url, payload: { ...kept, oauth_issuer: as.issuer } })
  assert.equal(same.statusCode, 200, same.body)
})
