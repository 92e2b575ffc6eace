import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { decodeJwt } from 'jose'
import { createBrowser, type Browser, type Page } from '../fixtures/identity-provider/browser.ts'
import {
  createAuthorization,
  postToken,
  signIn,
  startSignInGateway,
  type SignInGateway,
  type Tokens
} from '../fixtures/identity-provider/gateway.ts'
import { someFor } from '../matrix.ts'
import { engines } from '../store.ts'

const GRANT = 'urn:ietf:params:oauth:grant-type:device_code'

interface DeviceAnswer {
  readonly device_code: string
  readonly user_code: string
  readonly verification_uri: string
  readonly verification_uri_complete: string
}

/** Asks for the codes of a machine, as the command line does. */
async function startDevice({ url }: SignInGateway, fields: Record<string, string> = {}): Promise<DeviceAnswer> {
  const body = new URLSearchParams({
    client_id: 'towpath-cli',
    scope: 'towpath:read offline_access',
    resource: `${url}/api`,
    ...fields
  })
  const headers = { 'user-agent': 'towpath/1.0.0 (build-7)' }
  const answer = await fetch(`${url}/oauth/device`, { method: 'POST', headers, body })
  assert.equal(answer.status, 200, await answer.clone().text())
  return (await answer.json()) as DeviceAnswer
}

const poll = (gateway: SignInGateway, code: string, client = 'towpath-cli') =>
  postToken(gateway, { grant_type: GRANT, client_id: client, device_code: code })

async function errorOf(answer: Response): Promise<[number, string]> {
  return [answer.status, ((await answer.json()) as { error: string }).error]
}

/** Starts a gateway, with a browser in which alice is signed in. */
async function start(t: TestContext) {
  const gateway = await startSignInGateway(t)
  const browser = createBrowser()
  await signIn(browser, `${gateway.url}/auth/login`, 'alice')
  return { gateway, browser }
}

const answer = (browser: Browser, page: Page, value: 'allow' | 'refuse') => browser.submit(page, { answer: value })

for (const engine of someFor('a device', engines)) {
  test(`a machine without a browser is signed in by a person who confirms its code (${engine})`, async (t) => {
    const gateway = await startSignInGateway(t, { engine })
    const { url } = gateway
    const metadata = (await (await fetch(`${url}/.well-known/oauth-authorization-server`)).json()) as any
    assert.equal(metadata.device_authorization_endpoint, `${url}/oauth/device`)
    assert.equal(metadata.revocation_endpoint, `${url}/oauth/revoke`)
    const codes = await startDevice(gateway)
    assert.equal(codes.verification_uri, `${url}/oauth/device/code`)
    const browser = createBrowser()
    const page = await signIn(browser, codes.verification_uri_complete, 'alice')
    assert.equal(page.status, 200, page.text)
    for (const text of [codes.user_code, 'build-7', '127.0.0.1', 'alice', 'Did you start this on build-7?']) {
      assert.ok(page.text.includes(text), `${text}: ${page.text}`)
    }
    assert.match(page.headers.get('content-security-policy')!, /frame-ancestors 'none'/)
    const done = await answer(browser, page, 'allow')
    assert.match(done.text, /The machine is signed in/)
    const granted = await poll(gateway, codes.device_code)
    const tokens = (await granted.json()) as Tokens
    assert.equal(granted.status, 200, JSON.stringify(tokens))
    assert.equal(decodeJwt(tokens.access_token).aud, `${url}/api`)
    const headers = { authorization: `Bearer ${tokens.access_token}` }
    const me = (await (await fetch(`${url}/api/v0/users/whoami`, { headers })).json()) as { name: string }
    assert.equal(me.name, 'alice')
    const fields = { client_id: 'towpath-cli', grant_type: 'refresh_token', refresh_token: tokens.refresh_token }
    assert.equal((await postToken(gateway, fields)).status, 200)
    assert.match(JSON.stringify((await gateway.api('GET', '/audit')).body), /"oauth.consent"/)
  })
}

test('IA-41 a machine is told to wait, to slow down, and that it was refused', async (t) => {
  const { gateway, browser } = await start(t)
  const { device_code: code, verification_uri_complete: link } = await startDevice(gateway)
  assert.deepEqual(await errorOf(await poll(gateway, code)), [400, 'authorization_pending'])
  // on a busy machine a request may come late enough
  for (let i = 0; i < 20; i++) {
    const [, error] = await errorOf(await poll(gateway, code))
    if (error === 'slow_down') break
    assert.deepEqual([error, i < 19], ['authorization_pending', true])
  }

  const refused = await startDevice(gateway)
  const page = await answer(browser, await browser.open(refused.verification_uri_complete), 'refuse')
  assert.match(page.text, /It was refused/)
  assert.deepEqual(await errorOf(await poll(gateway, refused.device_code)), [400, 'access_denied'])
  const again = await browser.open(refused.verification_uri_complete)
  assert.deepEqual([again.status, /was used before/.test(again.text)], [400, true])

  const first = await browser.open(link)
  const second = await browser.open(link)
  assert.match((await answer(browser, first, 'allow')).text, /The machine is signed in/)
  assert.equal((await answer(browser, second, 'refuse')).status, 400)
})

test('IA-41 a machine whose code has expired is told so, and the code is no longer accepted', async (t) => {
  const { gateway, browser } = await start(t)
  const { device_code: code, verification_uri_complete: link } = await startDevice(gateway)
  const page = await browser.open(link)
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 601_000 })
  assert.deepEqual(await errorOf(await poll(gateway, code)), [400, 'expired_token'])
  assert.equal((await browser.open(link)).status, 400)
  assert.equal((await answer(browser, page, 'allow')).status, 400)
})

test('IA-41 who guesses codes a hundred times is locked out, also with the right code', async (t) => {
  const { gateway, browser } = await start(t)
  const { user_code: code, verification_uri: link } = await startDevice(gateway)
  const statuses = await Promise.all(
    Array.from({ length: 100 }, async (_, i) => {
      const guess = `${'BCDFGHJKLM'[i % 10]}${'BCDFGHJKLM'[Math.floor(i / 10)]}BB-BBBB`
      return (await browser.open(`${link}?user_code=${guess}`)).status
    })
  )
  assert.deepEqual([statuses.filter((status) => status === 400).length, statuses.at(-1)], [10, 429])
  const right = await browser.open(`${link}?user_code=${code}`)
  assert.equal(right.status, 429)
  assert.ok(Number(right.headers.get('retry-after')) > 0)
})

test('the page for codes asks for a sign-in first, and its form is bound to the session and the code', async (t) => {
  const { gateway, browser } = await start(t)
  const [one, two] = [await startDevice(gateway), await startDevice(gateway)]
  const stranger = await createBrowser().open(one.verification_uri_complete)
  assert.ok(stranger.url.href.startsWith(gateway.idp.issuer), stranger.url.href)
  const empty = await browser.open(one.verification_uri)
  assert.match(empty.text, /Type the code/)
  const page = await browser.submit(empty, { user_code: one.user_code.toLowerCase().replace('-', ' ') })
  assert.match(page.text, /build-7/)
  const swapped = await browser.submit(page, { user_code: two.user_code, answer: 'allow' })
  assert.equal(swapped.status, 403)
  const bob = createBrowser()
  await signIn(bob, `${gateway.url}/auth/login`, 'bob')
  assert.equal((await bob.submit(page, { answer: 'allow' })).status, 403)
  assert.deepEqual(await errorOf(await poll(gateway, two.device_code)), [400, 'authorization_pending'])
})

test('the client of the command line gets tokens for the REST interface only', async (t) => {
  const { gateway } = await start(t)
  const fields = { client_id: 'towpath-cli', scope: 'mcp', resource: `${gateway.url}/mcp` }
  const refused = await fetch(`${gateway.url}/oauth/device`, { method: 'POST', body: new URLSearchParams(fields) })
  assert.equal(refused.status, 400)
  const { url: link } = createAuthorization(gateway, 'towpath-cli', { redirect_uri: 'http://127.0.0.1:9/other' })
  const page = await createBrowser().open(link)
  assert.deepEqual([page.url.href, page.status], [link, 400])
})
