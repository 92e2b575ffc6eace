import assert from 'node:assert/strict'
import { createServer, type AddressInfo } from 'node:net'
import { networkInterfaces } from 'node:os'
import { test, type TestContext } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { createBrowser, type Page } from '../fixtures/identity-provider/browser.ts'
import { addClientHost, clientDocument } from '../fixtures/identity-provider/client-documents.ts'
import {
  connectClient,
  createAuthorization,
  postToken,
  REDIRECT,
  signIn,
  startSignInGateway,
  type SignInGateway
} from '../fixtures/identity-provider/gateway.ts'
import { addCleanup } from '../store.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const APP = 'https://client.test/app.json'

/** Opens an authorization request in a fresh browser until it leaves the gateway. */
async function authorize(gateway: SignInGateway, clientId: string, redirectUri = REDIRECT): Promise<Page> {
  const { url } = createAuthorization(gateway, clientId, { redirect_uri: redirectUri })
  for (let attempt = 0; ; attempt++) {
    const page = await createBrowser().open(url, (to) => !to.href.startsWith(gateway.publicUrl))
    // a jump of the clock looks like an overloaded process for a while
    if (page.status !== 503 || attempt === 100) return page
    await setTimeout(100)
  }
}

function assertLetIn({ url, status, text }: Page, { idp }: SignInGateway, about: string): void {
  assert.ok(url.href.startsWith(idp.issuer), `${about}: ${status} at ${url.href}: ${text}`)
}

/** Starts a gateway whose clocks the test moves on. */
async function startWithClock(t: TestContext) {
  // a jump of the clocks must count neither as time without the database nor as overload
  const env = { TOWPATH_STALE_LIMIT: '0', TOWPATH_EVENT_LOOP_LAG_MS: String(24 * HOUR) }
  const gateway = await startSignInGateway(t, { env })
  // makes the signing key, which must not be newer than the clock
  assert.equal((await fetch(`${gateway.url}/oauth/jwks`)).status, 200)
  const began = Date.now() + 1_000
  t.mock.timers.enable({ apis: ['Date'], now: began })
  const now = performance.now.bind(performance)
  t.mock.method(performance, 'now', () => now() + Date.now() - began)
  return { gateway, began, ...addClientHost(gateway) }
}

/** Asserts that a request ends on a page of the gateway, which says why. */
function assertRefusedHere({ url, status, text }: Page, { publicUrl }: SignInGateway, reason: RegExp): void {
  assert.deepEqual([url.href.startsWith(publicUrl), status], [true, 400], url.href)
  assert.match(text, /The sign-in cannot go on/)
  assert.match(text, reason)
}

test('IA-18 a redirect URI that a document has lost is refused after its HTTP cache time, 5 minutes to 24 hours', async (t) => {
  const { gateway, began, answers, reads } = await startWithClock(t)
  const lost = 'https://client.test/lost'
  const lives: [name: string, headers: Record<string, string>, ms: number][] = [
    ['none', {}, 5 * MINUTE],
    ['no-store', { 'cache-control': 'no-store' }, 5 * MINUTE],
    ['short', { 'cache-control': 'public, max-age=1' }, 5 * MINUTE],
    ['hour', { 'cache-control': 'max-age=3600' }, HOUR],
    ['expires', { expires: new Date(began + 2 * HOUR).toUTCString() }, 2 * HOUR],
    ['month', { 'cache-control': 'max-age=2592000' }, 24 * HOUR]
  ]
  const idOf = (name: string) => `https://client.test/${name}.json`
  const serve = (redirectUris: readonly string[]) => {
    for (const [name, headers] of lives) {
      const document = clientDocument(idOf(name), { redirect_uris: redirectUris })
      answers.set(idOf(name), () => Response.json(document, { headers }))
    }
  }
  serve([REDIRECT, lost])
  for (const [name] of lives) assertLetIn(await authorize(gateway, idOf(name), lost), gateway, name)
  serve([REDIRECT])
  for (const [name, , ms] of lives) {
    t.mock.timers.setTime(began + ms - 2 * MINUTE)
    assertLetIn(await authorize(gateway, idOf(name), lost), gateway, `${name}: it is read too early`)
    t.mock.timers.setTime(began + ms + 1_000)
    assertRefusedHere(await authorize(gateway, idOf(name), lost), gateway, /redirect_uri/)
    assertLetIn(await authorize(gateway, idOf(name)), gateway, name)
  }
  assert.deepEqual(
    reads,
    [...lives, ...lives].map(([name]) => idOf(name))
  )
})

test('IA-12 a client with a document gets in on any loopback port', async (t) => {
  const gateway = await startSignInGateway(t)
  const { answers, reads } = addClientHost(gateway)
  const port = new URL(REDIRECT).port
  for (const redirect of ['http://127.0.0.1/callback', 'http://127.0.0.1:33418/callback']) {
    assert.ok(!redirect.includes(`:${port}/`))
    const id = `https://client.test/${new URL(redirect).port}.json`
    answers.set(id, () => Response.json(clientDocument(id, { redirect_uris: [redirect] })))
    const { tokens, consent, refresh } = await connectClient(gateway, { clientId: id })
    assert.equal(tokens.scope, 'mcp')
    assert.match(consent.text, /A client with a document/)
    assert.match(consent.text, /client\.test/, 'the page shows whose document it is')
    assert.equal((await refresh()).status, 200)
    assert.deepEqual(reads.splice(0), [id], 'it is read once')
  }
})

test('PO-08 the document of a client can name scopes of policies, and others, which are left out', async (t) => {
  const gateway = await startSignInGateway(t)
  const { answers } = addClientHost(gateway)
  answers.set(APP, () => Response.json(clientDocument(APP, { scope: 'mcp mcp:write openid profile' })))
  const rule = { name: 'writes', effect: 'allow', everyone: true, require_scopes: ['mcp:write'] }
  assert.equal((await gateway.api('POST', '/policies', rule)).status, 201)
  const { tokens } = await connectClient(gateway, { clientId: APP, request: { scope: 'mcp mcp:write' } })
  assert.equal(tokens.scope, 'mcp mcp:write')
})

test('the page of a refused document says why, and the document is not read again at once', async (t) => {
  const gateway = await startSignInGateway(t)
  const { answers, reads } = addClientHost(gateway)
  const refusals: [answer: (id: string) => Response, reason: RegExp][] = [
    [() => Response.json(clientDocument(APP)), /must be exactly its URL/],
    [(id) => Response.json(clientDocument(id, { client_name: undefined })), /client_name.{0,10} is missing/],
    [(id) => Response.json(clientDocument(id, { redirect_uris: ['gopher://x/'] })), /scheme .{0,10}gopher/],
    [(id) => Response.json(clientDocument(id, { client_secret: 'x' })), /must not contain client_secret/],
    [() => new Response('<script>alert(1)</script>'), /is not JSON/],
    [() => Response.redirect('https://client.test/new.json', 302), /its status is 302/],
    [() => assert.fail('connect ECONNREFUSED 203.0.113.9:443'), /it cannot be read/]
  ]
  for (const [i, [answer, reason]] of refusals.entries()) {
    const id = `${APP}?${i}`
    answers.set(id, () => answer(id))
    for (let attempt = 0; attempt < 2; attempt++) assertRefusedHere(await authorize(gateway, id), gateway, reason)
    assert.deepEqual(reads.splice(0), [id], String(reason))
  }
})

test('a client goes on while its host is down, and has to sign in again once the host says that it is gone', async (t) => {
  const { gateway, answers, reads } = await startWithClock(t)
  answers.set(APP, () => Response.json(clientDocument(APP)))
  const { tokens } = await connectClient(gateway, { clientId: APP })
  let { refresh_token } = tokens
  const refresh = (id: string) => postToken(gateway, { client_id: id, grant_type: 'refresh_token', refresh_token })
  const errorOf = async (answer: Response) => ((await answer.json()) as { error: string }).error

  answers.delete(APP)
  t.mock.timers.tick(6 * MINUTE)
  const renewed = await refresh(APP)
  assert.equal(renewed.status, 200, await renewed.clone().text())
  ;({ refresh_token } = (await renewed.json()) as typeof tokens)
  assert.equal(reads.length, 2, 'the host was asked')
  // one that was never read gets an answer that does not make it forget its tokens
  assert.equal(await errorOf(await refresh(`${APP}?never`)), 'temporarily_unavailable')
  answers.set(`${APP}?gone`, () => new Response(null, { status: 410 }))
  assert.equal(await errorOf(await refresh(`${APP}?gone`)), 'invalid_client')
})

test('a consent page says so if the document of its client has become bad meanwhile', async (t) => {
  const { gateway, answers } = await startWithClock(t)
  answers.set(APP, () => Response.json(clientDocument(APP)))
  const browser = createBrowser()
  const consent = await signIn(browser, createAuthorization(gateway, APP).url, 'alice')
  assert.match(consent.text, /A client with a document/)
  answers.set(APP, () => new Response(null, { status: 404 }))
  t.mock.timers.tick(6 * MINUTE)
  const again = await browser.open(consent.url)
  assertRefusedHere(again, gateway, /its document cannot be read now/)
  const isElsewhere = (to: URL) => !to.href.startsWith(gateway.publicUrl)
  const submitted = await browser.submit(consent, { answer: 'allow' }, { stopsAt: isElsewhere })
  assertRefusedHere(submitted, gateway, /its status is 404/)
})

test('no connection is made to a document on loopback or in a private network', async (t) => {
  const gateway = await startSignInGateway(t)
  let connections = 0
  const server = createServer((socket) => {
    connections++
    socket.destroy()
  })
  await new Promise<void>((resolve) => server.listen(0, resolve))
  addCleanup(t, () => server.close())
  const { port } = server.address() as AddressInfo
  const own = Object.values(networkInterfaces()).flatMap((all) => all ?? [])
  const addresses = own.filter(({ internal, family }) => !internal && family === 'IPv4').map(({ address }) => address)
  const isPrivate = (address: string) => /^(?:10|192\.168|172\.(?:1[6-9]|2\d|3[01]))\./.test(address)
  const hosts = ['127.0.0.1', 'localhost', '[::1]', '2130706433', '[::ffff:7f00:1]', ...addresses.filter(isPrivate)]
  for (const host of hosts) {
    const page = await authorize(gateway, `https://${host}:${port}/app.json`)
    assertRefusedHere(page, gateway, /it cannot be read/)
  }
  assert.equal(connections, 0)
})
