import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { createBrowser, type Browser } from '../fixtures/identity-provider/browser.ts'
import {
  addReplica,
  addServer,
  allowEverybody,
  connectClient,
  createAuthorization,
  listTools,
  signIn,
  startSignInGateway,
  type SignInGateway,
  type Tokens
} from '../fixtures/identity-provider/gateway.ts'
import { startScripted } from '../fixtures/http/scripted.ts'
import { needs } from '../needs.ts'
import { someFor } from '../matrix.ts'
import { addCleanup, engines } from '../store.ts'
import { until } from '../until.ts'
import { legacyBody, modernBody, modernHeaders } from './mcp-messages.ts'

for (const engine of someFor('sign-in', engines)) {
  test(`a client connects by URL alone, a person signs in, and a policy decides (${engine})`, async (t) => {
    const gateway = await startSignInGateway(t, { engine })
    const { url } = gateway
    await addServer(t, gateway)
    const refused = await fetch(`${url}/mcp`, { method: 'POST' })
    assert.equal(
      refused.headers.get('www-authenticate'),
      `Bearer scope="mcp", resource_metadata="${url}/.well-known/oauth-protected-resource/mcp"`
    )
    const { tokens, refresh, back, consent } = await connectClient(gateway)
    assert.match(consent.text, /A test client/)
    assert.equal(back.searchParams.get('state'), 'a state')
    assert.equal(back.searchParams.get('iss'), url)
    const claims = decodeJwt(tokens.access_token)
    assert.equal(claims.aud, `${url}/mcp`)
    assert.equal(claims.iss, url)
    assert.equal(decodeProtectedHeader(tokens.access_token).typ, 'at+jwt')
    const empty = await listTools(gateway, tokens.access_token)
    assert.equal(empty.status, 200, await empty.clone().text())
    assert.deepEqual(((await empty.json()) as { result: { tools: unknown[] } }).result.tools, [], 'nothing is allowed')

    await allowEverybody(gateway)
    const listed = (await (await listTools(gateway, tokens.access_token)).json()) as { result: { tools: object[] } }
    assert.ok(listed.result.tools.length > 0, 'the policy allows the tools')

    const next = (await (await refresh()).json()) as Tokens
    assert.notEqual(next.refresh_token, tokens.refresh_token, 'the refresh token is rotated')
    assert.equal((await listTools(gateway, next.access_token)).status, 200)
    const called = await fetch(`${url}/mcp`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        authorization: `Bearer ${next.access_token}`,
        ...modernHeaders('tools/call', 'k8s__echo')
      },
      body: modernBody('tools/call', { name: 'k8s__echo', arguments: { text: 'hello' } })
    })
    assert.equal(called.status, 200, await called.text())
  })
}

/** Returns the page behind the sign-in of a person who opens the own session. */
const openSession = (gateway: SignInGateway, person: string, browser = createBrowser()) =>
  signIn(browser, `${gateway.url}/auth/session`, person)

/** Tests if the browser has a session. The provider remembers its own: behind the sign-in page there would be a new one. */
const isSignedIn = async ({ url }: SignInGateway, browser: Browser) =>
  (await browser.open(`${url}/auth/session`, ({ pathname }) => pathname === '/auth/login')).url.pathname ===
  '/auth/session'

const userOf = async ({ api }: SignInGateway, name: string) => (await api('GET', `/users/${name}`)).body

test('IA-31 an answer of the provider counts once, in the browser that asked, for ten minutes', async (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() })
  const gateway = await startSignInGateway(t)
  const isBack = (to: URL) => to.pathname === '/auth/callback'
  const answerIn = async (browser: Browser) => {
    const login = await browser.open(`${gateway.url}/auth/session`)
    return (await browser.submit(login, { login: 'alice', password: 'any' }, { stopsAt: isBack })).url
  }
  const refused = async (browser: Browser, url: URL | string, reason: RegExp) => {
    const page = await browser.open(url)
    assert.equal(page.status, 400, page.text)
    assert.match(page.text, reason)
    assert.match(page.headers.get('content-type')!, /text\/html/)
    assert.equal(await isSignedIn(gateway, browser), false)
  }
  const [ann, eve] = [createBrowser(), createBrowser()]
  const url = await answerIn(ann)
  await refused(eve, url, /not started in this browser/)
  const forged = new URL(url)
  forged.searchParams.set('state', 'forged')
  await refused(createBrowser(), forged, /not started in this browser/)
  forged.searchParams.delete('state')
  await refused(createBrowser(), forged, /not started in this browser/)
  await refused(createBrowser(), `${gateway.url}/auth/callback`, /not started in this browser/)
  assert.equal((await ann.open(url)).status, 200, 'the browser that asked is signed in')
  const again = await ann.open(url)
  assert.equal(again.status, 400, 'the same answer does not count twice')
  const late = createBrowser()
  const lateUrl = await answerIn(late)
  t.mock.timers.tick(11 * 60_000)
  await refused(late, lateUrl, /took too long/)
})

test('two sign-ins in one browser at the same time both succeed', async (t) => {
  const gateway = await startSignInGateway(t)
  const browser = createBrowser()
  const logins = []
  for (let i = 0; i < 3; i++) logins.push(await browser.open(`${gateway.url}/auth/login?return=/auth/session`))
  const [first] = logins
  const page = await browser.submit(first!, { login: 'alice', password: 'any' })
  assert.equal(page.status, 200, page.text)
  assert.match(page.text, /You are signed in/)
})

test('a secret is sent to the provider as it announces, or as the setting says', async (t) => {
  const announced = await startSignInGateway(t, { clientAuth: 'client_secret_post' })
  announced.idp.faults.metadata = { token_endpoint_auth_methods_supported: ['client_secret_post'] }
  assert.match((await openSession(announced, 'alice')).text, /You are signed in/)
  const configured = await startSignInGateway(t, {
    clientAuth: 'client_secret_post',
    env: { TOWPATH_OIDC_CLIENT_AUTH: 'client_secret_post' }
  })
  assert.match((await openSession(configured, 'alice')).text, /You are signed in/)
})

test('IA-33 groups come from the ID token or the user information, and are never taken for none', async (t) => {
  const gateway = await startSignInGateway(t, { env: { TOWPATH_OIDC_ADMIN_GROUPS: 'sre' } })
  const { idp } = gateway
  const { alice } = Object.fromEntries(idp.people)
  for (const groupsIn of ['id_token', 'userinfo', 'both'] as const) {
    idp.faults.groupsIn = groupsIn
    const page = await openSession(gateway, 'alice')
    assert.equal(page.status, 200, page.text)
    const { role, groups } = await userOf(gateway, 'alice')
    assert.deepEqual([role, groups], ['admin', ['sre', 'dev']], groupsIn)
  }
  idp.faults.hasOverage = true
  const overage = await openSession(gateway, 'alice')
  assert.equal(overage.status, 403)
  assert.match(overage.text, /more groups than the identity provider puts into its answer/)
  assert.equal((await userOf(gateway, 'alice')).role, 'admin', 'nothing was taken away')
  idp.faults.hasOverage = false
  const many = Array.from({ length: 2_000 }, (_, i) => `group ${i}`)
  idp.people.set('alice', { ...alice!, groups: many })
  const refused = await openSession(gateway, 'alice')
  assert.equal(refused.status, 403)
  assert.match(refused.text, /more than 1000 groups/)
  // the last administrator by a static token remains, so the role may go
  for (const [groups, kept] of [
    [[7, 'sre', null, { name: 'x' }, 'a\nb', 'x'.repeat(257), 'sre'], ['sre']],
    ['dev', ['dev']],
    [42, []]
  ] as const) {
    idp.people.set('alice', { ...alice!, groups })
    const page = await openSession(gateway, 'alice')
    assert.equal(page.status, 200, page.text)
    assert.deepEqual((await userOf(gateway, 'alice')).groups, kept)
  }
})

test('IA-35 groups that were read too long ago renew no tokens, and the page names the missing group', async (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() })
  const gateway = await startSignInGateway(t, { env: { TOWPATH_OIDC_REQUIRED_GROUPS: 'sales,finance' } })
  const { idp, url } = gateway
  const { tokens, refresh, browser, clientId } = await connectClient(gateway, { person: 'bob' })
  t.mock.timers.tick(60 * 60_000)
  const renewed = await refresh(tokens.refresh_token)
  assert.equal(renewed.status, 200, await renewed.clone().text())
  const { refresh_token } = (await renewed.json()) as Tokens
  t.mock.timers.tick(12 * 3_600_000)
  const refused = await refresh(refresh_token)
  assert.equal(refused.status, 400)
  assert.equal(((await refused.json()) as { error: string }).error, 'invalid_grant')

  // the session is too old for a new client, and bob has left the group
  idp.people.set('bob', { ...idp.people.get('bob')!, groups: ['support'] })
  const opened = await browser.open(createAuthorization(gateway, clientId).url)
  const page = opened.url.origin === url ? opened : await browser.submit(opened, { login: 'bob', password: 'any' })
  assert.equal(page.status, 403, page.text)
  assert.match(page.text, /must be in the group &quot;sales&quot;, &quot;finance&quot;|must be in the group "sales"/)
  assert.equal(await isSignedIn(gateway, browser), false, 'the session of before has ended')
})

test('a person who may not sign in gets no user, and the refusal is in the audit log', async (t) => {
  const gateway = await startSignInGateway(t, { env: { TOWPATH_OIDC_ALLOWED_DOMAINS: 'other.example' } })
  const page = await openSession(gateway, 'alice')
  assert.equal(page.status, 403)
  assert.match(page.text, /verified e-mail address of the company/)
  assert.equal((await gateway.api('GET', '/users/alice')).status, 404)
  await until('the refusal is in the audit log', async () =>
    JSON.stringify((await gateway.api('GET', '/audit?action=session.refused')).body).includes('e-mail address')
  )
})

const initializeParams = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'a client', version: '1' }
}

/** A legacy session and what it has open: a stream of its own, one of the modern protocol, and a call in progress. */
async function openAll(gateway: SignInGateway, token: string) {
  const authorization = `Bearer ${token}`
  const accept = 'application/json, text/event-stream'
  const post = (body: string, headers: object = {}) =>
    fetch(`${gateway.url}/mcp`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept, authorization, ...headers },
      body
    })
  const initialized = await post(legacyBody('initialize', initializeParams))
  assert.equal(initialized.status, 200, await initialized.clone().text())
  const session = { 'mcp-session-id': initialized.headers.get('mcp-session-id')! }
  await initialized.text()
  const own = await fetch(`${gateway.url}/mcp`, { headers: { accept, authorization, ...session } })
  const notifications = { notifications: { toolsListChanged: true } }
  const listening = await post(modernBody('subscriptions/listen', notifications), modernHeaders('subscriptions/listen'))
  assert.deepEqual([own.status, listening.status], [200, 200])
  const call = post(
    modernBody('tools/call', { name: 'held__script', arguments: {} }),
    modernHeaders('tools/call', 'held__script')
  )
  const isOver = async (stream: Response) => void (await stream.text().catch(() => ''))
  return { session, ends: [isOver(own), isOver(listening), call.then(isOver)] }
}

for (const endIt of ['suspend', 'delete', 'sign-in refused'] as const) {
  const title = `IA-37 on both replicas everything that a user has open ends (${endIt})`
  test(title, { skip: needs('PostgreSQL', engines.includes('postgres')) }, async (t) => {
    const first = await startSignInGateway(t, {
      engine: 'postgres',
      env: { TOWPATH_OIDC_REQUIRED_GROUPS: 'sre' }
    })
    const { api, idp } = first
    const upstream = await startScripted(null, {})
    addCleanup(t, upstream.close)
    const made = await api('POST', '/servers', { name: 'held', transport: 'streamable_http', url: upstream.url })
    assert.equal(made.status, 201, JSON.stringify(made.body))
    await allowEverybody(first)
    const second = await addReplica(t, first)
    const { tokens, refresh, browser } = await connectClient(first)
    const { access_token: token } = tokens
    await until('the second replica knows the user', async () => (await listTools(second, token)).status === 200)
    const open = [await openAll(first, token), await openAll(second, token)]
    await until('both calls are in progress', () => upstream.calls.length === 2)
    const before = performance.now()
    if (endIt === 'suspend') assert.equal((await api('POST', '/users/alice/suspend')).status, 200)
    else if (endIt === 'delete') assert.equal((await api('DELETE', '/users/alice')).status, 204)
    else {
      idp.people.set('alice', { ...idp.people.get('alice')!, groups: [] })
      assert.equal((await openSession(first, 'alice')).status, 403)
    }
    await Promise.all(open.flatMap(({ ends }) => ends))
    t.diagnostic(`streams and calls of both replicas ended after ${Math.round(performance.now() - before)} ms`)
    for (const replica of [first, second]) {
      await until('the token is refused', async () => (await listTools(replica, token)).status === 401)
      const { session } = open[replica === first ? 0 : 1]!
      assert.equal((await listTools(replica, token, '/mcp', session)).status, 401)
    }
    assert.equal((await refresh()).status, 400)
    assert.equal(await isSignedIn(first, browser), false)
    if (endIt !== 'suspend') return
    assert.equal((await openSession(first, 'alice')).status, 403, 'a suspended user cannot sign in')
    assert.equal((await api('POST', '/users/alice/resume')).status, 200)
    assert.equal((await listTools(first, token)).status, 401, 'the old token stays refused')
    assert.equal((await openSession(first, 'alice')).status, 200)
  })
}
