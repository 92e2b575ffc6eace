import assert from 'node:assert/strict'
import { test } from 'node:test'
import { signInCommandLine } from '../fixtures/identity-provider/command-line.ts'
import { ADMIN, startSignInGateway, type SignInGateway } from '../fixtures/identity-provider/gateway.ts'
import { until } from '../until.ts'

type Send = (method: string, path: string, body?: object) => Promise<{ readonly status: number; readonly body: any }>

/** Returns a function that sends requests to the REST interface with these headers. */
const sendWith =
  ({ url }: Pick<SignInGateway, 'url'>, credentials: Record<string, string>): Send =>
  async (method, path, body) => {
    const headers = { ...credentials, ...(body && { 'content-type': 'application/json' }) }
    const answer = await fetch(`${url}/api/v0${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) })
    const text = await answer.text()
    return { status: answer.status, body: text === '' ? undefined : JSON.parse(text) }
  }

/** Signs the command line in as alice. */
const signIn = async (gateway: SignInGateway, scope: string): Promise<Send> =>
  sendWith(gateway, { authorization: `Bearer ${await signInCommandLine(gateway, scope)}` })

test('a command line that may only read creates no tokens and ends nothing', async (t) => {
  const gateway = await startSignInGateway(t, { env: { TOWPATH_OIDC_ADMIN_GROUPS: 'sre' } })
  assert.equal((await gateway.api('GET', '/users')).status, 200)
  const reader = await signIn(gateway, 'towpath:read')
  for (const scopes of [['towpath:admin'], ['towpath:read'], ['mcp']]) {
    assert.equal((await reader('POST', '/me/tokens', { name: 'x', scopes })).status, 403, scopes.join())
  }
  const clients = (await reader('GET', '/me/clients')).body as { id: string }[]
  const owner = await signIn(gateway, 'towpath:admin')
  const made = await owner('POST', '/me/tokens', { name: 'ci', scopes: ['towpath:call', 'towpath:read', 'mcp'] })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  for (const path of [`/me/clients/${clients[0]!.id}`, '/me/sessions', `/me/tokens/${made.body.id}`]) {
    assert.equal((await reader('DELETE', path)).status, 403, path)
  }
  const required = await owner('POST', '/me/tokens', { name: 'prod', scopes: ['mcp:prod'] })
  assert.equal(required.status, 403, 'a scope of policies that the person did not give to the command line')
  const both = await signIn(gateway, 'towpath:admin towpath:read')
  assert.equal((await both('POST', '/me/tokens', { name: 'all', scopes: ['towpath:admin'] })).status, 201)
  assert.equal((await both('DELETE', `/me/tokens/${made.body.id}`)).status, 204)
})

test('a session that began with a static token makes no tokens, and ends when the token is replaced', async (t) => {
  const gateway = await startSignInGateway(t)
  const made = await gateway.api('POST', '/users', { username: 'ops', role: 'admin' })
  const start = async (token: string) => {
    const body = new URLSearchParams({ token })
    const answer = await fetch(`${gateway.url}/auth/local`, { method: 'POST', redirect: 'manual', body })
    const cookie = answer.headers.getSetCookie()[0]!.split(';')[0]!
    const { csrf_token } = (await sendWith(gateway, { cookie })('GET', '/me/session')).body
    return sendWith(gateway, { cookie, 'x-towpath-csrf': csrf_token })
  }
  const ops = await start(made.body.access_token as string)
  const admin = await start(ADMIN)
  const refused = await ops('POST', '/me/tokens', { name: 'x', scopes: ['mcp'] })
  assert.equal(refused.status, 403)
  assert.match(refused.body.error, /static token/)
  assert.equal((await ops('GET', '/users')).status, 200)
  assert.equal((await gateway.api('PUT', '/users/ops', {})).status, 200)
  await until('the session has ended', async () => (await ops('GET', '/users')).status === 401)
  assert.equal((await ops('POST', '/users', { username: 'other' })).status, 401)
  assert.equal((await admin('GET', '/users')).status, 200, 'the session of another user')
})
