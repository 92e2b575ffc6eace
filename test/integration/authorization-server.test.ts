import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeJwt } from 'jose'
import { createBrowser, type Page } from '../fixtures/identity-provider/browser.ts'
import {
  connectClient,
  createAuthorization,
  listTools,
  postToken,
  REDIRECT,
  registerClient,
  signIn,
  startSignInGateway,
  type SignInGateway,
  type Tokens
} from '../fixtures/identity-provider/gateway.ts'
import { administer } from '../templates.ts'
import { until } from '../until.ts'

type Changes = Readonly<Record<string, string | undefined>>

const errorOf = async (answer: Response) => ((await answer.json()) as { error: string }).error

/** Opens an authorization request in a fresh browser until it leaves the gateway for the provider or the client. */
async function authorize(gateway: SignInGateway, clientId: string, changes: Changes = {}): Promise<Page> {
  const { url } = createAuthorization(gateway, clientId, changes)
  const hasLeft = (to: URL) => !to.href.startsWith(gateway.publicUrl)
  return createBrowser().open(url, hasLeft)
}

/** Asserts that a request is refused on a page of the gateway: nothing is sent to an address that was not checked. */
function assertRefusedHere({ url, status, text }: Page, gateway: SignInGateway, name: string): void {
  assert.ok(url.href.startsWith(gateway.publicUrl), `${name}: ${url.href}`)
  assert.equal(status, 400, name)
  assert.match(text, /The sign-in cannot go on/, name)
}

const reachesSignIn = ({ url }: Page, gateway: SignInGateway) => url.href.startsWith(gateway.idp.issuer)

test('IA-07 a request that names neither scope nor endpoint gets the scope of MCP, at the endpoint of all tools', async (t) => {
  const gateway = await startSignInGateway(t)
  const { tokens, consent } = await connectClient(gateway, { request: { resource: undefined } })
  const { aud, scope } = decodeJwt<{ scope: string }>(tokens.access_token)
  assert.deepEqual([aud, scope, tokens.scope], [`${gateway.url}/mcp`, 'mcp', 'mcp'])
  assert.match(consent.text, /use the tools, prompts and resources that you may use/)
  assert.equal((await listTools(gateway, tokens.access_token)).status, 200)
  const other = await connectClient(gateway, { request: { scope: 'mcp offline_access' } })
  assert.ok(other.tokens.refresh_token)
  const none = await connectClient(gateway, { request: { scope: '' } })
  assert.equal(none.tokens.scope, 'mcp')
})

test('no hook on promises is left switched on after a sign-in', async (t) => {
  const { default: contexts } = (await import(
    // @ts-expect-error the types of the library do not cover this file
    'oidc-provider/lib/helpers/als.js'
  )) as { default: { enabled?: boolean; run: (store: object, work: () => void) => void; disable: () => void } }
  contexts.run({}, () => {})
  // Node.js 24 has no hooks that cost anything, and no such property
  assert.equal(contexts.enabled, Number(process.versions.node.split('.')[0]) < 24 ? true : undefined)
  contexts.disable()
  const gateway = await startSignInGateway(t)
  const { tokens } = await connectClient(gateway, {})
  assert.equal((await listTools(gateway, tokens.access_token)).status, 200)
  assert.notEqual(contexts.enabled, true)
})

/** Returns where the link of an error page leads: nobody is sent to the address of a client before the consent. */
function backLinkOf({ url, status, text }: Page, { publicUrl }: SignInGateway): URL {
  assert.deepEqual([url.href.startsWith(`${publicUrl}/`), status], [true, 400], url.href)
  const href = /<a class="button" href="([^"]+)"/.exec(text)?.[1]?.replaceAll('&amp;', '&')
  assert.ok(href !== undefined && href.startsWith(REDIRECT), text)
  return new URL(href)
}

test('IA-08 tokens are issued for endpoints of this gateway only, whatever the spelling', async (t) => {
  const gateway = await startSignInGateway(t)
  const { url } = gateway
  const { port } = new URL(url)
  const clientId = await registerClient(gateway)
  const refused = [
    'https://other.example/mcp',
    `${url}/mcp#fragment`,
    `${url}/mcp?query=1`,
    `${url}/api/v0/servers`,
    `${url}/mcp/../api`,
    `${url}.other.example/mcp`,
    `http://user@127.0.0.1:${port}/mcp`,
    `http://127.0.0.1:${port}1/mcp`,
    `${url}/v0/groups/a%2Fb/mcp`,
    'urn:example:mcp'
  ]
  for (const resource of refused) {
    const page = await authorize(gateway, clientId, { resource })
    const back = backLinkOf(page, gateway)
    assert.equal(back.searchParams.get('error'), 'invalid_target', resource)
    assert.equal(back.searchParams.get('iss'), url, 'errors name their issuer too')
  }
  const accepted = {
    [`${url}/mcp/`]: `${url}/mcp`,
    [`HTTP://127.0.0.1:${port}/mcp`]: `${url}/mcp`,
    [url]: `${url}/mcp`,
    [`${url}/v0/groups/team/mcp`]: `${url}/v0/groups/team/mcp`
  }
  for (const [resource, audience] of Object.entries(accepted)) {
    const { tokens } = await connectClient(gateway, { clientId, request: { resource } })
    assert.equal(decodeJwt(tokens.access_token).aud, audience, resource)
  }
  // the token endpoint gives no more than was consented to
  const { refresh, tokens } = await connectClient(gateway, { clientId })
  assert.equal((await refresh()).status, 200)
  const fields = { client_id: clientId, grant_type: 'refresh_token', refresh_token: tokens.refresh_token }
  for (const resource of [`${url}/api`, `${url}/sse`, 'https://other.example']) {
    const other = await connectClient(gateway, { clientId })
    const wrong = await postToken(gateway, { ...fields, refresh_token: other.tokens.refresh_token, resource })
    assert.equal(wrong.status, 400, resource)
    assert.equal(await errorOf(wrong), 'invalid_target')
  }
})

test('IA-10 a code needs its verifier, its client and its redirect URI, and counts once', async (t) => {
  const gateway = await startSignInGateway(t)
  const clientId = await registerClient(gateway)
  for (const [name, changes] of Object.entries({
    'no PKCE': { code_challenge: undefined, code_challenge_method: undefined },
    plain: { code_challenge_method: 'plain' },
    'no method': { code_challenge_method: undefined }
  })) {
    const page = await authorize(gateway, clientId, changes)
    assert.equal(backLinkOf(page, gateway).searchParams.get('error'), 'invalid_request', name)
  }
  /** Lets the client in up to the code. */
  const codeOf = async () => {
    const { url, verifier } = createAuthorization(gateway, clientId)
    const consent = await signIn(createBrowser(), url, 'alice')
    return { consent, verifier }
  }
  assert.equal((await codeOf()).consent.status, 200)
  const other = await registerClient(gateway)
  const wrong: Record<string, Record<string, string>> = {
    'another verifier': { code_verifier: 'a'.repeat(43) },
    'no verifier': { code_verifier: '' },
    'another client': { client_id: other },
    'another redirect URI': { redirect_uri: 'http://127.0.0.1:9/other' }
  }
  for (const [name, changes] of Object.entries(wrong)) {
    const { code, verifier } = await letIn(gateway, clientId)
    const fields = { client_id: clientId, redirect_uri: REDIRECT, code, code_verifier: verifier, ...changes }
    const answer = await postToken(gateway, { grant_type: 'authorization_code', ...fields })
    assert.equal(answer.status, 400, name)
    assert.equal(await errorOf(answer), 'invalid_grant', name)
  }
  const { code, verifier, tokens, refresh } = await connectClient(gateway, { clientId })
  assert.equal((await listTools(gateway, tokens.access_token)).status, 200)
  const fields = { client_id: clientId, redirect_uri: REDIRECT, code, code_verifier: verifier }
  const again = await postToken(gateway, { grant_type: 'authorization_code', ...fields })
  assert.equal(await errorOf(again), 'invalid_grant')
  const tokenEnds = async () => (await listTools(gateway, tokens.access_token)).status === 401
  await until('the tokens of the first use end', tokenEnds)
  assert.equal(await errorOf(await refresh()), 'invalid_grant')
})

/** Lets a client in up to the code. */
async function letIn(gateway: SignInGateway, clientId: string) {
  const { url, verifier } = createAuthorization(gateway, clientId)
  const browser = createBrowser()
  const consent = await signIn(browser, url, 'alice')
  const isBack = (to: URL) => to.href.startsWith(REDIRECT)
  const { url: back } = await browser.submit(consent, { answer: 'allow' }, { stopsAt: isBack })
  return { code: back.searchParams.get('code')!, verifier }
}

test('IA-11 a redirect URI that was not registered is refused on a page of the gateway', async (t) => {
  const gateway = await startSignInGateway(t)
  const registered = ['https://app.example/cb', REDIRECT, 'cursor://app/cb']
  const clientId = await registerClient(gateway, { redirect_uris: registered })
  const wrong = [
    'https://app.example/other',
    'https://app.example/cb/',
    'https://app.example/CB',
    'https://app.example/cb?x=1',
    'https://app.example/cb#x',
    'https://app.example/x/../cb',
    'https://app.example:444/cb',
    'https://app.example.evil.example/cb',
    'https://user@app.example/cb',
    'http://app.example/cb',
    'http://evil.example/cb',
    'http://localhost:9/callback',
    'http://127.0.0.1:9/callback/x',
    'http://127.0.0.1:9/callback?x=1',
    'http://127.0.0.1.evil.example:9/callback',
    'cursor://app/other',
    'cursor://evil/cb',
    'javascript:alert(1)',
    '//evil.example/cb',
    '/oauth/callback',
    undefined
  ]
  for (const redirect_uri of wrong) {
    assertRefusedHere(await authorize(gateway, clientId, { redirect_uri }), gateway, String(redirect_uri))
  }
  assertRefusedHere(await authorize(gateway, 'unknown'), gateway, 'unknown client')
  for (const redirect_uri of registered) {
    assert.ok(reachesSignIn(await authorize(gateway, clientId, { redirect_uri }), gateway), redirect_uri)
  }
})

test('IA-11 redirect URIs that a client must not have are refused at its registration', async (t) => {
  const gateway = await startSignInGateway(t)
  const wrong = [
    'http://app.example/cb',
    'https://user:password@app.example/cb',
    'https://app.example/a/../cb',
    'https://app.example/%2e%2e/cb',
    'https://app.example/cb#x',
    'javascript:alert(1)',
    'data:text/html,x',
    'unknown-app://cb',
    'https://app.example/c b',
    `https://app.example/${'x'.repeat(2_100)}`,
    'not a URI',
    42,
    ''
  ]
  const register = (redirect_uris: unknown) =>
    fetch(`${gateway.url}/oauth/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-forwarded-for': '' },
      body: JSON.stringify({ client_name: 'A client', redirect_uris })
    })
  for (const uri of wrong) {
    const answer = await register([uri])
    assert.equal(answer.status, 400, String(uri))
    assert.equal(await errorOf(answer), 'invalid_redirect_uri', String(uri))
  }
  assert.equal((await register([])).status, 400)
  assert.equal((await register(Array.from({ length: 17 }, (_, i) => `https://app.example/${i}`))).status, 400)
})

test('IA-12 IA-13 the clients that people use register as they do, and get in on any loopback port', async (t) => {
  const gateway = await startSignInGateway(t)
  const bodies: Record<string, { redirect_uris: string[]; [member: string]: unknown }> = {
    Claude: {
      redirect_uris: ['https://claude.ai/api/mcp/auth_callback'],
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      scope: 'mcp'
    },
    'Claude Code': {
      redirect_uris: ['http://localhost:51234/callback'],
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code']
    },
    ChatGPT: {
      redirect_uris: ['https://chatgpt.com/connector_platform_oauth_redirect'],
      token_endpoint_auth_method: 'client_secret_post',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      application_type: 'web'
    },
    Cursor: {
      redirect_uris: [
        'cursor://anysphere.cursor-mcp/oauth/callback',
        'https://www.cursor.com/agents/mcp/oauth/callback',
        'http://localhost:8787/callback'
      ],
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code']
    },
    'VS Code': {
      redirect_uris: [
        'https://insiders.vscode.dev/redirect',
        'https://vscode.dev/redirect',
        'http://127.0.0.1/',
        'http://127.0.0.1:33418/'
      ],
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
      response_types: ['code'],
      application_type: 'native',
      client_uri: 'https://code.visualstudio.com'
    }
  }
  for (const [client_name, body] of Object.entries(bodies)) {
    const clientId = await registerClient(gateway, { client_name, ...body })
    for (const redirect_uri of body.redirect_uris) {
      const page = await authorize(gateway, clientId, { redirect_uri })
      assert.ok(reachesSignIn(page, gateway), `${client_name} at ${redirect_uri}: ${page.url.href} ${page.text}`)
    }
    for (const uri of body.redirect_uris.filter((each) => each.startsWith('http:'))) {
      const other = new URL(uri)
      other.port = '54321'
      const page = await authorize(gateway, clientId, { redirect_uri: other.href })
      assert.ok(reachesSignIn(page, gateway), `${client_name} at ${other.href}: ${page.text}`)
    }
  }
})

test('IA-15 one address registers twenty clients a minute, and the next is told when to come back', async (t) => {
  const gateway = await startSignInGateway(t)
  for (let i = 0; i < 20; i++) await registerClient(gateway)
  const body = JSON.stringify({ client_name: 'One more', redirect_uris: [REDIRECT] })
  const headers = { 'content-type': 'application/json' }
  const refused = await fetch(`${gateway.url}/oauth/register`, { method: 'POST', headers, body })
  assert.equal(refused.status, 429)
  const seconds = Number(refused.headers.get('retry-after'))
  assert.ok(seconds >= 1 && seconds <= 60, String(seconds))
  const huge = JSON.stringify({ client_name: 'x'.repeat(70_000), redirect_uris: [REDIRECT] })
  assert.ok(
    [413, 429].includes((await fetch(`${gateway.url}/oauth/register`, { method: 'POST', headers, body: huge })).status)
  )
})

test('IA-19 the consent page shows names as text, where the answer goes, and what is asked for', async (t) => {
  const gateway = await startSignInGateway(t)
  const names: [string, RegExp][] = [
    ['<script>alert(1)</script>', /&lt;script&gt;alert\(1\)&lt;\/script&gt;/],
    ['\u202eedualC\u2066', /<dd>edualC<\/dd>/],
    ['x'.repeat(10_000), /<dd>x{80}…<\/dd>/],
    ['\u200b\u0000\n', /<dd>A program without a name<\/dd>/]
  ]
  for (const [client_name, shown] of names) {
    const clientId = await registerClient(gateway, { client_name })
    const page = await signIn(createBrowser(), createAuthorization(gateway, clientId).url, 'alice')
    assert.equal(page.status, 200, page.text)
    assert.match(page.text, shown)
    assert.doesNotMatch(page.text, /<script|\p{Cf}/u)
    assert.match(page.text, /<code>http:\/\/127\.0\.0\.1:9<\/code>/)
    assert.match(page.text, /any program here can claim this name/)
    const policy = page.headers.get('content-security-policy')!
    assert.match(policy, /default-src 'none'/)
    assert.match(policy, /frame-ancestors 'none'/)
    assert.doesNotMatch(policy, /form-action|unsafe/)
    assert.equal(page.headers.get('cache-control'), 'no-store')
  }
  const web = await registerClient(gateway, { redirect_uris: ['https://app.example/cb'] })
  const request = { redirect_uri: 'https://app.example/cb', scope: 'mcp offline_access' }
  const page = await signIn(createBrowser(), createAuthorization(gateway, web, request).url, 'alice')
  assert.match(page.text, /<code>app\.example<\/code>/)
  assert.match(page.text, /stay connected while you are away/)
  assert.doesNotMatch(page.text, /on this computer/)
})

test('a consent counts only in the session that it was shown to, and only once', async (t) => {
  const gateway = await startSignInGateway(t)
  const clientId = await registerClient(gateway)
  const browser = createBrowser()
  const consent = await signIn(browser, createAuthorization(gateway, clientId).url, 'alice')
  // another browser that follows the link of the page, as in a phishing mail
  const eve = createBrowser()
  const seen = await eve.open(consent.url)
  assert.equal(seen.status, 400, 'the page belongs to the browser that began')
  const forged = await browser.submit(consent, { answer: 'allow', csrf: 'A'.repeat(43) })
  assert.equal(forged.status, 403)
  const posted = await eve.submit(consent, { answer: 'allow' })
  assert.equal(posted.status, 400)
  const isBack = (to: URL) => to.href.startsWith(REDIRECT)
  const first = await browser.submit(consent, { answer: 'allow' }, { stopsAt: isBack })
  assert.ok(first.url.searchParams.get('code'))
  const second = await browser.submit(consent, { answer: 'allow' }, { stopsAt: isBack })
  assert.equal(second.status, 400, 'the same consent again')
  // each authorization is asked for anew: a remembered consent could be ridden by others
  const again = await browser.open(createAuthorization(gateway, clientId).url, isBack)
  assert.equal(again.status, 200)
  assert.match(again.text, /It wants to:/)
})

test('IA-23 a refresh token is rotated, can be retried for 20 seconds, and ends the grant if used later', async (t) => {
  const gateway = await startSignInGateway(t)
  const { tokens, refresh } = await connectClient(gateway)
  const first = await refresh(tokens.refresh_token)
  assert.equal(first.status, 200)
  const next = (await first.json()) as Tokens
  assert.notEqual(next.refresh_token, tokens.refresh_token)
  const retry = await refresh(tokens.refresh_token)
  assert.equal(retry.status, 200, 'a client that lost the answer asks again')
  const [left, right] = await Promise.all([refresh(next.refresh_token), refresh(next.refresh_token)])
  assert.deepEqual([left.status, right.status], [200, 200], 'two windows of one client')
  const last = (await left.json()) as Tokens
  const newest = (await (await refresh(last.refresh_token)).json()) as Tokens
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 60_000 })
  const reused = await refresh(last.refresh_token)
  assert.equal(await errorOf(reused), 'invalid_grant')
  assert.equal(await errorOf(await refresh(newest.refresh_token)), 'invalid_grant', 'the whole grant has ended')
  await until('its access tokens end', async () => (await listTools(gateway, newest.access_token)).status === 401)
})

test('a request that no person has seen sends nobody to the address of its client', async (t) => {
  const gateway = await startSignInGateway(t)
  const redirect = 'https://evil.example/phish'
  const clientId = await registerClient(gateway, { redirect_uris: [redirect] })
  for (const changes of [
    { prompt: 'none' },
    { response_type: 'token' },
    { response_type: 'code id_token' },
    { code_challenge_method: 'plain' },
    { scope: 'mcp', resource: 'https://evil.example/' },
    { response_mode: 'form_post', prompt: 'none' },
    { response_mode: 'fragment' }
  ]) {
    const { url } = createAuthorization(gateway, clientId, { redirect_uri: redirect, ...changes })
    const answer = await fetch(url, { redirect: 'manual' })
    const text = await answer.text()
    assert.deepEqual([answer.status, answer.headers.get('location')], [400, null], JSON.stringify(changes))
    assert.ok(!/<script|<form/.test(text), text)
    assert.match(answer.headers.get('content-security-policy')!, /default-src 'none'/)
  }
})

/** Adds clients of the authorization server that are as new as the newest, up to a number of all. */
async function addClients({ app, config }: SignInGateway, count: number): Promise<void> {
  const { oauthRecords } = app.registry
  if (config.databaseUrl === undefined) {
    const known = await oauthRecords.count('Client')
    for (let i = known; i < count; i++)
      await oauthRecords.upsert('Client', `client ${i}`, { redirect_uris: [REDIRECT] }, 86_400)
    return
  }
  // one statement takes a hundredth of the time
  await administer(
    config.databaseUrl,
    `insert into oauth_records (id, model, sealed, expires_at)
    select 'client ' || n, model, sealed, expires_at
    from (select * from oauth_records where model = 'Client' order by created_at desc limit 1) unused,
      generate_series((select count(*) from oauth_records where model = 'Client') + 1, ${count}) n`
  )
}

test('IA-15 clients that nobody lets in last a day and give way to new ones; those in use last', async (t) => {
  const gateway = await startSignInGateway(t)
  const { oauthRecords } = gateway.app.registry
  const used = await registerClient(gateway)
  await connectClient(gateway, { clientId: used })
  const unused = await registerClient(gateway)
  await addClients(gateway, 10_000)
  assert.equal(await oauthRecords.count('Client'), 10_000)
  const next = await registerClient(gateway)
  assert.equal(await oauthRecords.count('Client'), 10_000)
  assert.equal(await oauthRecords.find('Client', unused), undefined, 'the oldest that nobody let in')
  for (const kept of [used, next]) assert.ok(await oauthRecords.find('Client', kept), kept)
  assert.equal(await oauthRecords.deleteOldest('Client', 60), false, 'nobody gives way who has longer to live')
  const huge = JSON.stringify({ client_name: 'x'.repeat(17_000), redirect_uris: [REDIRECT] })
  const headers = { 'content-type': 'application/json' }
  const refused = await fetch(`${gateway.url}/oauth/register`, { method: 'POST', headers, body: huge })
  assert.equal(refused.status, 413)
})
