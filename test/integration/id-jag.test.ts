import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test, type TestContext } from 'node:test'
import { Client, CrossAppAccessProvider, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { decodeJwt, exportJWK, generateKeyPair, SignJWT, UnsecuredJWT } from 'jose'
import { addClientHost, clientDocument } from '../fixtures/identity-provider/client-documents.ts'
import {
  addReplica,
  addServer,
  allowEverybody,
  connectClient,
  listTools,
  postToken,
  registerClient,
  startSignInGateway,
  type SignInGateway,
  type SignInGatewayOptions,
  type Tokens
} from '../fixtures/identity-provider/gateway.ts'
import { startIdentityProvider, type IdentityProvider } from '../fixtures/identity-provider/provider.ts'
import { someFor } from '../matrix.ts'
import { addCleanup, engines } from '../store.ts'
import { until } from '../until.ts'
import { modernBody, modernHeaders } from './mcp-messages.ts'

const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const PROFILE = 'urn:ietf:params:oauth:grant-profile:id-jag'
const SECRET = 'twp_the-token-of-the-desktop-client'

type Fields = Readonly<Record<string, string>>

async function start(t: TestContext, { env = {}, ...options }: SignInGatewayOptions = {}) {
  const gateway = await startSignInGateway(t, {
    ...options,
    env: (issuer) => ({ TOWPATH_ID_JAG_ISSUERS: issuer, ...(typeof env === 'function' ? env(issuer) : env) })
  })
  await addServer(t, gateway)
  await allowEverybody(gateway)
  await addClient(gateway)
  return gateway
}

/** Registers the MCP client `desktop`, which authenticates with its token. */
async function addClient({ api }: SignInGateway, name = 'desktop', more: object = { access_token: SECRET }) {
  const made = await api('POST', '/clients', { name, ...more })
  assert.equal(made.status, 201, JSON.stringify(made.body))
}

/** Returns an assertion about alice for `desktop` and /mcp; members that are undefined are left out. */
const assertionOf = (
  { publicUrl, idp }: Pick<SignInGateway, 'publicUrl'> & { readonly idp: IdentityProvider },
  claims: object = {},
  header: object = {}
) => {
  const own = { sub: 'alice', aud: publicUrl, client_id: 'desktop', resource: `${publicUrl}/mcp`, scope: 'mcp' }
  const person = { groups: ['sre'], email: 'alice@example.com', email_verified: true }
  return idp.sign({ ...own, ...person, ...claims }, { typ: 'oauth-id-jag+jwt', ...header })
}

const redeem = (gateway: SignInGateway, assertion: string, more: Fields = {}) =>
  postToken(gateway, { grant_type: GRANT, client_id: 'desktop', client_secret: SECRET, assertion, ...more })

async function tokenOf(answer: Response): Promise<Tokens> {
  const body = (await answer.json()) as Tokens
  assert.equal(answer.status, 200, JSON.stringify(body))
  return body
}

async function assertRefused(answer: Response, what: string, error = 'invalid_grant', status = 400): Promise<void> {
  const body = (await answer.json()) as { error: string }
  assert.deepEqual([answer.status, body.error], [status, error], `${what}: ${JSON.stringify(body)}`)
}

const userOf = async ({ api }: SignInGateway, name: string) => (await api('GET', `/users/${name}`)).body

for (const engine of someFor('IA-28', engines)) {
  test(`IA-28 an assertion of the provider gives a token of the person for the endpoint (${engine})`, async (t) => {
    const gateway = await start(t, { engine })
    const { url, api } = gateway
    const made = await api('POST', '/tool-groups', { name: 'team', included_servers: ['k8s'] })
    assert.equal(made.status, 201)
    for (const path of ['/mcp', '/sse', '/v0/groups/team/mcp', '/v0/groups/team/sse']) {
      const answer = await redeem(gateway, await assertionOf(gateway, { resource: url + path }))
      const tokens = await tokenOf(answer)
      assert.deepEqual([tokens.scope, tokens.expires_in, tokens.refresh_token], ['mcp', 600, undefined])
      const { aud, client_id: client } = decodeJwt(tokens.access_token)
      assert.deepEqual([aud, client], [url + path, 'desktop'])
      const authorization = `Bearer ${tokens.access_token}`
      if (path.endsWith('/sse')) {
        const stop = new AbortController()
        assert.equal((await fetch(url + path, { headers: { authorization }, signal: stop.signal })).status, 200)
        stop.abort()
      } else {
        const headers = { ...modernHeaders('tools/list'), authorization }
        const modern = await fetch(url + path, { method: 'POST', headers, body: modernBody('tools/list') })
        assert.match(await modern.text(), /k8s__echo/)
        assert.match(await (await listTools(gateway, tokens.access_token, path)).text(), /k8s__echo/)
      }
      const other = path === '/mcp' ? '/v0/groups/team/mcp' : '/mcp'
      assert.equal((await listTools(gateway, tokens.access_token, other)).status, 401, other)
      assert.equal((await fetch(`${url}/api/v0/servers`, { headers: { authorization } })).status, 401)
    }
    const alice = await userOf(gateway, 'alice')
    assert.deepEqual(
      [alice.role, alice.source, alice.groups, alice.email],
      ['user', 'jit', ['sre'], 'alice@example.com']
    )
    const { tokens } = await connectClient(gateway)
    assert.equal(decodeJwt(tokens.access_token).sub, await subjectOf(gateway), 'the browser finds the same user')
  })
}

const subjectOf = async (gateway: SignInGateway) => {
  const { access_token: token } = await tokenOf(await redeem(gateway, await assertionOf(gateway)))
  return decodeJwt(token).sub
}

test('IA-28 an assertion that is used, forged, old, or meant for others gives nothing', async (t) => {
  const gateway = await start(t)
  const { publicUrl, idp, api } = gateway
  const now = Math.floor(Date.now() / 1_000)
  const used = await assertionOf(gateway)
  await tokenOf(await redeem(gateway, used))
  await assertRefused(await redeem(gateway, used), 'used twice')

  const bad: Readonly<Record<string, readonly [claims: object, header?: object]>> = {
    'another audience': [{ aud: 'https://other.example' }],
    'the endpoint as audience': [{ aud: `${publicUrl}/mcp` }],
    'two audiences': [{ aud: [publicUrl, 'https://other.example'] }],
    'no audience': [{ aud: undefined }],
    'another endpoint': [{ resource: 'https://other.example/mcp' }],
    'the REST interface': [{ resource: `${publicUrl}/api` }],
    'two endpoints': [{ resource: [`${publicUrl}/mcp`, `${publicUrl}/sse`] }],
    'no endpoint': [{ resource: undefined }],
    'another client': [{ client_id: 'laptop' }],
    'no client': [{ client_id: undefined }],
    'another issuer': [{ iss: 'https://other.example' }],
    'no issuer': [{ iss: undefined }],
    'type JWT': [{}, { typ: 'JWT' }],
    'no type': [{}, { typ: undefined }],
    'type of an access token': [{}, { typ: 'at+jwt' }],
    expired: [{ iat: now - 400, exp: now - 100 }],
    'no expiry': [{ exp: undefined }],
    'expiry in two hours': [{ exp: now + 7_200 }],
    'no time of issue': [{ iat: undefined }],
    'issued yesterday': [{ iat: now - 86_400 }],
    'issued tomorrow': [{ iat: now + 86_400, exp: now + 86_500 }],
    'no id': [{ jti: undefined }],
    'an id that is no text': [{ jti: 7 }],
    'no subject': [{ sub: undefined }],
    'a scope that does not exist': [{ scope: 'mcp everything' }],
    'scopes of the REST interface': [{ scope: 'mcp towpath:admin' }],
    'an empty scope': [{ scope: '' }],
    'too many groups': [{ groups: Array.from({ length: 1_001 }, (_, i) => `g${i}`) }],
    'left out groups': [{ groups: undefined, hasgroups: true }]
  }
  for (const [what, [claims, header]] of Object.entries(bad)) {
    await assertRefused(await redeem(gateway, await assertionOf(gateway, claims, header)), what)
  }
  const claims = decodeJwt(await assertionOf(gateway))
  const stranger = await generateKeyPair('RS256')
  const [kid] = [(await (await fetch(`${idp.issuer}/jwks`)).json()) as { keys: { kid: string }[] }].map(
    ({ keys }) => keys[0]!.kid
  )
  const forge = (alg: string, key: Parameters<SignJWT['sign']>[0]) =>
    new SignJWT(claims).setProtectedHeader({ alg, typ: 'oauth-id-jag+jwt', kid: kid! }).sign(key)
  await assertRefused(await redeem(gateway, await forge('RS256', stranger.privateKey)), 'signed by another key')
  const publicKey = Buffer.from(JSON.stringify(await exportJWK(stranger.publicKey)))
  await assertRefused(await redeem(gateway, await forge('HS256', publicKey)), 'HS256')
  await assertRefused(await redeem(gateway, new UnsecuredJWT(claims).encode()), 'no signature')
  for (const text of ['', 'no JWT', 'a.b.c', 'x'.repeat(20_000)])
    await assertRefused(await redeem(gateway, text), text.slice(0, 9))

  const other = await redeem(gateway, await assertionOf(gateway), { resource: `${publicUrl}/sse` })
  await assertRefused(other, 'the request is for another endpoint')
  await assertRefused(await redeem(gateway, await assertionOf(gateway), { scope: 'offline_access' }), 'not requested')
  const same = await redeem(gateway, await assertionOf(gateway), {
    resource: `${publicUrl}/mcp/`,
    scope: 'mcp offline_access'
  })
  assert.equal((await tokenOf(same)).scope, 'mcp', 'more was requested than the provider granted')
  const all = await redeem(
    gateway,
    await assertionOf(gateway, { scope: 'mcp offline_access', resource: [`${publicUrl}/mcp`] })
  )
  assert.equal((await tokenOf(all)).scope, 'mcp', 'there is no refresh token')

  const rows = await until('the audit rows', async () => {
    const { entries } = (await api('GET', '/audit?action=oauth.assertion_refused')).body as {
      entries: { target: string; reason: string }[]
    }
    const isThere = entries.some(({ target, reason }) => target === 'desktop' && /used before/.test(reason))
    return isThere ? entries : undefined
  })
  assert.doesNotMatch(JSON.stringify(rows), /eyJ/, 'assertions are in no log')
})

test('PO-08 a token for an assertion has the scopes of policies that the provider granted, and no others', async (t) => {
  const gateway = await start(t)
  const { url, api } = gateway
  const scope = 'mcp mcp:write'
  await assertRefused(await redeem(gateway, await assertionOf(gateway, { scope })), 'no policy requires the scope')
  const rule = { name: 'writers', effect: 'deny', targets: { tools: ['echo'] }, require_scopes: ['mcp:write'] }
  assert.equal((await api('POST', '/policies', rule)).status, 201)
  const call = (token: string) =>
    fetch(`${url}/mcp`, {
      method: 'POST',
      headers: { ...modernHeaders('tools/call', 'k8s__echo'), authorization: `Bearer ${token}` },
      body: modernBody('tools/call', { name: 'k8s__echo', arguments: {} })
    })
  const plain = await tokenOf(await redeem(gateway, await assertionOf(gateway), { scope }))
  assert.equal(plain.scope, 'mcp', 'the client cannot give itself a scope')
  const refused = await call(plain.access_token)
  assert.equal(refused.status, 403)
  assert.match(refused.headers.get('www-authenticate')!, /error="insufficient_scope".*scope="mcp mcp:write"/)
  const granted = await tokenOf(await redeem(gateway, await assertionOf(gateway, { scope })))
  assert.equal(granted.scope, scope)
  assert.equal((await call(granted.access_token)).status, 200)
})

test('IA-28 the client has to authenticate, and to be the one that the assertion names', async (t) => {
  const gateway = await start(t)
  const { url, publicUrl } = gateway
  const assertion = await assertionOf(gateway)
  await assertRefused(
    await redeem(gateway, assertion, { client_secret: `${SECRET}x` }),
    'secret',
    'invalid_client',
    401
  )
  const anonymous = await postToken(gateway, { grant_type: GRANT, client_id: 'desktop', assertion })
  await assertRefused(anonymous, 'no secret', 'invalid_client', 401)
  const open = await registerClient(gateway, { grant_types: [GRANT, 'authorization_code'] })
  const ofOpen = await assertionOf(gateway, { client_id: open })
  await assertRefused(
    await postToken(gateway, { grant_type: GRANT, client_id: open, assertion: ofOpen }),
    'a public client'
  )
  const without = await registerClient(gateway)
  const ofOther = {
    grant_type: GRANT,
    client_id: without,
    assertion: await assertionOf(gateway, { client_id: without })
  }
  await assertRefused(await postToken(gateway, ofOther), 'a client without the grant', 'invalid_request')
  await tokenOf(await redeem(gateway, assertion))

  // a client with a document and a key
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const id = 'https://client.test/app.json'
  const { answers } = addClientHost(gateway)
  const document = clientDocument(id, {
    grant_types: [GRANT, 'authorization_code'],
    token_endpoint_auth_method: 'private_key_jwt',
    jwks: { keys: [publicKey.export({ format: 'jwk' })] }
  })
  answers.set(id, () => Response.json(document))
  const signed = await new SignJWT({ jti: crypto.randomUUID() })
    .setProtectedHeader({ alg: 'EdDSA' })
    .setIssuer(id)
    .setSubject(id)
    .setAudience(publicUrl)
    .setExpirationTime('1 minute')
    .sign(privateKey)
  const answer = await postToken(gateway, {
    grant_type: GRANT,
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: signed,
    assertion: await assertionOf(gateway, { client_id: id })
  })
  const { access_token: token } = await tokenOf(answer)
  assert.equal((await listTools(gateway, token)).status, 200, url)
})

test('IA-28 an assertion counts once on all replicas together, and a suspended person gets nothing', async (t) => {
  const gateway = await start(t, { engine: 'postgres' })
  const replica = await addReplica(t, gateway)
  await until(
    'the other replica knows the client',
    async () => (await replica.api('GET', '/clients/desktop')).status === 200
  )
  let token = ''
  for (let round = 0; round < 3; round++) {
    const assertion = await assertionOf(gateway)
    const answers = await Promise.all([gateway, replica, gateway, replica].map((each) => redeem(each, assertion)))
    const statuses = answers.map(({ status }) => status).sort((a, b) => a - b)
    assert.deepEqual(statuses, [200, 400, 400, 400])
    token = (await tokenOf(answers.find(({ status }) => status === 200)!)).access_token
  }
  for (const each of [gateway, replica]) {
    await until('the token is accepted', async () => (await listTools(each, token)).status === 200)
  }
  assert.equal((await gateway.api('POST', '/users/alice/suspend')).status, 200)
  for (const each of [gateway, replica]) {
    await until('the token has ended', async () => (await listTools(each, token)).status === 401)
  }
  await assertRefused(await redeem(replica, await assertionOf(gateway)), 'suspended')
  assert.equal((await gateway.api('POST', '/users/alice/resume')).status, 200)
  await until('new tokens are issued', async () => (await redeem(gateway, await assertionOf(gateway))).status === 200)
})

test('the rules of a sign-in decide: groups, domains, roles, and who may become a user', async (t) => {
  const gateway = await start(t, {
    env: {
      TOWPATH_OIDC_REQUIRED_GROUPS: 'sre,sales',
      TOWPATH_OIDC_ADMIN_GROUPS: 'platform',
      TOWPATH_OIDC_ALLOWED_DOMAINS: 'example.com'
    }
  })
  const of = async (claims: object) => redeem(gateway, await assertionOf(gateway, claims))
  await assertRefused(await of({ sub: 'carol', groups: ['dev'] }), 'no required group')
  await assertRefused(await of({ sub: 'carol', groups: undefined }), 'no groups at all')
  await assertRefused(await of({ sub: 'carol', email: 'carol@other.example' }), 'another domain')
  await assertRefused(await of({ sub: 'carol', email_verified: 'true' }), 'an address that nobody verified')
  assert.equal((await gateway.api('GET', '/users/carol')).status, 404)

  await tokenOf(await of({ preferred_username: 'alice' }))
  assert.equal((await userOf(gateway, 'alice')).role, 'user')
  await tokenOf(await of({ groups: ['sre', 'platform'] }))
  assert.deepEqual(
    [(await userOf(gateway, 'alice')).role, (await userOf(gateway, 'alice')).groups],
    ['admin', ['sre', 'platform']]
  )
  const { access_token: token } = await tokenOf(await of({ groups: undefined }))
  assert.deepEqual((await userOf(gateway, 'alice')).groups, ['sre', 'platform'], 'groups that are not in it stay')
  assert.equal((await listTools(gateway, token)).status, 200)
  await tokenOf(await of({ groups: ['sre'] }))
  assert.equal((await userOf(gateway, 'alice')).role, 'user', 'the role goes with the group')
  await assertRefused(await of({ groups: ['dev'] }), 'out of the required groups')
})

test('nothing is written for a person of whom everything is known', async (t) => {
  const gateway = await start(t)
  await tokenOf(await redeem(gateway, await assertionOf(gateway)))
  const changes = async () => {
    const { entries } = (await gateway.api('GET', '/audit?action=oauth.assertion')).body as { entries: object[] }
    return entries.length
  }
  assert.equal(await changes(), 1)
  for (let i = 0; i < 3; i++) await tokenOf(await redeem(gateway, await assertionOf(gateway)))
  assert.equal(await changes(), 1)
  await tokenOf(await redeem(gateway, await assertionOf(gateway, { groups: ['sre', 'dev'] })))
  assert.equal(await changes(), 2)
})

test('groups that a sign-in read too long ago do not count for an assertion without groups', async (t) => {
  const gateway = await start(t, { env: { TOWPATH_OIDC_CLAIMS_MAX_AGE_MS: '1' } })
  const of = async (claims: object) => redeem(gateway, await assertionOf(gateway, claims))
  await tokenOf(await of({}))
  await assertRefused(await of({ groups: undefined }), 'old groups')
  await tokenOf(await of({ groups: [] }))
  await tokenOf(await of({ groups: undefined }))
})

test('with SCIM only users whom the provider created get tokens, and another issuer takes over nobody', async (t) => {
  const other = await startIdentityProvider({ redirectUris: ['http://127.0.0.1:9/callback'] })
  addCleanup(t, () => other.close())
  const scimToken = 'a-token-of-the-scim-client'
  const gateway = await start(t, {
    env: (issuer) => ({
      TOWPATH_ID_JAG_ISSUERS: `${issuer}, ${other.issuer}`,
      TOWPATH_SCIM_TOKEN: scimToken,
      TOWPATH_OIDC_PROVISION: 'scim'
    })
  })
  const created = await fetch(`${gateway.url}/scim/v2/Users`, {
    method: 'POST',
    headers: { authorization: `Bearer ${scimToken}`, 'content-type': 'application/scim+json' },
    body: JSON.stringify({
      schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'],
      userName: 'alice@example.com',
      externalId: 'alice',
      emails: [{ value: 'alice@example.com', primary: true }]
    })
  })
  assert.equal(created.status, 201, await created.text())
  const ofOther = await assertionOf({ publicUrl: gateway.publicUrl, idp: other })
  await assertRefused(await redeem(gateway, ofOther), 'the same id and address at another issuer')
  await assertRefused(
    await redeem(gateway, await assertionOf(gateway, { sub: 'bob', email: 'bob@example.com' })),
    'nobody created'
  )
  const { access_token: token } = await tokenOf(await redeem(gateway, await assertionOf(gateway)))
  assert.equal((await listTools(gateway, token)).status, 200)
})

test('with two issuers the same subject is two people', async (t) => {
  const other = await startIdentityProvider({ redirectUris: ['http://127.0.0.1:9/callback'] })
  addCleanup(t, () => other.close())
  const gateway = await start(t, { env: (issuer) => ({ TOWPATH_ID_JAG_ISSUERS: `${issuer},${other.issuer}` }) })
  const first = await subjectOf(gateway)
  const answer = await redeem(gateway, await assertionOf({ publicUrl: gateway.publicUrl, idp: other }))
  assert.notEqual(decodeJwt((await tokenOf(answer)).access_token).sub, first)
})

test('while the keys of the issuer cannot be read the client is told to come back, and they are not read each time', async (t) => {
  const gateway = await start(t)
  const { idp } = gateway
  let reads = 0
  Object.defineProperty(idp.faults, 'keys', {
    get() {
      reads++
      return { status: 500, body: 'down' }
    }
  })
  for (let i = 0; i < 5; i++) {
    await assertRefused(await redeem(gateway, await assertionOf(gateway)), 'down', 'temporarily_unavailable', 503)
  }
  assert.ok(reads <= 2, `${reads} reads`)
})

test('metadata announces the grant only where assertions are taken', async (t) => {
  const metadataOf = async ({ url }: SignInGateway) =>
    (await (await fetch(`${url}/.well-known/oauth-authorization-server`)).json()) as Record<
      string,
      string[] | undefined
    >
  const gateway = await start(t)
  const metadata = await metadataOf(gateway)
  assert.ok(metadata['grant_types_supported']!.includes(GRANT))
  assert.deepEqual(metadata['authorization_grant_profiles_supported'], [PROFILE])
  const without = await startSignInGateway(t)
  await addClient(without)
  const none = await metadataOf(without)
  assert.ok(!none['grant_types_supported']!.includes(GRANT))
  assert.equal(none['authorization_grant_profiles_supported'], undefined)
  await assertRefused(await redeem(without, await assertionOf(without)), 'no issuer', 'unsupported_grant_type')
})

test('a client of the SDK connects with an assertion, by the URL of the endpoint alone', async (t) => {
  const gateway = await start(t)
  const { url } = gateway
  const authProvider = new CrossAppAccessProvider({
    clientId: 'desktop',
    clientSecret: SECRET,
    expectedIssuer: url,
    assertion: ({ authorizationServerUrl, resourceUrl, scope }) =>
      assertionOf(gateway, { aud: authorizationServerUrl, resource: resourceUrl, scope })
  })
  const client = new Client({ name: 'a client', version: '1' })
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { authProvider }))
  assert.ok((await client.listTools()).tools.some(({ name }) => name === 'k8s__echo'))
  await client.close()
})

test('a client that registered itself gets tokens for assertions only after an administrator has approved it', async (t) => {
  const gateway = await start(t, { env: { TOWPATH_OAUTH_DCR: 'approve' } })
  const registered = await fetch(`${gateway.url}/oauth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      client_name: 'A client',
      redirect_uris: ['http://127.0.0.1:9/callback'],
      grant_types: [GRANT, 'authorization_code'],
      token_endpoint_auth_method: 'client_secret_post'
    })
  })
  const { client_id, client_secret } = (await registered.json()) as Record<string, string>
  const credentials = { client_id: client_id!, client_secret: client_secret! }
  const of = async () => redeem(gateway, await assertionOf(gateway, { client_id }), credentials)
  await assertRefused(await of(), 'not approved')
  assert.equal((await gateway.api('POST', `/oauth_clients/${client_id}/approve`)).status, 200)
  await tokenOf(await of())
  await tokenOf(await redeem(gateway, await assertionOf(gateway)))
})
