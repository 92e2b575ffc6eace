import assert from 'node:assert/strict'
import { test } from 'node:test'
import { begin, call, complete, redirectUri, send, setUp, signIn } from './oauth-helpers.ts'

const documentUrl = 'https://gateway.example/.well-known/oauth-client'
const env = { TOWPATH_UPSTREAM_CLIENT_ID: documentUrl, TOWPATH_PUBLIC_URL: new URL(redirectUri).origin }
const readsDocuments = { metadata: { client_id_metadata_document_supported: true } }

test('an authorization server that reads client documents knows the gateway by the URL of its own', async (t) => {
  const setup = await setUp(t, { ...readsDocuments, clients: { [documentUrl]: null as never } }, { env })
  const begun = await begin(setup)
  assert.equal(begun.url.searchParams.get('client_id'), documentUrl)
  assert.equal((await complete(setup, begun)).status, 201)
  assert.equal((await call(setup.app)).status, 200)
  assert.ok(!setup.as.requests.some(({ path }) => path === '/register'))

  const answer = await setup.app.inject({ url: '/.well-known/oauth-client' })
  const document = answer.json<{ client_id: string; redirect_uris: string[] }>()
  assert.equal(document.client_id, documentUrl)
  assert.ok(document.redirect_uris.includes(redirectUri))
})

test('the gateway registers where its document does not help: no support, another redirect URI', async (t) => {
  const setup = await setUp(t, {}, { env })
  assert.match((await begin(setup)).url.searchParams.get('client_id')!, /^client-/)
  Object.assign(setup.as.switches, readsDocuments)
  const elsewhere = { oauth_redirect_uri: 'https://other.example/callback' }
  assert.match((await begin(setup, elsewhere)).url.searchParams.get('client_id')!, /^client-/)
  const onAnyPort = { oauth_redirect_uri: 'http://127.0.0.1:4711/oauth/callback' }
  assert.equal((await begin(setup, onAnyPort)).url.searchParams.get('client_id'), documentUrl)
})

test('without a URL for it the gateway has no client document', async (t) => {
  const { app } = await setUp(t, readsDocuments)
  assert.equal((await app.inject({ url: '/.well-known/oauth-client' })).statusCode, 404)
})

test('a call that needs more scopes names them, and a sign-in with them helps', async (t) => {
  const setup = await setUp(t)
  await signIn(setup)
  setup.upstream.demands = 'mcp:write "mcp:quoted"'
  assert.doesNotMatch((await call(setup.app)).text, /quoted/)
  setup.upstream.demands = 'mcp:write'
  const refused = await call(setup.app)
  assert.equal(refused.status, 502)
  assert.match(refused.body.error, /the sign-in lacks the scopes "mcp:write" \(HTTP 403\)$/)
  assert.deepEqual([refused.body.cause, typeof refused.body.next_step], ['scopes_missing', 'string'])
  const { body } = await send(setup.app, 'POST', '/servers?force=true', {
    name: 'guarded',
    transport: 'streamable_http',
    url: setup.upstream.url,
    oauth_redirect_uri: redirectUri,
    oauth_scopes: ['mcp', 'mcp:write']
  })
  const page = new URL(body.authorization_required.authorization_url)
  assert.equal(page.searchParams.get('scope'), 'mcp mcp:write')
})
