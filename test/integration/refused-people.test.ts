import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createBrowser } from '../fixtures/identity-provider/browser.ts'
import { signInCommandLine } from '../fixtures/identity-provider/command-line.ts'
import { signIn, startSignInGateway } from '../fixtures/identity-provider/gateway.ts'
import { until } from '../until.ts'

test('a person who is refused at the sign-in loses groups and the role that they gave, and tokens are refused until one is admitted', async (t) => {
  const gateway = await startSignInGateway(t, {
    env: { TOWPATH_OIDC_ADMIN_GROUPS: 'sre', TOWPATH_OIDC_REQUIRED_GROUPS: 'dev' }
  })
  const { url, idp } = gateway
  const browser = createBrowser()
  await signIn(browser, `${url}/auth/session`, 'alice')
  const session = JSON.parse((await browser.open(`${url}/api/v0/me/session`)).text) as { role: string }
  assert.equal(session.role, 'admin')
  const token = await signInCommandLine(gateway, 'towpath:admin')
  const made = await fetch(`${url}/api/v0/me/tokens`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'ci', scopes: ['towpath:admin'] })
  })
  const { access_token: personal } = (await made.json()) as { access_token: string }
  const statusOf = async (credential: string) =>
    (await fetch(`${url}/api/v0/users`, { headers: { authorization: `Bearer ${credential}` } })).status
  assert.deepEqual([await statusOf(personal), await statusOf(token)], [200, 200])

  idp.people.set('alice', { ...idp.people.get('alice')!, groups: ['support'] })
  const page = await signIn(createBrowser(), `${url}/auth/session`, 'alice')
  assert.equal(page.status, 403)
  await until('the tokens have ended', async () => (await statusOf(personal)) === 401)
  assert.equal(await statusOf(token), 401)
  const { body } = await gateway.api('GET', '/users/alice')
  assert.deepEqual([body.role, body.groups], ['user', []])
  const names = async () =>
    ((await gateway.api('GET', '/users/alice/tokens')).body as { name: string }[]).map(({ name }) => name)
  assert.deepEqual(await names(), ['ci'], 'a wrong setting would delete the tokens of everybody')

  idp.people.set('alice', { ...idp.people.get('alice')!, groups: ['dev', 'sre'] })
  assert.equal((await signIn(createBrowser(), `${url}/auth/session`, 'alice')).status, 200)
  assert.equal((await gateway.api('GET', '/users/alice')).body.role, 'admin', 'the groups give the role again')
  await until('the personal token works again', async () => (await statusOf(personal)) === 200)
  assert.equal(await statusOf(token), 401, 'sign-ins have ended for good')
  const rows = (await gateway.api('GET', '/audit?target=alice')).body as {
    entries: { action: string; before?: { personal_tokens?: string }; after?: { personal_tokens?: string } }[]
  }
  const changes = rows.entries.flatMap(({ before, after }) => [
    ...(before?.personal_tokens ? ['accepted'] : []),
    ...(after?.personal_tokens ? [after.personal_tokens] : [])
  ])
  assert.deepEqual(changes, ['accepted', 'refused'])
})

test('a session whose groups were read too long ago is refused over REST until the person signs in', async (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() })
  const gateway = await startSignInGateway(t, { env: { TOWPATH_OIDC_CLAIMS_MAX_AGE_MS: '3600000' } })
  const browser = createBrowser()
  await signIn(browser, `${gateway.url}/auth/session`, 'alice')
  const me = `${gateway.url}/api/v0/me`
  assert.equal((await browser.open(me)).status, 200)
  t.mock.timers.tick(2 * 3_600_000)
  assert.equal((await browser.open(me)).status, 401)
})
