import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { sql } from 'kysely'
import {
  createLocalAccountRepository,
  createLocalAccountStore,
  signInFailureExpiry
} from '../../src/registry/local-accounts.ts'
import { deleteExpired } from '../../src/registry/logs/expiry.ts'
import type { WriteContext } from '../../src/registry/repositories/context.ts'
import { openStore } from '../../src/registry/store/store.ts'
import { createBrowser, type Browser, type Page } from '../fixtures/identity-provider/browser.ts'
import {
  addServer,
  ADMIN,
  allowEverybody,
  connectClient,
  listTools,
  signIn,
  startSignInGateway,
  type SignInGateway
} from '../fixtures/identity-provider/gateway.ts'
import { someFor } from '../matrix.ts'
import { addCleanup, engines, freshPlace, type Engine } from '../store.ts'
import { limits, quiet } from '../templates.ts'
import { until } from '../until.ts'

const PASSWORD = 'a long enough password'
const on = { TOWPATH_LOCAL_SIGN_IN: 'on' }
const withoutProvider = {
  ...on,
  TOWPATH_OIDC_ISSUER: '',
  TOWPATH_OIDC_CLIENT_ID: '',
  TOWPATH_OIDC_CLIENT_SECRET: ''
}

const inviteTo = async ({ api }: SignInGateway, name: string, body: object = {}): Promise<string> => {
  const invited = await api('POST', `/users/${name}/invite`, body)
  assert.equal(invited.status, 201, JSON.stringify(invited.body))
  return (invited.body as { url: string }).url
}

const setPassword = async (browser: Browser, url: string, password: string, repeated = password): Promise<Page> =>
  browser.submit(await browser.open(url), { password, repeated })

const signInLocally = async ({ url }: SignInGateway, browser: Browser, name: string, password: string) =>
  browser.submit(await browser.open(`${url}/auth/local`), { name, password })

/** Invites a person, who sets a password and signs in. */
async function addPerson(gateway: SignInGateway, name: string, browser = createBrowser()): Promise<Browser> {
  const form = await setPassword(browser, await inviteTo(gateway, name), PASSWORD)
  assert.equal(form.url.pathname, '/auth/local')
  const page = await signInLocally(gateway, browser, name, PASSWORD)
  assert.equal(page.url.pathname, '/auth/session', page.text)
  return browser
}

const sessionStatus = async ({ url }: SignInGateway, browser: Browser) =>
  (await browser.open(`${url}/api/v0/me`)).status

async function auditedActions({ api }: SignInGateway, isThere: (rows: readonly string[]) => boolean) {
  const rows = await until('the audit rows', async () => {
    const { body } = await api('GET', '/audit?limit=200')
    const { entries } = body as { entries: readonly { action: string; target: string; actor: string }[] }
    const found = entries.map(({ action, target, actor }) => `${action} ${target} by ${actor}`)
    return isThere(found) ? found : undefined
  })
  return rows!
}

for (const engine of someFor('an invitation', engines)) {
  test(`an invited person sets a password, signs in, and lets a client in, without an identity provider (${engine})`, async (t) => {
    const gateway = await startSignInGateway(t, { engine, env: withoutProvider })
    await addServer(t, gateway)
    await allowEverybody(gateway)
    const invited = await gateway.api('POST', '/users/carol/invite', {})
    assert.deepEqual([invited.body.name, invited.body.role, invited.body.created], ['carol', 'user', true])
    const hours = (Date.parse(invited.body.expires_at as string) - Date.now()) / 3_600_000
    assert.ok(hours > 47 && hours <= 48.1, `the link works for ${hours} hours`)
    const link = invited.body.url as string

    const browser = createBrowser()
    const short = await setPassword(browser, link, 'too short')
    assert.deepEqual([short.status, /at least 12 characters\./.test(short.text)], [400, true])
    const different = await setPassword(browser, link, PASSWORD, `${PASSWORD}!`)
    assert.deepEqual([different.status, /passwords differ/.test(different.text)], [400, true])
    await setPassword(browser, link, PASSWORD)
    assert.equal((await browser.open(link)).status, 400, 'the link works once')

    const wrong = await signInLocally(gateway, browser, 'carol', 'another long password')
    assert.equal(wrong.status, 403)
    assert.equal(await sessionStatus(gateway, browser), 401)
    const session = await signInLocally(gateway, browser, 'carol', PASSWORD)
    assert.match(session.text, /You are signed in[\s\S]*carol/)
    const { body: carol } = await gateway.api('GET', '/users/carol')
    assert.equal(carol.last_seen_on, new Date().toISOString().slice(0, 10))
    assert.equal(await sessionStatus(gateway, browser), 200)

    const { tokens, refresh } = await connectClient(gateway, { browser })
    const listed = (await (await listTools(gateway, tokens.access_token)).json()) as { result: { tools: object[] } }
    assert.ok(listed.result.tools.length > 0)
    assert.equal((await refresh()).status, 200)
    const rows = await auditedActions(gateway, (all) => all.includes('session.refused carol by '))
    for (const row of ['user.invite carol by admin', 'user.password carol by carol', 'session.start carol by carol']) {
      assert.ok(rows.includes(row), `${row} is not among ${rows.join(', ')}`)
    }
  })
}

test('with the console an invitation, a sign-in and a sign-out each lead on to it', async (t) => {
  const gateway = await startSignInGateway(t, { env: { ...withoutProvider, TOWPATH_CONSOLE: 'on' } })
  const browser = createBrowser()
  const form = await setPassword(browser, await inviteTo(gateway, 'carol'), PASSWORD)
  assert.match(form.text, /Your password is set/)
  const isConsole = ({ pathname }: URL) => pathname === '/console/'
  const there = await browser.submit(form, { name: 'carol', password: PASSWORD }, { stopsAt: isConsole })
  assert.equal(there.url.pathname, '/console/')
  const session = await browser.open(`${gateway.url}/auth/session`)
  assert.match(session.text, /href="\/console\/"/)
  const out = await browser.submit(session, {})
  assert.match(out.text, /You are signed out[\s\S]*href="\/auth\/login\?return=%2Fconsole%2F"/)
})

test('ten wrong passwords pause a name, whether somebody has it or not, with the same answers', async (t) => {
  const gateway = await startSignInGateway(t, { env: withoutProvider })
  await addPerson(gateway, 'carol')
  const answers = async (name: string) => {
    const browser = createBrowser()
    const pages: Page[] = []
    for (let i = 0; i < 11; i++) pages.push(await signInLocally(gateway, browser, name, 'a wrong password'))
    return pages.map(({ status, text, headers }) => ({ status, text, hasPause: headers.has('retry-after') }))
  }
  const known = await answers('carol')
  assert.deepEqual(
    known.map(({ status }) => status),
    [...Array<number>(10).fill(403), 429]
  )
  assert.equal(known.at(-1)!.hasPause, true)
  assert.deepEqual(await answers('nobody'), known)
  const right = await signInLocally(gateway, createBrowser(), 'carol', PASSWORD)
  assert.equal(right.status, 429, 'the right password does not end the pause')
})

async function openAccounts(t: TestContext, engine: Engine) {
  const store = await openStore({ ...limits, ...quiet, ...(await freshPlace(t, engine)) })
  addCleanup(t, () => store.close())
  const context = { db: store.db, version: '1', recordEffect() {} } as unknown as WriteContext
  return { db: store.db, accounts: createLocalAccountStore(store.db), write: createLocalAccountRepository(context) }
}

for (const engine of someFor('failures', engines)) {
  test(`failures are counted by name and network, and forgotten after 15 minutes or a sign-in (${engine})`, async (t) => {
    const { db, accounts } = await openAccounts(t, engine)
    const count = async (name: string, network: string, times: number) => {
      const pauses: boolean[] = []
      for (let i = 0; i < times; i++) pauses.push((await accounts.countAttempt(name, network)) !== undefined)
      return pauses.filter((isPaused) => isPaused).length
    }
    assert.equal(await count('carol', '192.0.2.1', 14), 4)
    assert.equal(await count('carol', '192.0.2.2', 1), 0, 'from elsewhere the person can still sign in')
    assert.equal(await count('dave', '192.0.2.1', 1), 0)
    for (let i = 3; i < 13; i++) await count('carol', `192.0.2.${i}`, 9)
    assert.equal(await count('carol', '192.0.2.99', 1), 1, 'a hundred failures from everywhere pause the name')
    const pause = (await accounts.countAttempt('carol', '192.0.2.1'))!
    assert.ok(pause > 600 && pause <= 900, `${pause} seconds`)

    await sql`update sign_in_failures set until = now() - interval '1 second'`.execute(db)
    assert.equal(await count('carol', '192.0.2.1', 10), 0, 'ten more after the pause')
    await accounts.forgetFailures('carol', '192.0.2.1')
    assert.equal(await count('carol', '192.0.2.1', 11), 1, 'ten more after a sign-in')
    await sql`update sign_in_failures set until = now() - interval '1 second'`.execute(db)
    assert.ok((await deleteExpired(db, signInFailureExpiry)) > 0)
    const { rows } = await sql`select * from sign_in_failures`.execute(db)
    assert.deepEqual(rows, [])
  })

  test(`an invitation that expired or was replaced sets no password (${engine})`, async (t) => {
    const { db, accounts, write } = await openAccounts(t, engine)
    await write.invite('carol', 'auditor', 'first code')
    await write.invite('carol', undefined, 'second code')
    assert.equal(await accounts.findInvited('first code'), undefined)
    assert.equal((await accounts.findInvited('second code'))?.role, 'auditor')
    await assert.rejects(write.invite('carol', 'admin', 'third code'), /has the role auditor/)
    await sql`update invites set expires_at = now() - interval '1 second'`.execute(db)
    assert.equal(await accounts.findInvited('second code'), undefined)
    for (const code of ['first code', 'second code', '']) {
      await assert.rejects(write.setPassword(code, 'a hash'), { statusCode: 400 }, code)
    }
    assert.equal(await accounts.find('carol'), undefined)
  })
}

test('a suspended user can neither sign in with the right password nor use an earlier invitation', async (t) => {
  const gateway = await startSignInGateway(t, { env: withoutProvider })
  const browser = await addPerson(gateway, 'carol')
  const link = await inviteTo(gateway, 'carol')
  assert.equal((await gateway.api('POST', '/users/carol/suspend', {})).status, 200)
  assert.equal(await sessionStatus(gateway, browser), 401)
  const page = await signInLocally(gateway, createBrowser(), 'carol', PASSWORD)
  assert.deepEqual([page.status, /suspended/.test(page.text)], [403, true])
  const wrong = await signInLocally(gateway, createBrowser(), 'carol', 'a wrong password')
  assert.doesNotMatch(wrong.text, /suspended/)
  assert.equal((await gateway.api('POST', '/users/carol/invite', {})).status, 409)
  assert.equal((await gateway.api('POST', '/users/carol/resume', {})).status, 200)
  assert.equal((await createBrowser().open(link)).status, 400, 'the invitation ended with the suspension')
  assert.equal(await sessionStatus(gateway, browser), 401, 'the session stays ended')
  assert.equal((await signInLocally(gateway, browser, 'carol', PASSWORD)).status, 200)
})

test('a new password ends the sign-ins of the old one', async (t) => {
  const gateway = await startSignInGateway(t, { env: withoutProvider })
  const browser = await addPerson(gateway, 'carol')
  const { refresh } = await connectClient(gateway, { browser })
  const again = await setPassword(createBrowser(), await inviteTo(gateway, 'carol'), 'another long password')
  assert.equal(again.status, 200, again.text)
  assert.equal(await sessionStatus(gateway, browser), 401)
  assert.equal((await refresh()).status, 400)
  assert.equal((await signInLocally(gateway, createBrowser(), 'carol', PASSWORD)).status, 403)
  assert.equal((await signInLocally(gateway, browser, 'carol', 'another long password')).status, 200)
})

test('with a provider, people choose how to sign in, and those of the provider get no password', async (t) => {
  const gateway = await startSignInGateway(t, { env: on })
  const { url } = gateway
  const browser = createBrowser()
  const choice = await browser.open(`${url}/auth/login?return=/auth/session`)
  assert.equal(choice.url.pathname, '/auth/local')
  const link = /href="([^"]*with=provider[^"]*)"/.exec(choice.text)![1]!.replaceAll('&amp;', '&')
  const page = await signIn(browser, `${url}${link}`, 'alice')
  assert.match(page.text, /You are signed in[\s\S]*alice/)
  const refused = await gateway.api('POST', '/users/alice/invite', {})
  assert.deepEqual([refused.status, refused.body.error], [409, 'the user "alice" signs in at the identity provider'])
  await addPerson(gateway, 'carol')
})

test('passwords are for gateways that allow them, and forms for pages of the gateway', async (t) => {
  const gateway = await startSignInGateway(t)
  const { url } = gateway
  assert.equal((await gateway.api('POST', '/users/carol/invite', {})).status, 409)
  const post = (fields: Record<string, string>, headers: Record<string, string> = {}) =>
    fetch(`${url}/auth/local`, { method: 'POST', body: new URLSearchParams(fields), headers, redirect: 'manual' })
  assert.equal((await post({ name: 'carol', password: PASSWORD })).status, 404)
  assert.equal((await fetch(`${url}/auth/invite?code=x`)).status, 401, 'there is no such route')
  const foreign = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
  assert.equal((await post({ token: ADMIN }, foreign)).status, 403)
  assert.equal((await post({ token: ADMIN })).status, 303)
})

test('IA-40 users sign in with their static token while the provider is down, for an hour, and nobody else does', async (t) => {
  const gateway = await startSignInGateway(t)
  const { url, api } = gateway
  const alice = await connectClient(gateway)
  const made = await api('POST', '/users', { name: 'dev' })
  await gateway.idp.close()

  const browser = createBrowser()
  await assert.rejects(browser.open(`${url}/auth/login`), 'the browser is sent to the provider')
  const submit = async (token: string) => browser.submit(await browser.open(`${url}/auth/local`), { token })
  for (const token of ['wrong', alice.tokens.access_token]) {
    assert.equal((await submit(token)).status, 403)
    assert.equal(await sessionStatus(gateway, browser), 401)
  }
  const other = createBrowser()
  const { access_token: token } = made.body as { access_token: string }
  const devPage = await other.submit(await other.open(`${url}/auth/local`), { token })
  assert.match(devPage.text, /You are signed in[\s\S]*dev/)
  const page = await submit(ADMIN)
  assert.match(page.text, /You are signed in[\s\S]*admin/)
  assert.equal(await sessionStatus(gateway, browser), 200)
  const ends = Date.parse(/(\d{4}-\d\d-\d\d \d\d:\d\d) UTC/.exec(page.text)![1]!.replace(' ', 'T') + 'Z')
  assert.ok(ends <= Date.now() + 3_600_000, 'the session ends within an hour')
  await auditedActions(gateway, (rows) => rows.includes('session.break_glass admin by admin'))

  await assert.rejects(connectClient(gateway, { browser }), /lets no program in/)
  assert.equal((await listTools(gateway, ADMIN)).status, 401, 'the token opens no MCP endpoint')
  assert.equal((await listTools(gateway, alice.tokens.access_token)).status, 200, 'tokens go on working')
  assert.equal((await alice.refresh()).status, 200)
})
