import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { createBrowser, type Browser } from '../fixtures/identity-provider/browser.ts'
import { signInCommandLine } from '../fixtures/identity-provider/command-line.ts'
import {
  ADMIN,
  addReplica,
  signIn,
  startSignInGateway,
  type SignInGateway
} from '../fixtures/identity-provider/gateway.ts'
import { needs } from '../needs.ts'
import { engines } from '../store.ts'
import { until } from '../until.ts'

const HOUR = 3_600_000
const SESSION = '/api/v0/me/session'

interface Session {
  readonly name: string
  readonly role: string
  readonly method: string
  readonly expires_at: string
  readonly csrf_token: string
}

/** Signs in as the administrator with a static token, sending a cookie. Returns the answer. */
const breakGlass = ({ url }: Pick<SignInGateway, 'url'>, cookie = 'a=b') =>
  fetch(`${url}/auth/local`, {
    method: 'POST',
    redirect: 'manual',
    headers: { cookie },
    body: new URLSearchParams({ token: ADMIN })
  })

/** Returns the line that sets the session cookie; undefined if there is none. */
const lineOf = ({ headers }: Pick<Response, 'headers'>) =>
  headers.getSetCookie().find((line) => /^(?:__Host-)?towpath=/.test(line))
const pairOf = (line: string) => line.slice(0, line.indexOf(';'))

/** Starts a gateway, with the session cookie of an administrator. */
async function start(t: TestContext, env: Record<string, string> = {}) {
  const gateway = await startSignInGateway(t, { env })
  const line = lineOf(await breakGlass(gateway))!
  const cookie = pairOf(line)
  const send = (path: string, init: { method?: string; cookie?: string; headers?: object; body?: string } = {}) => {
    const { headers, cookie: other, ...rest } = init
    return fetch(gateway.url + path, { ...rest, headers: { cookie: other ?? cookie, ...headers } })
  }
  return { gateway, line, cookie, send }
}

test('IA-38 the session cookie is out of reach of scripts, other sites and plain text', async (t) => {
  const plain = await start(t)
  assert.match(plain.line, /^towpath=[\w-]+; Path=\/; HttpOnly; SameSite=Lax$/)
  const secure = await start(t, { TOWPATH_PUBLIC_URL: 'https://towpath.example.com' })
  assert.match(secure.line, /^__Host-towpath=[\w-]+; Path=\/; HttpOnly; Secure; SameSite=Lax$/)
  const renamed = secure.cookie.replace('__Host-', '')
  assert.deepEqual(
    [(await secure.send(SESSION)).status, (await secure.send(SESSION, { cookie: renamed })).status],
    [200, 401]
  )
})

test('IA-38 a session that was there before a sign-in is not taken over', async (t) => {
  const { gateway, cookie, send } = await start(t)
  for (const before of [cookie, 'towpath=chosen-by-somebody-else']) {
    const line = lineOf(await breakGlass(gateway, before))!
    assert.notEqual(pairOf(line), before)
    const [old, next] = await Promise.all(
      [before, pairOf(line)].map(async (each) => {
        const answer = await send(SESSION, { cookie: each })
        return answer.status === 200 ? ((await answer.json()) as Session).csrf_token : undefined
      })
    )
    assert.ok(next)
    assert.notEqual(next, old, 'the session has another id')
  }
})

test('IA-38 the cookie of a session that was signed out is refused', async (t) => {
  const { gateway, cookie, send } = await start(t)
  const page = await (await send('/auth/session')).text()
  const [, csrf] = /name="csrf" value="([^"]+)"/.exec(page)!
  const wrong = await send('/auth/logout', { method: 'POST', body: new URLSearchParams({ csrf: 'x' }).toString() })
  assert.notEqual(wrong.status, 200)
  assert.equal((await send(SESSION)).status, 200, 'a forged form signs nobody out')
  const out = await fetch(`${gateway.url}/auth/logout`, {
    method: 'POST',
    headers: { cookie },
    body: new URLSearchParams({ csrf: csrf! })
  })
  assert.equal(out.status, 200)
  assert.match(lineOf(out)!, /^towpath=; .*Max-Age=0/)
  assert.equal((await send(SESSION)).status, 401)
})

test('a page reads who is signed in, and changes nothing without the token of the session', async (t) => {
  const { gateway, send } = await start(t)
  const answer = await send(SESSION)
  const session = (await answer.json()) as Session
  assert.deepEqual([session.name, session.role, session.method], ['admin', 'admin', 'break_glass'])
  assert.ok(Date.parse(session.expires_at) - Date.now() <= HOUR)
  assert.equal(answer.headers.get('cache-control'), 'no-store')
  const { body: account } = { body: (await (await send('/api/v0/me')).json()) as object }
  assert.deepEqual(account, {
    name: 'admin',
    role: 'admin',
    sign_in: { kind: 'session', expires_at: session.expires_at }
  })
  const create = (headers: object) =>
    send('/api/v0/policies', {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ name: 'one', effect: 'allow', everyone: true })
    })
  const other = pairOf(lineOf(await breakGlass(gateway))!)
  const foreign = (await (await send(SESSION, { cookie: other })).json()) as Session
  for (const headers of [{}, { 'x-towpath-csrf': 'x' }, { 'x-towpath-csrf': foreign.csrf_token }]) {
    assert.equal((await create(headers)).status, 403)
  }
  assert.equal((await create({ 'x-towpath-csrf': session.csrf_token })).status, 201)
  const token = await fetch(gateway.url + SESSION, { headers: { authorization: `Bearer ${ADMIN}` } })
  assert.equal(token.status, 404)
  const both = await send(SESSION, { headers: { authorization: `Bearer ${ADMIN}` } })
  assert.equal(both.status, 404, 'the token counts')
})

test('a session lasts while it is used, for twelve hours without use and for seven days in all', async (t) => {
  const began = Date.now()
  t.mock.timers.enable({ apis: ['Date'], now: began })
  // somebody of the provider would have to sign in each day, so that the groups are read
  const gateway = await startSignInGateway(t, { env: { TOWPATH_LOCAL_SIGN_IN: 'on' } })
  const browser = createBrowser()
  const invited = await gateway.api('POST', '/users/carol/invite', {})
  const password = 'a long enough password'
  await browser.submit(await browser.open(invited.body.url as string), { password, repeated: password })
  const signInLocally = async () =>
    browser.submit(await browser.open(`${gateway.url}/auth/local`), { name: 'carol', password })
  await signInLocally()
  const at = (hours: number) => t.mock.timers.setTime(began + hours * HOUR)
  const open = async () => (await browser.open(gateway.url + SESSION)).status
  assert.equal(await open(), 200)
  for (let hours = 11; hours < 168; hours += 11) {
    at(hours)
    assert.equal(await open(), 200, `after ${hours} hours`)
  }
  at(169)
  assert.equal(await open(), 401)

  at(200)
  await signInLocally()
  assert.equal(await open(), 200)
  at(213)
  assert.equal(await open(), 401)
})

test(
  'the cookie of a session is renewed with an answer of another replica, and not with each',
  { skip: needs('PostgreSQL', engines.includes('postgres')) },
  async (t) => {
    t.mock.timers.enable({ apis: ['Date'], now: Date.now() })
    const gateway = await startSignInGateway(t, { engine: 'postgres' })
    const replica = await addReplica(t, gateway)
    const cookie = pairOf(lineOf(await breakGlass(gateway))!)
    await until('the replica to know the administrator', async () => (await replica.api('GET', '/me')).status === 200)
    const send = ({ url }: SignInGateway, value: string) => fetch(url + SESSION, { headers: { cookie: value } })
    assert.equal(lineOf(await send(replica, cookie)), undefined)
    t.mock.timers.setTime(Date.now() + HOUR / 10)
    const renewed = lineOf(await send(replica, cookie))!
    assert.match(renewed, /^towpath=[\w-]+; Path=\/; HttpOnly; SameSite=Lax$/)
    const next = await send(gateway, pairOf(renewed))
    assert.deepEqual([next.status, lineOf(next)], [200, undefined])
  }
)

for (const hours of [1, -1]) {
  test(`ending the sign-ins of a user ends those before and none after, with a clock that is ${hours} h off`, async (t) => {
    t.mock.timers.enable({ apis: ['Date'], now: Date.now() + hours * HOUR })
    const gateway = await startSignInGateway(t, { engine: 'postgres' })
    const open = async (browser: Browser) => (await browser.open(`${gateway.url}/api/v0/me`)).status
    const call = async (token: string) => {
      const headers = { authorization: `Bearer ${token}` }
      return (await fetch(`${gateway.url}/api/v0/me`, { headers })).status
    }
    const enter = async () => {
      const browser = createBrowser()
      await signIn(browser, `${gateway.url}/auth/session`, 'alice')
      const token = await signInCommandLine(gateway, 'towpath:read')
      assert.deepEqual([await open(browser), await call(token)], [200, 200])
      return { browser, token }
    }
    for (let round = 0; round < 2; round++) {
      const { browser, token } = await enter()
      assert.equal((await gateway.api('DELETE', '/users/alice/sessions')).status, 204)
      assert.deepEqual([await open(browser), await call(token)], [401, 401])
    }
    await enter()
  })
}
