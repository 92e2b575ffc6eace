import assert from 'node:assert/strict'
import test from 'node:test'
import type { ServersView } from '../../src/schemas/dashboard/servers.ts'
import { startApp } from '../app.ts'
import { anyEngine } from '../store.ts'
import { ask, read } from './dashboard-helpers.ts'
import { registration, setUp, type Setup } from './oauth-helpers.ts'

const callback = '/api/dashboard/oauth/callback'

const start =
  (switches: Parameters<typeof setUp>[1] = {}) =>
  (t: test.TestContext) =>
    setUp(t, switches, { engine: anyEngine })

const plain = ({ upstream }: Setup) => ({ ...registration(upstream), oauth_redirect_uri: undefined })

async function begin(setup: Setup) {
  const { status, body, text } = await ask(setup.app, 'POST', '/servers', plain(setup))
  assert.equal(status, 202, text)
  assert.deepEqual(Object.keys(body), ['authorization_required'])
  const { session_id, authorization_url, expires_at } = body.authorization_required
  assert.ok(Date.parse(expires_at) > Date.now())
  return { id: session_id as string, url: new URL(authorization_url) }
}

/** Opens the URL as a browser does. */
const open = ({ app }: Setup, query: string) =>
  app.inject({ url: `${callback}${query}`, headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' } })
const listed = async ({ app }: Setup) => (await read<ServersView>(app, '/servers')).servers

test('OA-01 OA-02 OA-08 a server that asks for OAuth is there once somebody has signed in with the browser', async (t) => {
  const setup = await start({ iss: true })(t)
  const { app, as } = setup
  const { id, url } = await begin(setup)
  assert.deepEqual(await listed(setup), [])

  const asked = url.searchParams
  assert.equal(asked.get('code_challenge_method'), 'S256')
  assert.equal(asked.get('resource'), setup.upstream.url)
  assert.equal(asked.get('redirect_uri'), `http://localhost:80${callback}`)
  const state = asked.get('state')!
  assert.ok(state !== id && Buffer.from(state, 'base64url').length >= 16)

  const session = await ask(app, 'GET', `/oauth/session/${id}`)
  assert.deepEqual([session.status, session.body.status, session.body.server_name], [200, 'pending', 'guarded'])
  assert.deepEqual(Object.keys(session.body), ['session_id', 'status', 'server_name', 'expires_at'])
  for (const other of [crypto.randomUUID(), state])
    assert.equal((await ask(app, 'GET', `/oauth/session/${other}`)).status, 404)

  const redirect = await as.agree(url.href)
  const page = await open(setup, `${redirect.search}&redirect=http://evil.example`)
  assert.equal(page.statusCode, 200, page.body)
  assert.match(String(page.headers['content-type']), /^text\/html/)
  assert.match(String(page.headers['content-security-policy']), /^default-src 'none'/)
  assert.doesNotMatch(page.body, /<script|<a |http|evil/)
  assert.match(page.body, /go back to the dashboard\./)
  assert.equal(page.headers.location, undefined)
  assert.equal((await ask(app, 'GET', `/oauth/session/${id}`)).body.status, 'completed')
  const [server] = await listed(setup)
  assert.deepEqual([server?.name, server?.status], ['guarded', 'connected'])
  assert.equal((await open(setup, redirect.search)).statusCode, 404)
})

test('OA-08 a sign-in that is refused ends at once, with the words of the server as text', async (t) => {
  const setup = await start()(t)
  const { id, url } = await begin(setup)
  const state = url.searchParams.get('state')!
  for (const query of ['', '?state=x', '?error=access_denied', '?error=access_denied&state=wrong', `?state=${state}`]) {
    const page = await open(setup, query)
    assert.equal(page.statusCode, 400, query)
    assert.match(page.body, /not completed/)
  }
  assert.equal((await ask(setup.app, 'GET', `/oauth/session/${id}`)).body.status, 'pending')
  const page = await open(setup, `?error=access_denied&error_description=%3Cscript%3Eno%3C/script%3E&state=${state}`)
  assert.equal(page.statusCode, 200)
  assert.doesNotMatch(page.body, /<script/)
  const { body } = await ask(setup.app, 'GET', `/oauth/session/${id}`)
  assert.deepEqual([body.status, body.error], ['failed', '<script>no</script> (access_denied)'])
  assert.deepEqual([await listed(setup), setup.as.tokenRequests().length], [[], 0])
})

test('OA-06 OA-10 the dashboard begins no sign-in that is not safe', async (t) => {
  const setup = await start({ pkce: undefined })(t)
  const unsafe = await ask(setup.app, 'POST', '/servers', plain(setup))
  assert.equal(unsafe.status, 502, unsafe.text)
  assert.ok(!unsafe.text.includes('authorization_url'))
  for (const uri of ['http://evil.example/cb', 'javascript:x', 'http://127.0.0.1:9/cb#fragment']) {
    const { status, body } = await ask(
      setup.app,
      'POST',
      '/servers',
      registration(setup.upstream, { oauth_redirect_uri: uri })
    )
    assert.equal(status, 400, uri)
    assert.match(body.error, /^"oauth_redirect_uri" must /)
  }
  assert.deepEqual(await listed(setup), [])
})

test('a failed callback is a page for browsers and {error} for everything else', async (t) => {
  const app = await startApp(t)
  for (const accept of [undefined, '*/*', 'application/json']) {
    const answer = await app.inject({ url: `${callback}?state=x&code=y`, headers: accept ? { accept } : {} })
    assert.ok(answer.statusCode >= 400, accept)
    assert.match(String(answer.headers['content-type']), /^application\/json/)
    assert.equal(typeof answer.json().error, 'string')
  }
  const page = await app.inject({ url: `${callback}?state=x&code=y`, headers: { accept: 'text/html' } })
  assert.ok(page.statusCode >= 400)
  assert.match(String(page.headers['content-type']), /^text\/html/)
})
