import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { openApp, freshConfig } from '../app.ts'
import { startAuthorizationServer } from '../fixtures/oauth/authorization-server.ts'
import { startProtected } from '../fixtures/oauth/protected.ts'
import { addCleanup } from '../store.ts'
import { begin, call, complete, modes, registration, send, setUp, signIn, type Mode } from './oauth-helpers.ts'

const assumed = { oauth_assume_pkce: true }
const unannounced =
  'server "guarded": the authorization server: does not announce PKCE with S256, without which a sign-in is not safe: ' +
  'if its documentation says that it checks S256, register with "oauth_assume_pkce": true'
const withoutS256 =
  'server "guarded": the authorization server: announces PKCE without S256, without which a sign-in is not safe'

for (const mode of Object.keys(modes) as Mode[]) {
  test(`CR-F5 OA-06: an authorization server that does not announce PKCE is refused, and the refusal names the switch (${mode})`, async (t) => {
    const setup = await setUp(t, { pkce: undefined }, { env: modes[mode] })
    for (const more of [{}, { oauth_assume_pkce: false }]) {
      const { status, body } = await send(setup.app, 'POST', '/servers', registration(setup.upstream, more))
      assert.deepEqual([status, body], [502, { error: unannounced }])
    }
    assert.deepEqual(
      setup.as.requests.filter(({ method }) => method !== 'GET'),
      [],
      'nothing is registered there'
    )
  })

  test(`CR-F5: with the switch S256 is sent and checked, and the switch is in the audit log and in what can be posted back (${mode})`, async (t) => {
    const config = await freshConfig(t, modes[mode])
    const as = await startAuthorizationServer(null, { pkce: undefined })
    addCleanup(t, as.close)
    const upstream = await startProtected(null, as)
    addCleanup(t, upstream.close)
    const first = await openApp(config)
    const setup = { app: first, as, upstream, logged: [] }
    const begun = await begin(setup, assumed)
    assert.equal(begun.url.searchParams.get('code_challenge_method'), 'S256', 'the method')
    const done = await complete(setup, begun)
    assert.equal(done.status, 201, done.text)
    const [request] = as.tokenRequests('authorization_code')
    const hash = createHash('sha256').update(request!.get('code_verifier')!).digest('base64url')
    assert.equal(hash, begun.url.searchParams.get('code_challenge'), 'the verifier proves the challenge')
    const { body: audit } = await send(first, 'GET', '/audit?target=guarded')
    assert.match(JSON.stringify(audit), /"oauth_assume_pkce":true/, 'the audit log names the switch')
    await first.close()
    const second = await openApp(config)
    addCleanup(t, () => second.close())
    const { body: configs } = await send(second, 'GET', '/server_configs')
    assert.equal(configs[0].oauth_assume_pkce, true, 'it is in the configuration')
    const { body: listed } = await send(second, 'GET', '/servers')
    assert.ok(!('oauth_assume_pkce' in listed[0]), 'the listing holds no oauth_ member')
    const again = await send(second, 'PUT', '/servers/guarded', configs[0])
    assert.equal(again.status, 200, again.text)
    assert.equal((await call(second)).status, 200, 'a call')
    const { oauth_assume_pkce: _, ...strict } = configs[0]
    const off = await send(second, 'PUT', '/servers/guarded', strict)
    assert.equal(off.status, 200, off.text)
    const { body: after } = await send(second, 'GET', '/audit?target=guarded')
    assert.notEqual(JSON.stringify(after), JSON.stringify(audit), 'that it was switched off is in the log, too')
    assert.ok(!('oauth_assume_pkce' in (await send(second, 'GET', '/server_configs')).body[0]), 'off is the default')
  })
}

test('CR-F5 OA-06: a server that announces PKCE and leaves S256 out is refused with the switch as well', async (t) => {
  const setup = await setUp(t)
  for (const pkce of [['plain'], []]) {
    setup.as.switches.pkce = pkce
    for (const more of [{}, assumed]) {
      const { status, body } = await send(setup.app, 'POST', '/servers', registration(setup.upstream, more))
      assert.deepEqual([status, body], [502, { error: withoutS256 }], JSON.stringify([pkce, more]))
    }
  }
  assert.ok(
    setup.as.requests.every(({ path }) => path !== '/register'),
    'nothing is registered there'
  )
})

test('CR-F5: only administrators can set the switch', async (t) => {
  const setup = await setUp(t, { pkce: undefined }, { env: modes.enterprise })
  const { app, upstream } = setup
  const made = await send(app, 'POST', '/users', { name: 'ann' })
  assert.equal(made.status, 201, made.text)
  const headers = { authorization: `Bearer ${made.body.access_token}` }
  const payload = registration(upstream, assumed)
  for (const [method, url] of [
    ['POST', '/api/v0/servers'],
    ['PUT', '/api/v0/servers/guarded']
  ] as const) {
    const answer = await app.inject({ method, url, headers, payload })
    assert.equal(answer.statusCode, 403, answer.body)
  }
  await signIn(setup, assumed)
})

test('CR-F5: the switch is true or false, holds for streamable_http alone, and does not open other checks', async (t) => {
  const setup = await setUp(t, { pkce: undefined })
  const { app, upstream } = setup
  for (const value of ['true', 1, null, {}]) {
    const answer = await send(app, 'POST', '/servers', registration(upstream, { oauth_assume_pkce: value }))
    assert.equal(answer.status, 400, JSON.stringify(value))
  }
  setup.as.switches.metadata = { issuer: 'https://other.example' }
  const { status, body } = await send(app, 'POST', '/servers', registration(upstream, assumed))
  assert.deepEqual(
    [status, body.error],
    [502, 'server "guarded": the authorization server: has another issuer than the upstream names']
  )
})

test('CR-F5: the dashboard shows the switch and keeps or changes it as it is told', async (t) => {
  const setup = await setUp(t, { pkce: undefined })
  await signIn(setup, assumed)
  const url = '/api/dashboard/servers/guarded'
  const shown = async () => (await setup.app.inject({ url })).json().config_summary.oauth_assume_pkce
  assert.equal(await shown(), true, 'shown')
  const { name: _, ...payload } = registration(setup.upstream, assumed) as Record<string, unknown>
  for (const [given, expected] of [
    [true, true],
    [false, undefined]
  ] as const) {
    const answer = await setup.app.inject({ method: 'PUT', url, payload: { ...payload, oauth_assume_pkce: given } })
    assert.equal(answer.statusCode, 200, answer.body)
    assert.equal(await shown(), expected, `after ${given}`)
  }
})
