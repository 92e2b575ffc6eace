import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { decodeJwt, exportJWK, generateKeyPair, SignJWT, UnsecuredJWT } from 'jose'
import {
  addReplica,
  addServer,
  ADMIN,
  allowEverybody,
  listTools,
  startSignInGateway,
  type SignInGateway,
  type SignInGatewayOptions
} from '../fixtures/identity-provider/gateway.ts'
import { startIdentityProvider } from '../fixtures/identity-provider/provider.ts'
import { openApp } from '../app.ts'
import { someFor } from '../matrix.ts'
import { addCleanup, engines } from '../store.ts'
import { until } from '../until.ts'
import { legacyBody, modernBody, modernHeaders } from './mcp-messages.ts'

const EVERY = 'api://towpath'

async function start(t: TestContext, { env = {}, ...options }: SignInGatewayOptions = {}) {
  const gateway = await startSignInGateway(t, {
    ...options,
    env: (issuer) => ({ TOWPATH_AUTH: 'external', ...(typeof env === 'function' ? env(issuer) : env) })
  })
  await addServer(t, gateway)
  await allowEverybody(gateway)
  const made = await gateway.api('POST', '/tool-groups', { name: 'team', included_servers: ['k8s'] })
  assert.equal(made.status, 201)
  return gateway
}

const person = { preferred_username: 'alice', email: 'alice@example.com', email_verified: true, groups: ['sre'] }

/** Returns an access token of the provider for alice at /mcp; members that are undefined are left out. */
const tokenOf = (
  { publicUrl, idp }: Pick<SignInGateway, 'publicUrl' | 'idp'>,
  claims: object = {},
  header: object = {}
): Promise<string> =>
  idp.sign(
    { sub: 'alice', aud: `${publicUrl}/mcp`, client_id: 'desktop', scope: 'openid', ...person, ...claims },
    { typ: 'at+jwt', ...header }
  )

const statusOf = async (gateway: SignInGateway, token: string, path = '/mcp') =>
  (await listTools(gateway, token, path)).status

for (const engine of someFor('IA-27', engines)) {
  test(`IA-27 a token of the provider for the endpoint opens it, and the person becomes a user (${engine})`, async (t) => {
    const gateway = await start(t, { engine })
    const { url, api } = gateway
    for (const path of ['/mcp', '/sse', '/v0/groups/team/mcp', '/v0/groups/team/sse']) {
      const token = await tokenOf(gateway, { aud: url + path })
      const authorization = `Bearer ${token}`
      if (path.endsWith('/sse')) {
        const stop = new AbortController()
        assert.equal((await fetch(url + path, { headers: { authorization }, signal: stop.signal })).status, 200, path)
        stop.abort()
      } else {
        const headers = { ...modernHeaders('tools/list'), authorization }
        const modern = await fetch(url + path, { method: 'POST', headers, body: modernBody('tools/list') })
        assert.match(await modern.text(), /k8s__echo/)
        assert.match(await (await listTools(gateway, token, path)).text(), /k8s__echo/)
      }
      assert.equal(await statusOf(gateway, token, path === '/mcp' ? '/v0/groups/team/mcp' : '/mcp'), 401, path)
      assert.equal((await fetch(`${url}/api/v0/servers`, { headers: { authorization } })).status, 401, 'REST')
    }
    const alice = (await api('GET', '/users/alice')).body
    assert.deepEqual([alice.role, alice.source, alice.groups], ['user', 'jit', ['sre']])
    const calls = (await api('GET', '/users')).body as unknown[]
    assert.equal(calls.length, 2, 'one user, however many tokens')
  })
}

test('IA-27 tokens without the audience, ID tokens and tokens of others are refused', async (t) => {
  const gateway = await start(t)
  const { publicUrl, idp, api } = gateway
  const now = Math.floor(Date.now() / 1_000)
  const bad: Readonly<Record<string, readonly [claims: object, header?: object]>> = {
    'no audience, as Keycloak by default': [{ aud: undefined, azp: 'desktop', typ: 'Bearer' }],
    'another audience': [{ aud: 'https://other.example/mcp' }],
    'the client as audience': [{ aud: 'desktop' }],
    'the REST interface': [{ aud: `${publicUrl}/api` }],
    'the issuer of the gateway': [{ aud: `${publicUrl}/other` }],
    'an empty audience': [{ aud: '' }],
    'an empty list': [{ aud: [] }],
    'too many audiences': [{ aud: Array.from({ length: 101 }, (_, i) => (i === 100 ? `${publicUrl}/mcp` : `a${i}`)) }],
    'another issuer': [{ iss: 'https://other.example' }],
    'an issuer with a slash': [{ iss: `${idp.issuer}/` }],
    'no issuer': [{ iss: undefined }],
    expired: [{ exp: now - 60 }],
    'no expiry': [{ exp: undefined }],
    'no time of issue': [{ iat: undefined }],
    'not yet': [{ nbf: now + 600 }],
    'no subject': [{ sub: undefined }],
    'no client': [{ client_id: undefined }],
    'type JWT': [{}, { typ: 'JWT' }],
    'no type': [{}, { typ: undefined }],
    'type of an assertion': [{}, { typ: 'oauth-id-jag+jwt' }],
    'type of a logout token': [{}, { typ: 'logout+jwt' }],
    'an ID token with a nonce': [{ nonce: 'a nonce' }],
    'an ID token with at_hash': [{ at_hash: 'a hash' }],
    'an ID token of Keycloak': [{ typ: 'ID' }],
    'a refresh token of Keycloak': [{ typ: 'Refresh' }],
    'left out groups': [{ groups: undefined, _claim_names: { groups: 'src1' } }]
  }
  for (const [what, [claims, header]] of Object.entries(bad)) {
    const answer = await listTools(gateway, await tokenOf(gateway, { sub: 'mallory', ...claims }, header))
    assert.equal(answer.status, 401, what)
    assert.match(answer.headers.get('www-authenticate')!, /error="invalid_token"/, what)
  }
  const claims = decodeJwt(await tokenOf(gateway, { sub: 'mallory' }))
  const stranger = await generateKeyPair('RS256')
  const { keys } = (await (await fetch(`${idp.issuer}/jwks`)).json()) as { keys: { kid: string }[] }
  const forge = (alg: string, key: Parameters<SignJWT['sign']>[0], kid = keys[0]!.kid) =>
    new SignJWT(claims).setProtectedHeader({ alg, typ: 'at+jwt', kid }).sign(key)
  const forged = {
    'another key': await forge('RS256', stranger.privateKey),
    'an unknown key': await forge('RS256', stranger.privateKey, 'unknown'),
    'HS256 with the public key': await forge('HS256', Buffer.from(JSON.stringify(await exportJWK(stranger.publicKey)))),
    'no signature': new UnsecuredJWT(claims).encode()
  }
  for (const [what, token] of Object.entries(forged)) assert.equal(await statusOf(gateway, token), 401, what)
  assert.equal((await api('GET', '/users')).body.length, 1, 'nobody became a user')
  assert.equal(await statusOf(gateway, await tokenOf(gateway)), 200)
  assert.equal(await statusOf(gateway, ADMIN), 401, 'static tokens of users are none of MCP')
  const rows = await until('the audit rows', async () => {
    const { entries } = (await api('GET', '/audit?action=external.refused')).body as { entries: { reason: string }[] }
    return entries.some(({ reason }) => /ID token/.test(reason)) ? entries : undefined
  })
  assert.doesNotMatch(JSON.stringify(rows), /eyJ/, 'tokens are in no log')
})

test('IA-27 with a configured audience tokens of the type JWT count too, at every endpoint', async (t) => {
  const gateway = await start(t, { env: { TOWPATH_EXTERNAL_AUDIENCE: `${EVERY}, a-client-id` } })
  const { publicUrl } = gateway
  const keycloak = { azp: 'desktop', client_id: undefined, typ: 'Bearer' }
  const good: Readonly<Record<string, readonly [claims: object, header: object]>> = {
    'Keycloak with an audience mapper': [{ ...keycloak, aud: [EVERY, 'account'] }, { typ: 'JWT' }],
    'Entra ID': [
      { aud: 'a-client-id', scp: 'use', scope: undefined, client_id: undefined, appid: 'desktop' },
      { typ: 'JWT' }
    ],
    'an array of scopes': [
      { aud: EVERY, scp: ['use'], scope: undefined, client_id: undefined, cid: 'desktop' },
      { typ: 'JWT' }
    ],
    'RFC 9068': [{ aud: EVERY }, { typ: 'application/AT+JWT' }]
  }
  for (const [what, [claims, header]] of Object.entries(good)) {
    const token = await tokenOf(gateway, claims, header)
    for (const path of ['/mcp', '/v0/groups/team/mcp']) assert.equal(await statusOf(gateway, token, path), 200, what)
    const authorization = `Bearer ${token}`
    assert.equal((await fetch(`${publicUrl}/api/v0/servers`, { headers: { authorization } })).status, 401, what)
  }
  const bad: Readonly<Record<string, readonly [claims: object, header: object]>> = {
    'an ID token for the configured client': [{ aud: 'a-client-id', nonce: 'x' }, { typ: 'JWT' }],
    'an ID token without a nonce': [
      { aud: 'a-client-id', scope: undefined, client_id: undefined, azp: 'a-client-id' },
      { typ: 'JWT' }
    ],
    'an ID token of Keycloak': [{ ...keycloak, aud: EVERY, typ: 'ID' }, { typ: 'JWT' }],
    'no type': [{ aud: EVERY }, { typ: undefined }],
    'another audience': [{ aud: 'account' }, { typ: 'JWT' }],
    'part of the audience': [{ aud: 'api://tow' }, { typ: 'JWT' }]
  }
  for (const [what, [claims, header]] of Object.entries(bad)) {
    assert.equal(await statusOf(gateway, await tokenOf(gateway, claims, header)), 401, what)
  }
})

test('the metadata and challenges lead to the provider, and the routes of the own authorization server are absent', async (t) => {
  const gateway = await start(t, { env: { TOWPATH_EXTERNAL_SCOPES: 'openid towpath-audience' } })
  const { url, idp } = gateway
  for (const path of ['/mcp', '/sse', '/v0/groups/team/mcp', '/v0/groups/team/sse']) {
    const metadata = `${url}/.well-known/oauth-protected-resource${path}`
    const refused = await fetch(url + path, { method: path.endsWith('/sse') ? 'GET' : 'POST' })
    assert.equal(refused.status, 401)
    assert.equal(
      refused.headers.get('www-authenticate'),
      `Bearer scope="openid towpath-audience", resource_metadata="${metadata}"`
    )
    const body = (await (await fetch(metadata)).json()) as Record<string, unknown>
    assert.deepEqual(body['authorization_servers'], [idp.issuer])
    assert.deepEqual([body['resource'], body['scopes_supported']], [url + path, ['openid', 'towpath-audience']])
  }
  const rest = await fetch(`${url}/api/v0/servers`)
  assert.equal(rest.headers.get('www-authenticate'), 'Bearer')
  const absent = [
    '/.well-known/oauth-protected-resource/api',
    '/.well-known/oauth-authorization-server',
    '/.well-known/openid-configuration',
    '/oauth/authorize',
    '/oauth/jwks',
    '/oauth/device/code',
    '/auth/login',
    '/auth/callback',
    '/auth/local',
    '/auth/logout',
    '/scim/v2/Users'
  ]
  const headers = { authorization: `Bearer ${ADMIN}` }
  for (const path of absent) assert.equal((await fetch(url + path, { headers })).status, 404, path)
  for (const path of ['/oauth/token', '/oauth/register', '/oauth/revoke', '/auth/backchannel-logout']) {
    assert.equal((await fetch(url + path, { method: 'POST', headers })).status, 404, path)
  }
  const without = await start(t)
  const bare = await fetch(`${without.url}/mcp`, { method: 'POST' })
  assert.doesNotMatch(bare.headers.get('www-authenticate')!, /scope=/, 'the provider knows no scope of the gateway')
})

test('the rules of a sign-in decide at each new token, and the newest groups count', async (t) => {
  const gateway = await start(t, {
    env: { TOWPATH_OIDC_REQUIRED_GROUPS: 'sre,sales', TOWPATH_OIDC_ALLOWED_DOMAINS: 'example.com' }
  })
  const { api } = gateway
  const at = Math.floor(Date.now() / 1_000)
  const of = async (claims: object) => statusOf(gateway, await tokenOf(gateway, claims))
  const groups = async () => (await api('GET', '/users/alice')).body.groups as string[]
  assert.equal(await of({ sub: 'carol', groups: ['dev'] }), 401, 'no required group')
  assert.equal(await of({ sub: 'carol', email: 'carol@other.example' }), 401, 'another domain')
  assert.equal((await api('GET', '/users')).body.length, 1)
  assert.equal(await of({ groups: ['sre', 'dev'], iat: at - 30 }), 200)
  assert.equal(await of({ groups: ['sre'], iat: at - 20 }), 200)
  assert.deepEqual(await groups(), ['sre'])
  assert.equal(await of({ groups: ['sre', 'dev'], iat: at - 25, jti: 'another' }), 200, 'an older token comes later')
  assert.deepEqual(await groups(), ['sre'], 'and brings no group back')
  const before = await tokenOf(gateway, { iat: at - 15 })
  assert.equal(await statusOf(gateway, before), 200)
  assert.equal(await of({ groups: ['dev'], iat: at - 10 }), 401, 'out of the required groups')
  await until('what earlier tokens gave is taken', async () => (await statusOf(gateway, before)) === 401)
  assert.deepEqual(await groups(), [])
})

test('a suspended person, a newer role and a person who is gone take effect on every replica within two seconds', async (t) => {
  const gateway = await start(t, { engine: 'postgres', env: { TOWPATH_OIDC_AUDITOR_GROUPS: 'audit' } })
  const replica = await addReplica(t, gateway)
  const { api } = gateway
  const token = await tokenOf(gateway)
  assert.equal(await statusOf(gateway, token), 200)
  assert.equal(await statusOf(replica, token), 200, 'a user of another replica is known at once')
  const streams = await Promise.all([gateway, replica].map((each) => openStream(each, token)))
  assert.equal((await api('POST', '/users/alice/suspend')).status, 200)
  await Promise.all(streams.map(({ ended }) => ended))
  for (const each of [gateway, replica]) {
    await until('the token is refused', async () => (await statusOf(each, token)) === 401)
    assert.equal(await statusOf(each, await tokenOf(gateway)), 401, 'so is a new one')
  }
  assert.equal((await api('POST', '/users/alice/resume')).status, 200)
  const later = Math.floor(Date.now() / 1_000) + 2
  await until('a token from after the suspension is accepted', async () => {
    const fresh = await tokenOf(gateway, { iat: later, exp: later + 300 })
    return (await statusOf(gateway, fresh)) === 200
  })
  assert.equal(await statusOf(gateway, token), 401, 'the old token stays refused')
  const auditor = await tokenOf(gateway, { groups: ['sre', 'audit'], iat: later + 1, exp: later + 300 })
  assert.equal((await listTools(gateway, auditor)).status, 403, 'auditors use no tools')
})

/** Opens a session and its stream. `ended` resolves when the stream ends. */
async function openStream({ url }: SignInGateway, token: string): Promise<{ readonly ended: Promise<unknown> }> {
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream'
  }
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'a client', version: '1' } }
  const opened = await fetch(`${url}/mcp`, { method: 'POST', headers, body: legacyBody('initialize', params) })
  await opened.text()
  const session = { 'mcp-session-id': opened.headers.get('mcp-session-id')! }
  const stream = await fetch(`${url}/mcp`, { headers: { ...headers, ...session } })
  assert.equal(stream.status, 200)
  return { ended: stream.text().catch(() => undefined) }
}

test('with SCIM the provider suspends people here too', async (t) => {
  const scim = 'a-token-of-the-scim-client'
  const gateway = await start(t, { env: { TOWPATH_SCIM_TOKEN: scim, TOWPATH_OIDC_PROVISION: 'scim' } })
  const headers = { authorization: `Bearer ${scim}`, 'content-type': 'application/scim+json' }
  const token = await tokenOf(gateway)
  assert.equal(await statusOf(gateway, token), 401, 'nobody created the user')
  const created = await fetch(`${gateway.url}/scim/v2/Users`, {
    method: 'POST',
    headers,
    body: JSON.stringify({
      schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'],
      userName: 'alice@example.com',
      externalId: 'alice'
    })
  })
  const { id } = (await created.json()) as { id: string }
  assert.equal(created.status, 201)
  const second = await tokenOf(gateway, { jti: 'second' })
  assert.equal(await statusOf(gateway, second), 200)
  const patch = {
    schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
    Operations: [{ op: 'replace', path: 'active', value: false }]
  }
  const patched = await fetch(`${gateway.url}/scim/v2/Users/${id}`, {
    method: 'PATCH',
    headers,
    body: JSON.stringify(patch)
  })
  assert.ok(patched.ok)
  await until('the token is refused', async () => (await statusOf(gateway, second)) === 401)
})

test('while the keys of the provider cannot be read new tokens get 503, and those that are known go on', async (t) => {
  const gateway = await start(t)
  const { idp } = gateway
  const known = await tokenOf(gateway)
  assert.equal(await statusOf(gateway, known), 200)
  const other = await start(t)
  other.idp.faults.keys = { status: 500, body: 'down' }
  for (let i = 0; i < 3; i++) {
    const answer = await listTools(other, await tokenOf(other))
    assert.equal(answer.status, 503)
    assert.equal(answer.headers.get('www-authenticate'), null, 'no client throws its token away')
  }
  await idp.close()
  assert.equal(await statusOf(gateway, known), 200)
})

test('PO-08 scopes of the token are those that policies require, and the challenge names those of the provider', async (t) => {
  const gateway = await start(t, { env: { TOWPATH_EXTERNAL_SCOPES: 'openid' } })
  const rule = {
    name: 'writers',
    effect: 'deny',
    everyone: true,
    targets: { tools: ['echo'] },
    require_scopes: ['mcp:write']
  }
  assert.equal((await gateway.api('POST', '/policies', rule)).status, 201)
  const call = async (token: string) =>
    fetch(`${gateway.url}/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream'
      },
      body: legacyBody('tools/call', { name: 'k8s__echo', arguments: {} })
    })
  const refused = await call(await tokenOf(gateway))
  assert.equal(refused.status, 403)
  assert.match(refused.headers.get('www-authenticate')!, /scope="openid mcp:write"/)
  const allowed = await call(await tokenOf(gateway, { scope: 'openid mcp:write towpath:admin' }))
  assert.equal(allowed.status, 200, await allowed.clone().text())
})

test('what the provider lacks is told at the start, and by the checks', async (t) => {
  const gateway = await start(t, { engine: 'postgres' })
  const findings = async ({ api }: Pick<SignInGateway, 'api'>) => {
    const { checks } = (await api('GET', '/identity_provider/checks')).body as {
      checks: { id: string; status: string }[]
    }
    return checks.map(({ id, status }) => `${id} ${status}`)
  }
  const found = ['external_metadata pass', 'external_registration warn', 'external_pkce pass', 'external_resource pass']
  assert.deepEqual(await findings(gateway), found)
  const lines: string[] = []
  const app = await openApp(gateway.config, { log: { write: (line) => lines.push(line) } })
  addCleanup(t, () => app.close())
  await app.listen({ host: '127.0.0.1', port: 0 })
  await until('the warning', () => lines.some((line) => line.includes('MCP clients cannot register at the provider')))

  const down = await startIdentityProvider({ redirectUris: ['http://127.0.0.1:9/callback'] })
  await down.close()
  const other = await startSignInGateway(t, { env: { TOWPATH_AUTH: 'external', TOWPATH_OIDC_ISSUER: down.issuer } })
  assert.deepEqual(await findings(other), ['external_metadata fail'])
})
