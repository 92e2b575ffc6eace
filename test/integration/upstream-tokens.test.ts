import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { withoutExplanation } from '../explained.ts'
import { setTimeout as delay } from 'node:timers/promises'
import { freshConfig, openApp } from '../app.ts'
import { startAuthorizationServer } from '../fixtures/oauth/authorization-server.ts'
import { startProtected } from '../fixtures/oauth/protected.ts'
import { someFor } from '../matrix.ts'
import { engines, addCleanup } from '../store.ts'
import { administer } from '../templates.ts'
import { until } from '../until.ts'
import { begin, call, complete, registration, send, setUp, signIn } from './oauth-helpers.ts'

const statuses = (answers: readonly { status: number }[]) => [...new Set(answers.map(({ status }) => status))]
const many = (count: number, work: () => ReturnType<typeof call>) => Promise.all(Array.from({ length: count }, work))

for (const engine of someFor('OA-12', engines)) {
  test(`OA-12 a token that the upstream refuses is renewed once for all calls that wait for it (${engine})`, async (t) => {
    const setup = await setUp(t, {}, { engine })
    const { app, as } = setup
    await signIn(setup)
    for (let round = 1; round <= 3; round++) {
      as.revoke()
      assert.deepEqual(statuses(await many(20, () => call(app))), [200])
      assert.equal(as.tokenRequests('refresh_token').length, round)
    }
    const used = as.tokenRequests('refresh_token').map((form) => form.get('refresh_token'))
    assert.equal(new Set(used).size, 3, 'each refresh token is used once')
    assert.ok(as.tokenRequests().every((form) => form.get('resource') === setup.upstream.url))
  })
}

test('OA-12 a token is renewed before it expires, so that no call is refused', async (t) => {
  const setup = await setUp(t, { expiresIn: 4 })
  const { app, as, upstream } = setup
  await signIn(setup)
  const before = upstream.refused()
  const begun = performance.now()
  while (performance.now() < begun + 5_000) {
    assert.equal((await call(app)).status, 200)
    await delay(20)
  }
  assert.equal(upstream.refused(), before)
  const renewals = as.tokenRequests('refresh_token').length
  assert.ok(renewals >= 1 && renewals <= (performance.now() - begun) / 2_000 + 1, String(renewals))
})

for (const engine of someFor('OA-13', engines)) {
  test(`OA-13 a refresh token that is no good ends the authorization with one attempt (${engine})`, async (t) => {
    const setup = await setUp(t, {}, { engine })
    const { app, as, upstream } = setup
    await signIn(setup)
    as.revoke()
    as.switches.refusal = { status: 400, body: { error: 'invalid_grant', error_description: 'revoked' } }
    const ended = 'server "guarded": the authorization has ended (invalid_grant): sign in again'
    for (const { status, body } of [...(await many(10, () => call(app))), await call(app)]) {
      assert.deepEqual([status, withoutExplanation(body as object)], [502, { error: ended }])
    }
    assert.equal(as.tokenRequests('refresh_token').length, 1)
    const refreshed = await send(app, 'POST', '/servers/guarded/refresh')
    assert.deepEqual([refreshed.status, withoutExplanation(refreshed.body as object)], [502, { error: ended }])
    assert.equal((await send(app, 'GET', '/servers')).body.length, 1)

    as.switches.refusal = undefined
    const { status, body } = await send(app, 'PUT', '/servers/guarded', registration(upstream))
    assert.equal(status, 202, JSON.stringify(body))
    const { session_id: id, authorization_url } = body.authorization_required
    assert.equal((await complete(setup, { id, url: new URL(authorization_url) })).status, 201)
    assert.equal((await call(app)).status, 200)
    assert.equal(as.tokenRequests('refresh_token').length, 1)
  })
}

test('OA-13 an expires_in that makes no sense does no harm', async (t) => {
  const setup = await setUp(t)
  const { app, as } = setup
  for (const expiresIn of [0, -5, 1e12, 1e300, '3600', 'soon', null, undefined, {}]) {
    const shown = JSON.stringify(expiresIn)
    as.switches.expiresIn = expiresIn
    const forced = await send(app, 'POST', '/servers?force=true', registration(setup.upstream))
    const { session_id: id, authorization_url } = forced.body.authorization_required
    const done = await complete(setup, { id, url: new URL(authorization_url) })
    assert.equal(done.status, 201, `${shown} ${done.text}`)
    const before = as.tokenRequests('refresh_token').length
    for (let i = 0; i < 3; i++) assert.equal((await call(app)).status, 200, shown)
    assert.equal(as.tokenRequests('refresh_token').length, before, shown)
    as.revoke()
    assert.equal((await call(app)).status, 200, shown)
    assert.equal(as.tokenRequests('refresh_token').length, before + 1)
  }
})

test('OA-13 an upstream that refuses new tokens too is not asked for more of them with each call', async (t) => {
  const setup = await setUp(t)
  const { app, as, upstream } = setup
  await signIn(setup)
  const other = await startAuthorizationServer(null)
  addCleanup(t, other.close)
  upstream.issuer = other
  for (let i = 0; i < 3; i++) {
    const { status, body } = await call(app)
    assert.equal(status, 502)
    assert.match(body.error, /^server "guarded": the authorization has ended \(a new access token was refused\)/)
  }
  assert.equal(as.tokenRequests('refresh_token').length, 1)
  assert.equal(other.requests.length, 0)
})

test('an authorization server that is down for a while ends nothing', async (t) => {
  const setup = await setUp(t, { expiresIn: 20 })
  const { app, as } = setup
  await signIn(setup)
  as.switches.refusal = { status: 503, body: 'busy' }
  as.revoke()
  const { status, body } = await call(app)
  assert.deepEqual(
    [status, body.error],
    [502, 'server "guarded": the authorization server: answered HTTP 503 to the refresh token']
  )
  as.switches.refusal = undefined
  await until('the call to work again', async () => (await call(app)).status === 200)
  assert.equal(as.tokenRequests('refresh_token').length, 2)
})

test('tokens and what they are bought with are in no answer, log line, audit row or file', async (t) => {
  const setup = await setUp(t, { refresh: true })
  const { app, as, upstream, logged } = setup
  const begun = await begin(setup)
  const done = await complete(setup, begun)
  as.revoke()
  await call(app)
  const whoami = await send(app, 'POST', '/tools/invoke', { name: 'guarded__whoami' })
  assert.match(whoami.text, /\\"authorization\\":\\"Bearer \*\*\*\\"/)
  const refresh = as.tokenRequests('refresh_token').map((form) => form.get('refresh_token')!)
  const [exchange] = as.tokenRequests('authorization_code')
  const sent = upstream.requests.flatMap(({ headers }) => /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1] ?? [])
  const secrets = [...new Set([...refresh, exchange!.get('code')!, exchange!.get('code_verifier')!, ...sent])]
  assert.ok(secrets.length >= 5)
  const texts = [done.text, whoami.text, ...logged]
  for (const path of ['/servers', '/server_configs', `/upstream_oauth/sessions/${begun.id}`, '/audit']) {
    texts.push((await send(app, 'GET', path)).text)
  }
  for (const secret of secrets) assert.ok(!texts.some((text) => text.includes(secret)))
})

test('an upstream that quotes the token in an error does not give it away', async (t) => {
  const setup = await setUp(t)
  const { app, upstream } = setup
  await signIn(setup)
  const [token] = upstream.requests.flatMap(
    ({ headers }) => /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1] ?? []
  )
  upstream.quotes = true
  const quoted = await call(app)
  assert.equal(quoted.status, 502)
  assert.match(quoted.body.error, /you sent Bearer \*\*\*$/)
  assert.ok(!quoted.text.includes(token!))
})

test('the tokens outlive a restart, and what is stored of them is sealed', async (t) => {
  const config = await freshConfig(t)
  const as = await startAuthorizationServer(null)
  addCleanup(t, as.close)
  const upstream = await startProtected(null, as)
  addCleanup(t, upstream.close)
  const first = await openApp(config)
  await signIn({ app: first, as, upstream, logged: [] })
  assert.equal((await call(first)).status, 200)
  await first.close()
  const tokens = upstream.requests.flatMap(
    ({ headers }) => /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1] ?? []
  )
  const files = readdirSync(config.dataDir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  for (const entry of files) {
    const bytes = readFileSync(join(entry.parentPath, entry.name))
    assert.ok(!tokens.some((token) => bytes.includes(token)), entry.name)
  }
  const second = await openApp(config)
  addCleanup(t, () => second.close())
  assert.equal((await call(second)).status, 200)
  as.revoke()
  assert.equal((await call(second)).status, 200)
  assert.equal(as.tokenRequests('refresh_token').length, 1)
})

test('a server that was signed in to is watched, and its lists are read, with the token of the day', async (t) => {
  const setup = await setUp(t, {}, { recorder: { tells: true } })
  const { app, as, upstream } = setup
  await signIn(setup)
  as.revoke()
  const read = await send(app, 'POST', '/servers/guarded/refresh')
  assert.equal(read.status, 200, read.text)
  await until('it is watched', () => upstream.streams() === 1)
  assert.equal(as.tokenRequests('refresh_token').length, 1)
})

test(
  'tokens go with their server, and with a configuration that needs none',
  { skip: engines.length < 2 },
  async (t) => {
    const setup = await setUp(t, { refresh: false }, { engine: 'postgres' })
    const { app, databaseUrl } = setup
    const rows = async (table: string) => (await administer(databaseUrl!, `select * from ${table}`)).length
    await signIn(setup)
    assert.equal(await rows('upstream_tokens'), 1)
    const open = await startProtected(null, setup.as, { isOpen: true })
    addCleanup(t, open.close)
    const replaced = await send(app, 'PUT', '/servers/guarded', registration(open))
    assert.equal(replaced.status, 200, replaced.text)
    assert.equal(await rows('upstream_tokens'), 0)
    await signIn(setup, { name: 'again' })
    await send(app, 'DELETE', '/servers/again')
    assert.equal(await rows('upstream_tokens'), 0)
    const sessions = await administer(databaseUrl!, 'select sealed from upstream_oauth_sessions')
    assert.ok(
      sessions.length === 2 && sessions.every(({ sealed }) => sealed === null),
      'nothing is kept of what is over'
    )
  }
)
