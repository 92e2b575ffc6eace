import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withoutExplanation } from '../explained.ts'
import { startAuthorizationServer } from '../fixtures/oauth/authorization-server.ts'
import { startProtected } from '../fixtures/oauth/protected.ts'
import { someFor } from '../matrix.ts'
import { engines, addCleanup } from '../store.ts'
import { until } from '../until.ts'
import {
  answerOf,
  begin,
  beginWith,
  call,
  complete,
  completeWith,
  redirectUri,
  registration,
  send,
  setUp,
  signIn
} from './oauth-helpers.ts'

for (const engine of someFor('first sign-in', engines)) {
  test(`OA-01 an upstream that asks for OAuth is stored once somebody has signed in (${engine})`, async (t) => {
    const setup = await setUp(t, {}, { engine })
    const { app, as } = setup
    const begun = await begin(setup)
    assert.deepEqual((await send(app, 'GET', '/servers')).body, [])
    const pending = await send(app, 'GET', `/upstream_oauth/sessions/${begun.id}`)
    assert.equal(pending.body.status, 'pending')

    const done = await complete(setup, begun)
    assert.equal(done.status, 201, done.text)
    const { url } = setup.upstream
    const record = { name: 'guarded', transport: 'streamable_http', url, session_mode: 'stateless', enabled: true }
    assert.deepEqual(done.body, { ...record, server: record })
    assert.equal((await call(app)).status, 200)
    assert.equal((await send(app, 'GET', `/upstream_oauth/sessions/${begun.id}`)).body.status, 'completed')
    assert.equal(as.tokenRequests().length, 1)
  })
}

test('OA-01 without a redirect URI the caller is told that a sign-in is needed, and nothing is begun', async (t) => {
  const { app, as, upstream } = await setUp(t)
  const { oauth_redirect_uri: _, ...plain } = registration(upstream)
  const { status, body } = await send(app, 'POST', '/servers', plain)
  assert.deepEqual(
    [status, withoutExplanation(body as object)],
    [
      400,
      {
        error:
          'the upstream asks for authorization: give "bearer_token", or an "Authorization" header in "headers", ' +
          'or "oauth_redirect_uri" to sign in with OAuth',
        code: 'upstream_oauth_required'
      }
    ]
  )
  assert.equal(as.requests.length, 0)
})

test('OA-02 the authorization request has PKCE, a state of its own, the resource and the exact redirect URI', async (t) => {
  const setup = await setUp(t)
  const [first, second] = [await begin(setup), await begin(setup)]
  const { searchParams: asked, origin, pathname } = first.url
  assert.equal(origin + pathname, `${setup.as.issuer}/authorize`)
  assert.equal(asked.get('response_type'), 'code')
  assert.equal(asked.get('code_challenge_method'), 'S256')
  assert.match(asked.get('code_challenge')!, /^[\w-]{43}$/)
  assert.match(asked.get('state')!, /^[\w-]{43}$/)
  assert.ok(!asked.get('state')!.includes(first.id))
  assert.notEqual(asked.get('state'), second.url.searchParams.get('state'))
  assert.notEqual(asked.get('code_challenge'), second.url.searchParams.get('code_challenge'))
  assert.equal(asked.get('resource'), setup.upstream.url)
  assert.equal(asked.get('redirect_uri'), redirectUri)
  assert.equal(asked.get('scope'), 'mcp')
  const registered = setup.as.requests.find(({ path }) => path === '/register')!
  assert.deepEqual(JSON.parse(registered.body), {
    client_name: 'Towpath',
    application_type: 'native',
    redirect_uris: [redirectUri],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'client_secret_basic',
    scope: 'mcp'
  })
})

test('OA-02 a client that is registered already and configured scopes are used as they are', async (t) => {
  const setup = await setUp(t, { registration: false, clients: { known: 'SENTINEL-secret' } })
  const more = { oauth_client_id: 'known', oauth_client_secret: 'SENTINEL-secret', oauth_scopes: ['a', 'b'] }
  const begun = await begin(setup, more)
  assert.equal(begun.url.searchParams.get('client_id'), 'known')
  assert.equal(begun.url.searchParams.get('scope'), 'a b')
  const done = await complete(setup, begun)
  assert.equal(done.status, 201, done.text)
  assert.doesNotMatch(done.text, /SENTINEL/)
  assert.ok(setup.as.requests.every(({ path }) => path !== '/register'))
  const { status, body } = await send(setup.app, 'POST', '/servers', registration(setup.upstream, { name: 'other' }))
  assert.deepEqual(
    [status, body],
    [400, { error: 'the authorization server does not support dynamic client registration: give "oauth_client_id"' }]
  )
})

test('OA-03 a state that is missing, wrong or of another session is refused, and the session stays pending', async (t) => {
  const setup = await setUp(t)
  const { app, as } = setup
  const [mine, other] = [await begin(setup), await begin(setup, { name: 'other' })]
  const { code, state } = await answerOf(as, mine)
  const foreign = other.url.searchParams.get('state')!
  const wrong = { error: '"state" does not match this sign-in' }
  assert.deepEqual((await completeWith(app, mine.id, { code })).body, { error: '"state" is required' })
  assert.deepEqual((await completeWith(app, mine.id, { code, state: 'x' })).body, wrong)
  assert.deepEqual((await completeWith(app, mine.id, { code, state: foreign })).body, wrong)
  assert.deepEqual((await completeWith(app, other.id, { code, state })).body, wrong)
  assert.equal((await completeWith(app, mine.id, { code, state, redirect: 'http://evil' })).status, 400)
  assert.equal((await completeWith(app, crypto.randomUUID(), { code, state })).status, 404)
  assert.equal(as.tokenRequests().length, 0)
  for (const { id } of [mine, other]) {
    assert.equal((await send(app, 'GET', `/upstream_oauth/sessions/${id}`)).body.status, 'pending')
  }
  assert.equal((await completeWith(app, mine.id, { code, state })).status, 201)
})

for (const engine of someFor('completed once', engines)) {
  test(`OA-03 a sign-in is completed once, however many try at the same time (${engine})`, async (t) => {
    const setup = await setUp(t, {}, { engine })
    const begun = await begin(setup)
    const answer = await answerOf(setup.as, begun)
    const tries = await Promise.all(Array.from({ length: 10 }, () => completeWith(setup.app, begun.id, answer)))
    assert.deepEqual(
      tries.map(({ status }) => status).toSorted((a, b) => a - b),
      [201, ...Array<number>(9).fill(404)]
    )
    assert.equal(setup.as.tokenRequests().length, 1)
    assert.equal((await completeWith(setup.app, begun.id, answer)).status, 404)
  })
}

test('OA-05 an answer of another issuer, or of none where it is announced, is refused and its code never sent', async (t) => {
  const setup = await setUp(t, { iss: true })
  const evil = await startAuthorizationServer(null)
  addCleanup(t, evil.close)
  const begun = await begin(setup)
  const { code, state, iss } = await answerOf(setup.as, begun)
  assert.equal(iss, setup.as.issuer)
  const refused = {
    error: '"iss" does not name the authorization server of this sign-in: its response is not used'
  }
  for (const wrong of [evil.issuer, `${iss}/`, iss!.toUpperCase(), '', undefined]) {
    const answer = await completeWith(setup.app, begun.id, {
      code,
      state,
      ...(wrong === undefined ? {} : { iss: wrong })
    })
    assert.deepEqual([answer.status, answer.body], [400, refused], wrong)
  }
  assert.equal(setup.as.tokenRequests().length + evil.tokenRequests().length, 0)
  assert.equal((await completeWith(setup.app, begun.id, { code, state, iss })).status, 201)
})

test('OA-05 an issuer that is named without having been announced is compared all the same', async (t) => {
  const setup = await setUp(t)
  const begun = await begin(setup)
  const answer = await answerOf(setup.as, begun)
  assert.equal((await completeWith(setup.app, begun.id, { ...answer, iss: 'https://evil.example' })).status, 400)
  assert.equal(setup.as.tokenRequests().length, 0)
  assert.equal((await completeWith(setup.app, begun.id, { ...answer, iss: setup.as.issuer })).status, 201)
})

test('OA-05 what an upstream or authorization server says of itself must fit, or nothing is begun', async (t) => {
  const setup = await setUp(t)
  const { app, as, upstream } = setup
  const evil = await startAuthorizationServer(null)
  addCleanup(t, evil.close)
  const refuse = async (error: RegExp) => {
    const { status, body } = await send(app, 'POST', '/servers', registration(upstream))
    assert.equal(status, 502, JSON.stringify(body))
    assert.match(body.error, error)
  }
  const say = (metadata: object, error: RegExp) => {
    as.switches.metadata = metadata as Record<string, unknown>
    return refuse(error)
  }
  await say({ issuer: evil.issuer }, /has another issuer than the upstream names/)
  await say({ authorization_endpoint: 'javascript:alert(1)' }, /authorization_endpoint must be a valid http/)
  await say({ authorization_endpoint: 'http://as.example/a' }, /authorization_endpoint must be https/)
  await say({ authorization_endpoint: undefined }, /has no authorization_endpoint/)
  await say({ token_endpoint: 'http://as.example/token' }, /token_endpoint must be https/)
  await say(
    { token_endpoint: 'https://169.254.169.254/', registration_endpoint: 'https://169.254.169.254/' },
    /egress policy/
  )
  await say({ response_types_supported: ['token'] }, /does not support authorization codes/)
  as.switches.metadata = {}
  upstream.metadata = { resource: `${evil.issuer}/mcp` }
  await refuse(/describes another resource/)
  upstream.metadata = { authorization_servers: ['http://as.example'] }
  await refuse(/names an authorization server that must be https/)
  upstream.metadata = { authorization_servers: [`${upstream.origin}/nothing-there`] }
  await refuse(/has no metadata/)
  upstream.metadata = { authorization_servers: ['https://169.254.169.254'] }
  await refuse(/egress policy/)
  assert.equal(as.tokenRequests().length, 0)
  assert.deepEqual((await send(app, 'GET', '/servers')).body, [])
})

for (const engine of someFor('expired', engines)) {
  test(`OA-07 a sign-in that has expired cannot be completed, and is forgotten after a while (${engine})`, async (t) => {
    const env = { TOWPATH_OAUTH_SESSION_MS: '1000', TOWPATH_OAUTH_RETENTION_MS: '3000' }
    const setup = await setUp(t, {}, { engine, env })
    const { app, as } = setup
    const begun = await begin(setup)
    const answer = await answerOf(as, begun)
    const path = `/upstream_oauth/sessions/${begun.id}`
    const find = () => send(app, 'GET', path)
    await until('it to be expired', async () => (await find()).body.status === 'expired')
    const late = await completeWith(app, begun.id, answer)
    assert.equal(late.status, 404)
    assert.equal(as.tokenRequests().length, 0)
    assert.deepEqual((await send(app, 'GET', '/servers')).body, [])
    await until('it to be forgotten', async () => (await find()).status === 404)
  })
}

test('OA-08 a session shows how it stands and nothing that it holds', async (t) => {
  const setup = await setUp(t)
  const { app, as, upstream } = setup
  const begun = await begin(setup)
  const { body } = await send(app, 'GET', `/upstream_oauth/sessions/${begun.id}`)
  assert.deepEqual(Object.keys(body), ['session_id', 'status', 'server_name', 'expires_at'])
  assert.equal(body.session_id, begun.id)
  assert.equal(body.server_name, 'guarded')
  for (const id of [crypto.randomUUID(), 'x', begun.url.searchParams.get('state')!]) {
    const { status, body: missing } = await send(app, 'GET', `/upstream_oauth/sessions/${id}`)
    assert.deepEqual([status, missing], [404, { error: `sign-in "${id}" does not exist` }])
  }
  const { code, state } = await answerOf(as, begun)
  as.switches.refusal = {
    status: 400,
    body: { error: 'invalid_request', error_description: `<script>x</script> ${code} ${'y'.repeat(500)}` }
  }
  const failed = await completeWith(app, begun.id, { code, state })
  assert.equal(failed.status, 502)
  const shown = await send(app, 'GET', `/upstream_oauth/sessions/${begun.id}`)
  assert.equal(shown.body.status, 'failed')
  assert.equal(shown.body.error, failed.body.error)
  for (const text of [failed.text, shown.text]) {
    assert.match(text, /refused the code: invalid_request"/)
    assert.ok(!text.includes('<script>') && !text.includes(code) && text.length < 600, text)
  }
  assert.deepEqual((await send(app, 'GET', '/servers')).body, [])
  const unused = upstream.calls('initialize').length
  assert.equal(unused, 0)
})

test('OA-10 a redirect URI that leads astray is refused before anything is contacted', async (t) => {
  const { app, as, upstream } = await setUp(t)
  for (const uri of [
    'http://evil.example/cb',
    'javascript:alert(1)',
    'http://127.0.0.1:9/cb#fragment',
    'https://user:pass@host.example/cb',
    'data:text/html,x',
    '/callback'
  ]) {
    const { status, body } = await send(app, 'POST', '/servers', registration(upstream, { oauth_redirect_uri: uri }))
    assert.equal(status, 400, uri)
    assert.match(body.error, /^"oauth_redirect_uri" must /)
  }
  assert.equal(upstream.requests.length + as.requests.length, 0)
})

test('an upstream that asks for a token and describes no way to get one is told as that', async (t) => {
  const { app, as, upstream } = await setUp(t)
  upstream.metadata = null
  const { status, body } = await send(app, 'POST', '/servers', registration(upstream))
  assert.deepEqual(
    [status, body.code, body.error],
    [
      400,
      'upstream_oauth_required',
      'the upstream asks for authorization and does not say how to sign in with OAuth: ' +
        'give "bearer_token", or an "Authorization" header in "headers"'
    ]
  )
  const rejected = await send(app, 'POST', '/servers', registration(upstream, { bearer_token: 'not-that-one' }))
  assert.deepEqual(
    [rejected.status, rejected.body.error],
    [502, 'server "guarded": rejected the configured token (HTTP 401)']
  )
  assert.equal(as.requests.length, 0)
})

test('resource metadata is found at its well-known place where the challenge names none', async (t) => {
  const { app, as } = await setUp(t)
  const upstream = await startProtected(null, as, { challenge: 'Bearer scope="files:read files:write"' })
  addCleanup(t, upstream.close)
  const begun = await beginWith(app, registration(upstream))
  assert.equal(begun.url.searchParams.get('scope'), 'files:read files:write')
  assert.ok(upstream.requests.some(({ path }) => path === '/.well-known/oauth-protected-resource/mcp'))
})

test('a force waits for the sign-in before it replaces anything, and a failing one replaces nothing', async (t) => {
  const setup = await setUp(t)
  const { app, as, upstream } = setup
  const open = await startAuthorizationServer(null)
  addCleanup(t, open.close)
  await signIn(setup)
  const before = (await send(app, 'GET', '/servers')).text
  const forced = registration(upstream, { description: 'the new one' })
  assert.equal((await send(app, 'POST', '/servers', forced)).status, 409)
  const first = await beginWith(app, forced, '?force=true')
  assert.equal((await send(app, 'GET', '/servers')).text, before)
  as.switches.refusal = { status: 400, body: { error: 'invalid_grant', error_description: 'used up' } }
  const failed = await complete(setup, first)
  assert.deepEqual(
    [failed.status, failed.body],
    [400, { error: 'the authorization server: refused the code: invalid_grant' }]
  )
  as.switches.refusal = { status: 503, body: 'busy' }
  assert.equal((await complete(setup, await beginWith(app, forced, '?force=true'))).status, 502)
  as.switches.refusal = undefined
  assert.equal((await send(app, 'GET', '/servers')).text, before)
  assert.equal((await call(app)).status, 200)
  const done = await complete(setup, await beginWith(app, forced, '?force=true'))
  assert.equal(done.status, 201, done.text)
  assert.equal(done.body.description, 'the new one')
  assert.equal((await call(app)).status, 200)
})

for (const engine of someFor('signing in again', engines)) {
  test(`signing in again keeps the server with its switches, and replaces its tokens (${engine})`, async (t) => {
    const setup = await setUp(t, { refresh: false }, { engine })
    const { app, as, upstream } = setup
    await signIn(setup)
    await send(app, 'POST', '/tools/disable?entity=guarded__fail')
    // with valid tokens a change needs no new sign-in
    const changed = registration(upstream, { description: 'changed' })
    const kept = await send(app, 'PUT', '/servers/guarded', changed)
    assert.deepEqual([kept.status, kept.body.description], [200, 'changed'])
    assert.equal(as.tokenRequests().length, 1)

    as.revoke()
    const dead = await call(app)
    assert.deepEqual(
      [dead.status, dead.body.error],
      [502, 'server "guarded": the authorization has ended (the access token was refused): sign in again']
    )
    await send(app, 'POST', '/servers/guarded/disable')
    const { status, body } = await send(app, 'PUT', '/servers/guarded', changed)
    assert.equal(status, 202, JSON.stringify(body))
    const { session_id: id, authorization_url } = body.authorization_required
    const done = await complete(setup, { id, url: new URL(authorization_url) })
    assert.deepEqual([done.status, done.body.enabled, done.body.description], [201, false, 'changed'])
    await send(app, 'POST', '/servers/guarded/enable')
    assert.equal((await call(app)).status, 200)
    const tools = (await send(app, 'GET', '/tools')).body as { name: string; enabled: boolean }[]
    assert.deepEqual(
      tools.filter(({ enabled }) => !enabled).map(({ name }) => name),
      ['guarded__fail']
    )
  })
}

test('OA-05 what was agreed with one issuer is not shown to another one that the upstream names later', async (t) => {
  const secret = 'SENTINEL-client-secret'
  const setup = await setUp(t, { clients: { known: secret }, refresh: false })
  const { app, as, upstream } = setup
  const more = { oauth_client_id: 'known', oauth_client_secret: secret }
  await signIn(setup, more)
  const evil = await startAuthorizationServer(null)
  addCleanup(t, evil.close)
  upstream.issuer = evil
  as.revoke()
  const { status, body } = await send(app, 'PUT', '/servers/guarded', registration(upstream, more))
  assert.deepEqual(
    [status, body],
    [
      409,
      {
        error: `the upstream names another authorization server than before, "${evil.issuer}": give it as "oauth_issuer" if that is right`,
        code: 'upstream_oauth_issuer_changed'
      }
    ]
  )
  assert.equal((await call(app)).status, 502)
  assert.ok(evil.requests.every((request) => !JSON.stringify(request).includes(secret)))
  assert.equal(evil.tokenRequests().length, 0)
})

test('a server that was removed while somebody signed in again stays removed', async (t) => {
  const setup = await setUp(t, { refresh: false })
  const { app, as, upstream } = setup
  await signIn(setup)
  as.revoke()
  const { body } = await send(app, 'PUT', '/servers/guarded', registration(upstream))
  const { session_id: id, authorization_url } = body.authorization_required
  await send(app, 'DELETE', '/servers/guarded')
  const done = await complete(setup, { id, url: new URL(authorization_url) })
  assert.deepEqual([done.status, done.body], [404, { error: 'server "guarded" does not exist' }])
  assert.deepEqual((await send(app, 'GET', '/servers')).body, [])
})

test('an upstream that takes no token of its own issuer is not stored', async (t) => {
  const setup = await setUp(t)
  const begun = await begin(setup)
  const answer = await answerOf(setup.as, begun)
  setup.upstream.issuer = await startAuthorizationServer(null)
  addCleanup(t, setup.upstream.issuer.close)
  const { status, body } = await completeWith(setup.app, begun.id, answer)
  const { error } = body as { error: string }
  assert.deepEqual([status, error], [502, 'server "guarded": rejected the new access token (HTTP 401)'])
  assert.deepEqual((await send(setup.app, 'GET', '/servers')).body, [])
})
