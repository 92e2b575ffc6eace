import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createBrowser, type Browser } from '../fixtures/identity-provider/browser.ts'
import {
  addReplica,
  connectClient,
  listTools,
  signIn,
  startSignInGateway,
  type SignInGateway
} from '../fixtures/identity-provider/gateway.ts'
import { needs } from '../needs.ts'
import { engines } from '../store.ts'
import { until } from '../until.ts'

const skip = needs('PostgreSQL', engines.includes('postgres'))

async function openBrowser({ url }: Pick<SignInGateway, 'url'>, person = 'alice'): Promise<Browser> {
  const browser = createBrowser()
  const page = await signIn(browser, `${url}/auth/login`, person)
  assert.match(page.text, /You are signed in/)
  return browser
}

const isSignedIn = async (browser: Browser, { url }: Pick<SignInGateway, 'url'>) =>
  (await browser.open(`${url}/api/v0/me/session`)).status === 200

const sendLogout = ({ url }: Pick<SignInGateway, 'url'>, token: string) =>
  fetch(`${url}/auth/backchannel-logout`, { method: 'POST', body: new URLSearchParams({ logout_token: token }) })

test(
  'who signs out at the provider is signed out here, on every replica, in that browser only',
  { skip },
  async (t) => {
    const gateway = await startSignInGateway(t, { engine: 'postgres' })
    const replica = await addReplica(t, gateway)
    const [browser, other] = [await openBrowser(gateway), await openBrowser(gateway)]
    await until('the replica to know alice', () => isSignedIn(browser, replica))
    await browser.submit(await browser.open(`${gateway.idp.issuer}/session/end`), { logout: 'yes' })
    for (const each of [gateway, replica]) {
      await until('the session to end', async () => !(await isSignedIn(browser, each)))
      assert.equal(await isSignedIn(other, each), true)
    }
    assert.match(
      JSON.stringify((await gateway.api('GET', '/audit')).body),
      /"session.end".*"identity provider"|"identity provider".*"session.end"/
    )
  }
)

test('who signs out here is led to the provider, and back', async (t) => {
  const gateway = await startSignInGateway(t)
  const browser = await openBrowser(gateway)
  const asked = await browser.submit(await browser.open(`${gateway.url}/auth/logout`), {})
  assert.equal(asked.url.origin, gateway.idp.issuer)
  assert.ok(asked.url.searchParams.get('id_token_hint'))
  assert.equal(await isSignedIn(browser, gateway), false, 'whatever happens at the provider')
  const back = await browser.submit(asked, { logout: 'yes' })
  assert.equal(back.url.href, `${gateway.url}/auth/logout`)
  assert.match(back.text, /You are signed out/)
  const login = await browser.open(`${gateway.url}/auth/login`)
  assert.equal(login.url.origin, gateway.idp.issuer, 'the provider asks again')
})

test('signing out works while the provider does not', { skip }, async (t) => {
  const gateway = await startSignInGateway(t, { engine: 'postgres' })
  const browser = await openBrowser(gateway)
  const replica = await addReplica(t, gateway)
  await until('the replica to know alice', () => isSignedIn(browser, replica))
  const page = await browser.open(`${replica.url}/auth/session`)
  await gateway.idp.close()
  const { origin } = new URL(replica.url)
  const form = { ...page, text: page.text.replace('action="', `action="${origin}`) }
  const out = await browser.submit(form, {})
  assert.match(out.text, /You are signed out/)
  assert.equal(await isSignedIn(browser, replica), false)
})

test('a notice about a person without a session ends all sign-ins of the person', async (t) => {
  const gateway = await startSignInGateway(t)
  const [alice, bob] = [await openBrowser(gateway), await openBrowser(gateway, 'bob')]
  const { tokens, refresh } = await connectClient(gateway)
  const token = await gateway.idp.logoutToken({ sub: 'alice' })
  const answer = await sendLogout(gateway, token)
  assert.deepEqual([answer.status, answer.headers.get('cache-control')], [200, 'no-store'], await answer.text())
  assert.deepEqual([await isSignedIn(alice, gateway), await isSignedIn(bob, gateway)], [false, true])
  assert.equal((await listTools(gateway, tokens.access_token)).status, 401)
  assert.equal((await refresh()).status, 400)
  const again = await sendLogout(gateway, token)
  assert.deepEqual([again.status, ((await again.json()) as { error: string }).error], [400, 'invalid_request'])
  const stranger = await sendLogout(gateway, await gateway.idp.logoutToken({ sub: 'nobody' }))
  assert.equal(stranger.status, 200, 'who is not known here is signed out')
})

test('a logout token that is not valid ends nothing', async (t) => {
  const gateway = await startSignInGateway(t)
  const { idp } = gateway
  const alice = await openBrowser(gateway)
  const now = Math.floor(Date.now() / 1_000)
  const event = 'http://schemas.openid.net/event/backchannel-logout'
  const claims: readonly (readonly [name: string, claims: object])[] = [
    ['another issuer', { iss: 'https://other.example.com' }],
    ['another audience', { aud: 'another-client' }],
    ['a nonce', { nonce: 'n' }],
    ['no event', { events: {} }],
    ['an event that is no object', { events: { [event]: true } }],
    ['no jti', { jti: undefined }],
    ['no subject', { sub: undefined }],
    ['expired', { exp: now - 60 }],
    ['issued long ago', { iat: now - 3_600 }]
  ]
  const tokens = new Map<string, string>()
  for (const [name, changes] of claims) tokens.set(name, await idp.logoutToken({ sub: 'alice', ...changes }))
  tokens.set('the type of an access token', await idp.logoutToken({ sub: 'alice' }, { typ: 'at+jwt' }))
  tokens.set('another key', await idp.logoutToken({ sub: 'alice' }, { kid: 'another' }))
  const good = await idp.logoutToken({ sub: 'alice' })
  const [, payload] = good.split('.')
  const none = Buffer.from(JSON.stringify({ alg: 'none', typ: 'logout+jwt' })).toString('base64url')
  tokens.set('no signature', `${none}.${payload}.`)
  tokens.set('no token', 'x')
  tokens.set('a long text', 'x'.repeat(20_000))
  for (const [name, token] of tokens) {
    const answer = await sendLogout(gateway, token)
    assert.ok([400, 413].includes(answer.status), `${name}: ${answer.status} ${await answer.text()}`)
  }
  assert.equal((await fetch(`${gateway.url}/auth/backchannel-logout`, { method: 'POST' })).status, 400)
  assert.equal(await isSignedIn(alice, gateway), true)
  assert.equal((await sendLogout(gateway, good)).status, 200)
  assert.equal(await isSignedIn(alice, gateway), false)
})
