import assert from 'node:assert/strict'
import { generateKeyPairSync, randomUUID, type JsonWebKey } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'
import {
  Client as ClientV2,
  ClientCredentialsProvider as SecretV2,
  PrivateKeyJwtProvider as KeyV2,
  StreamableHTTPClientTransport as TransportV2
} from '@modelcontextprotocol/client'
import { ClientCredentialsProvider, PrivateKeyJwtProvider } from '@modelcontextprotocol/sdk/client/auth-extensions.js'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { decodeJwt, SignJWT } from 'jose'
import {
  addReplica,
  addServer,
  listTools,
  postToken,
  registerClient,
  startSignInGateway,
  type SignInGateway,
  type Tokens
} from '../fixtures/identity-provider/gateway.ts'
import { someFor } from '../matrix.ts'
import { addCleanup, engines } from '../store.ts'
import { until } from '../until.ts'
import { legacyBody, modernBody, modernHeaders } from './mcp-messages.ts'

const GRANT = 'client_credentials'
const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
const TOKEN = 'twp_the-token-of-the-robot-client'

type Fields = Readonly<Record<string, string>>

const createKey = (kid = 'first') => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return { privateKey, jwk: { ...publicKey.export({ format: 'jwk' }), kid, alg: 'ES256', use: 'sig' } }
}
type Key = ReturnType<typeof createKey>

/** Registers an MCP client that may use the server k8s. */
async function addClient({ api }: SignInGateway, more: object = {}, name = 'robot') {
  const made = await api('POST', '/clients', { name, allowed_servers: ['k8s'], access_token: TOKEN, ...more })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  return made.body
}

/** Returns an assertion of the client; members of `claims` that are undefined are left out. */
function sign({ publicUrl }: Pick<SignInGateway, 'publicUrl'>, key: Key, claims: object = {}, header: object = {}) {
  const now = Math.floor(Date.now() / 1_000)
  const own = { iss: 'robot', sub: 'robot', aud: publicUrl, iat: now, exp: now + 60, jti: randomUUID() }
  return new SignJWT({ ...own, ...claims })
    .setProtectedHeader({ alg: 'ES256', kid: 'first', ...header })
    .sign(key.privateKey)
}

const withSecret = (gateway: SignInGateway, more: Fields = {}) =>
  postToken(gateway, { grant_type: GRANT, client_id: 'robot', client_secret: TOKEN, ...more })

const withAssertion = (gateway: SignInGateway, assertion: string, more: Fields = {}) =>
  postToken(gateway, {
    grant_type: GRANT,
    client_assertion_type: ASSERTION_TYPE,
    client_assertion: assertion,
    ...more
  })

async function tokenOf(answer: Response): Promise<string> {
  const body = (await answer.json()) as Tokens
  assert.equal(answer.status, 200, JSON.stringify(body))
  return body.access_token
}

async function assertRefused(answer: Response, status: number, error: string, what = error): Promise<void> {
  const body = (await answer.json()) as { error: string }
  assert.deepEqual([answer.status, body.error], [status, error], `${what}: ${JSON.stringify(body)}`)
}

const namesOf = async (answer: Response) => {
  assert.equal(answer.status, 200)
  const { result } = (await answer.json()) as { result: { tools: { name: string }[] } }
  return new Set(result.tools.map(({ name }) => name.split('__')[0]))
}

async function startWithServers(t: TestContext, options: Parameters<typeof startSignInGateway>[1] = {}) {
  const gateway = await startSignInGateway(t, options)
  for (const name of ['k8s', 'crm']) await addServer(t, gateway, name)
  const made = await gateway.api('POST', '/tool-groups', { name: 'team', included_servers: ['k8s', 'crm'] })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  return gateway
}

test('IA-29 an MCP client gets tokens with its secret or its key, and its allow list and policies apply', async (t) => {
  const gateway = await startWithServers(t)
  const { url, api } = gateway
  const key = createKey()
  await addClient(gateway)
  await addClient(gateway, { jwks: { keys: [key.jwk] }, access_token: `${TOKEN}-of-another` }, 'signer')
  const credentials = Buffer.from(`robot:${TOKEN}`).toString('base64')
  const requests: Readonly<Record<string, (resource?: string) => Promise<Response>>> = {
    client_secret_post: (resource) => withSecret(gateway, resource === undefined ? {} : { resource }),
    client_secret_basic: (resource) =>
      fetch(`${url}/oauth/token`, {
        method: 'POST',
        headers: { authorization: `Basic ${credentials}` },
        body: new URLSearchParams({ grant_type: GRANT, ...(resource !== undefined && { resource }) })
      }),
    async private_key_jwt(resource) {
      const assertion = await sign(gateway, key, { iss: 'signer', sub: 'signer' })
      return withAssertion(gateway, assertion, resource === undefined ? {} : { resource })
    }
  }
  for (const [method, request] of Object.entries(requests)) {
    const answer = await request()
    const body = (await answer.clone().json()) as Tokens
    assert.deepEqual([body.scope, body.expires_in, body.refresh_token], ['mcp', 600, undefined], method)
    const token = await tokenOf(answer)
    const name = method === 'private_key_jwt' ? 'signer' : 'robot'
    const { aud, client_id, sub } = decodeJwt(token)
    assert.deepEqual([aud, client_id, sub], [`${url}/mcp`, name, name], method)
    assert.deepEqual(await namesOf(await listTools(gateway, token)), new Set(['k8s']), method)

    for (const path of ['/mcp', '/sse', '/v0/groups/team/mcp', '/v0/groups/team/sse']) {
      const own = await tokenOf(await request(url + path))
      await assertServes(gateway, own, path)
    }
  }
  const rule = { name: 'no-echo', effect: 'deny', subjects: { clients: ['robot'] }, targets: { tools: ['echo'] } }
  assert.equal((await api('POST', '/policies', rule)).status, 201)
  for (const [method, hasEcho] of [
    ['client_secret_post', false],
    ['private_key_jwt', true]
  ] as const) {
    const listed = await (await listTools(gateway, await tokenOf(await requests[method]!()))).text()
    assert.equal(listed.includes('k8s__echo'), hasEcho, 'the policy is about the first client only')
  }
})

/** Asserts that a token works at its endpoint in both eras, for servers of the allow list only, and nowhere else. */
async function assertServes(gateway: SignInGateway, token: string, path: string): Promise<void> {
  const { url } = gateway
  const authorization = `Bearer ${token}`
  if (path.endsWith('/sse')) {
    const stop = new AbortController()
    const stream = await fetch(url + path, { headers: { authorization }, signal: stop.signal })
    assert.equal(stream.status, 200, path)
    stop.abort()
  } else {
    const modern = await fetch(url + path, {
      method: 'POST',
      headers: { ...modernHeaders('tools/list'), authorization },
      body: modernBody('tools/list')
    })
    assert.deepEqual(await namesOf(modern), new Set(['k8s']), path)
    assert.deepEqual(await namesOf(await listTools(gateway, token, path)), new Set(['k8s']), path)
    for (const name of ['crm__echo', 'nothing__echo']) {
      const body = legacyBody('tools/call', { name, arguments: {} })
      const headers = {
        authorization,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream'
      }
      const called = await (await fetch(url + path, { method: 'POST', headers, body })).text()
      assert.match(called, /"error"/, `${name} does not exist for the client`)
    }
  }
  const other = path === '/mcp' ? '/v0/groups/team/mcp' : '/mcp'
  assert.equal((await listTools(gateway, token, other)).status, 401, `${path} at ${other}`)
  assert.equal((await fetch(`${url}/api/v0/servers`, { headers: { authorization } })).status, 401, 'REST')
}

test('clients of both SDKs connect with a secret and with a key, by URL alone', async (t) => {
  const gateway = await startWithServers(t)
  const { url } = gateway
  const { privateKey, jwk } = createKey()
  await addClient(gateway)
  await addClient(gateway, { jwks: { keys: [jwk] }, access_token: `${TOKEN}-of-another` }, 'signer')
  const expectedIssuer = url
  const secret = { clientId: 'robot', clientSecret: TOKEN, expectedIssuer }
  const pem = privateKey.export({ format: 'pem', type: 'pkcs8' }) as string
  const signer = { clientId: 'signer', privateKey: pem, algorithm: 'ES256', expectedIssuer }
  const info = { name: 'a client', version: '1' }
  for (const provider of [new SecretV2(secret), new KeyV2(signer)]) {
    const client = new ClientV2(info)
    await client.connect(new TransportV2(new URL(`${url}/mcp`), { authProvider: provider }))
    assert.ok((await client.listTools()).tools.every(({ name }) => name.startsWith('k8s__')))
    await client.close()
  }
  for (const provider of [new ClientCredentialsProvider(secret), new PrivateKeyJwtProvider(signer)]) {
    const client = new Client(info)
    await client.connect(
      new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { authProvider: provider }) as Transport
    )
    assert.ok((await client.listTools()).tools.every(({ name }) => name.startsWith('k8s__')))
    await client.close()
  }
})

test('metadata names what works, and only an administrator makes clients that get tokens as themselves', async (t) => {
  const gateway = await startSignInGateway(t)
  const { url } = gateway
  const metadata = (await (await fetch(`${url}/.well-known/oauth-authorization-server`)).json()) as Record<
    string,
    string[]
  >
  assert.ok(metadata['grant_types_supported']!.includes(GRANT))
  const methods = metadata['token_endpoint_auth_methods_supported']!
  for (const name of ['client_secret_basic', 'client_secret_post', 'private_key_jwt']) assert.ok(methods.includes(name))
  const algorithms = metadata['token_endpoint_auth_signing_alg_values_supported']!
  assert.ok(algorithms.includes('ES256') && !algorithms.some((name) => name.startsWith('HS') || name === 'none'))

  const registered = await fetch(`${url}/oauth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      redirect_uris: ['http://127.0.0.1/callback'],
      grant_types: [GRANT, 'authorization_code'],
      token_endpoint_auth_method: 'client_secret_post'
    })
  })
  await assertRefused(registered, 400, 'invalid_client_metadata')
  const clientId = await registerClient(gateway)
  await assertRefused(await postToken(gateway, { grant_type: GRANT, client_id: clientId }), 400, 'invalid_request')
})

test('credentials that are wrong, or meant for something else, get no token', async (t) => {
  const gateway = await startSignInGateway(t)
  const { url } = gateway
  const key = createKey()
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  await addClient(gateway)
  await addClient(gateway, { jwks: { keys: [key.jwk] }, access_token: `${TOKEN}-of-another` }, 'signer')
  const hash = (await crypto.subtle.digest('SHA-256', Buffer.from(TOKEN))) as ArrayBuffer
  const secrets = [
    `${TOKEN}x`,
    `${TOKEN}-of-another`,
    Buffer.from(hash).toString('hex'),
    Buffer.from(hash).toString('base64url')
  ]
  for (const client_secret of secrets)
    await assertRefused(await withSecret(gateway, { client_secret }), 401, 'invalid_client')
  await assertRefused(await withSecret(gateway, { client_id: 'nobody' }), 401, 'invalid_client')
  await assertRefused(await postToken(gateway, { grant_type: GRANT, client_id: 'robot' }), 401, 'invalid_client')
  const token = { client_id: 'signer', client_secret: `${TOKEN}-of-another` }
  await assertRefused(await withSecret(gateway, token), 401, 'invalid_client', 'a client with keys has no secret')
  for (const resource of [`${url}/api`, 'https://other.example/mcp', `${url}/api/v0/servers`]) {
    await assertRefused(await withSecret(gateway, { resource }), 400, 'invalid_target', resource)
  }
  for (const scope of ['towpath:admin', 'offline_access', 'mcp towpath:read']) {
    await assertRefused(await withSecret(gateway, { scope }), 400, 'invalid_scope', scope)
  }
  for (const grant of ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code']) {
    const answer = await withSecret(gateway, { grant_type: grant, code: 'x', refresh_token: 'x', device_code: 'x' })
    await assertRefused(answer, 400, 'invalid_request', grant)
  }
  const authorize = `${url}/oauth/authorize?client_id=robot&response_type=code&redirect_uri=http://127.0.0.1:9/callback`
  assert.equal((await fetch(authorize, { redirect: 'manual' })).status, 400, 'nobody can be sent through such a client')

  const own = { iss: 'signer', sub: 'signer' }
  const now = Math.floor(Date.now() / 1_000)
  const bad: Readonly<Record<string, object>> = {
    'another audience': { ...own, aud: 'https://other.example' },
    'no audience': { ...own, aud: undefined },
    'the endpoint as audience': { ...own, aud: `${url}/mcp` },
    'another issuer': { ...own, iss: 'robot' },
    'a client without keys': { iss: 'robot', sub: 'robot' },
    expired: { ...own, exp: now - 60 },
    'no expiry': { ...own, exp: undefined },
    'expiry in two hours': { ...own, exp: now + 7_200 },
    'not yet': { ...own, nbf: now + 600 },
    'no id': { ...own, jti: undefined },
    'a long id': { ...own, jti: 'x'.repeat(2_000) }
  }
  for (const [what, claims] of Object.entries(bad)) {
    const answer = await withAssertion(gateway, await sign(gateway, key, claims))
    await assertRefused(answer, 401, 'invalid_client', what)
  }
  const stranger = createKey()
  await assertRefused(await withAssertion(gateway, await sign(gateway, stranger, own)), 401, 'invalid_client')
  const unsigned = ['{"alg":"none"}', JSON.stringify({ ...own, aud: url, exp: now + 60, jti: 'x' })]
    .map((part) => Buffer.from(part).toString('base64url'))
    .join('.')
  await assertRefused(await withAssertion(gateway, `${unsigned}.`), 401, 'invalid_client', 'alg none')
  const pem = publicKey.export({ format: 'pem', type: 'spki' }) as string
  const symmetric = await new SignJWT({ ...own, aud: url, exp: now + 60, jti: 'y' })
    .setProtectedHeader({ alg: 'HS256', kid: 'first' })
    .sign(Buffer.from(pem))
  await assertRefused(await withAssertion(gateway, symmetric), 401, 'invalid_client', 'HS256 with the public key')
  const endpoint = await sign(gateway, key, { ...own, aud: `${url}/oauth/token` })
  assert.equal((await withAssertion(gateway, endpoint)).status, 200, 'the token endpoint is an audience too')
})

test('an assertion counts once, whichever replicas it reaches at the same time', async (t) => {
  const gateway = await startSignInGateway(t, { engine: 'postgres' })
  const replica = await addReplica(t, gateway)
  const key = createKey()
  await addClient(gateway, { jwks: { keys: [key.jwk] } })
  await until('the other replica knows the client', async () => {
    const listed = await replica.api('GET', '/clients/robot')
    return listed.status === 200
  })
  for (let round = 0; round < 4; round++) {
    const assertion = await sign(gateway, key)
    const answers = await Promise.all(
      [gateway, replica, gateway, replica].map((each) => withAssertion(each, assertion))
    )
    const statuses = answers.map(({ status }) => status).sort((a, b) => a - b)
    assert.deepEqual(statuses, [200, 401, 401, 401], `round ${round}`)
  }
})

for (const engine of someFor('keys at an address', engines)) {
  test(`keys at an address are read again for an unknown key, at most once a minute (${engine})`, async (t) => {
    const gateway = await startSignInGateway(t, { engine })
    const keys = await startKeySet(t)
    const [first, second] = [createKey('first'), createKey('second')]
    keys.set = { keys: [first.jwk] }
    await addClient(gateway, { jwks_uri: keys.url })
    assert.equal((await withAssertion(gateway, await sign(gateway, first))).status, 200)
    keys.set = { keys: [second.jwk] }
    const assertions = await Promise.all(
      Array.from({ length: 20 }, (_, i) => sign(gateway, second, {}, { kid: `unknown ${i}` }))
    )
    for (const answer of await Promise.all(assertions.map((each) => withAssertion(gateway, each)))) {
      assert.equal(answer.status, 401)
    }
    assert.equal(keys.reads, 1, 'the key set was read a moment ago')
  })
}

test('a key set that cannot be read refuses the assertions, and is not asked for with each of them', async (t) => {
  const gateway = await startSignInGateway(t)
  const keys = await startKeySet(t)
  const key = createKey()
  await addClient(gateway, { jwks_uri: keys.url })
  for (const fault of ['500', 'redirect', 'large', 'no JSON'] as const) {
    keys.fault = fault
    // another address for each fault: failures are remembered by address
    const jwks_uri = `${keys.url}?${new URLSearchParams({ fault }).toString()}`
    assert.equal((await gateway.api('PUT', '/clients/robot', { jwks_uri })).status, 200)
    const before = keys.reads
    for (let i = 0; i < 3; i++) {
      const answer = await withAssertion(gateway, await sign(gateway, key))
      assert.ok([400, 401].includes(answer.status), `${fault}: ${answer.status}`)
      assert.doesNotMatch(await answer.text(), /127\.0\.0\.1|secret/, 'the answer says nothing about the address')
    }
    assert.ok(keys.reads - before <= 1, `${fault}: ${keys.reads - before} reads`)
  }
})

/** Serves a key set at a URL of loopback. */
async function startKeySet(t: TestContext) {
  const state = {
    url: '',
    set: { keys: [] as JsonWebKey[] },
    reads: 0,
    fault: undefined as '500' | 'redirect' | 'large' | 'no JSON' | undefined
  }
  const server = createServer((_request, response) => {
    state.reads++
    const { fault } = state
    if (fault === 'redirect') return response.writeHead(302, { location: 'http://169.254.169.254/' }).end()
    const body = fault === 'large' ? `{"keys":[],"x":"${'x'.repeat(100_000)}"}` : JSON.stringify(state.set)
    response.writeHead(fault === '500' ? 500 : 200, { 'cache-control': 'max-age=31536000' })
    return response.end(fault === 'no JSON' ? 'secret page' : body)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  addCleanup(t, () => {
    server.closeAllConnections()
    server.close()
  })
  state.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`
  return state
}

test('a token, its streams and its sessions end when the client is removed, or its token or keys are replaced', async (t) => {
  const gateway = await startWithServers(t, { engine: 'postgres' })
  const replica = await addReplica(t, gateway)
  const { api, url } = gateway
  const key = createKey()
  const changes: Readonly<Record<string, () => Promise<{ status: number }>>> = {
    'its own token is replaced': () => api('PUT', '/clients/robot', { access_token: `${TOKEN}-2` }),
    'its keys are replaced': () => api('PUT', '/clients/robot', { jwks: { keys: [createKey('next').jwk] } }),
    'its keys are removed': () => api('PUT', '/clients/robot', { jwks: null }),
    'it is removed': () => api('DELETE', '/clients/robot')
  }
  for (const [what, change] of Object.entries(changes)) {
    await api('DELETE', '/clients/robot')
    await addClient(gateway, { jwks: { keys: [key.jwk] } })
    const token = await tokenOf(await withAssertion(gateway, await sign(gateway, key)))
    await until('both replicas accept the token', async () => (await listTools(replica, token)).status === 200)
    assert.equal((await api('PUT', '/clients/robot', { allowed_servers: ['k8s', 'crm'] })).status, 200)
    await until('the token goes on with the new list', async () => {
      const answer = await listTools(replica, token)
      return answer.status === 200 && (await namesOf(answer)).has('crm')
    })
    const stream = await openStream(gateway, token)
    assert.ok([200, 204].includes((await change()).status), what)
    await stream.ended
    for (const each of [gateway, replica]) {
      await until(`${what}: the token ends`, async () => (await listTools(each, token)).status === 401)
    }
  }
  await addClient(gateway, { jwks: { keys: [key.jwk] } })
  const later = await tokenOf(await withAssertion(gateway, await sign(gateway, key)))
  assert.deepEqual(await namesOf(await listTools(gateway, later)), new Set(['k8s']), `a new client at ${url}`)
})

/** Opens a session and its stream. `ended` resolves when the stream ends. */
async function openStream({ url }: SignInGateway, token: string) {
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream'
  }
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'a client', version: '1' } }
  const opened = await fetch(`${url}/mcp`, { method: 'POST', headers, body: legacyBody('initialize', params) })
  const session = opened.headers.get('mcp-session-id')
  await opened.text()
  assert.ok(session)
  const stream = await fetch(`${url}/mcp`, {
    headers: { authorization: headers.authorization, accept: 'text/event-stream', 'mcp-session-id': session }
  })
  assert.equal(stream.status, 200)
  return { session, ended: stream.text().catch(() => undefined) }
}

test('a session belongs to the way in: a token of the authorization server opens none of the own token', async (t) => {
  const gateway = await startWithServers(t)
  await addClient(gateway)
  const token = await tokenOf(await withSecret(gateway))
  const { session } = await openStream(gateway, token)
  const header = { 'mcp-session-id': session }
  assert.equal((await listTools(gateway, token, '/mcp', header)).status, 200)
  assert.equal((await listTools(gateway, TOKEN)).status, 200, 'the own token goes on working')
  assert.equal((await listTools(gateway, TOKEN, '/mcp', header)).status, 404)
})

test('keys that cannot be used are refused, confidential ones too, and come back as they were stored', async (t) => {
  const gateway = await startSignInGateway(t)
  const { api } = gateway
  const { privateKey, jwk } = createKey()
  const [small, large] = [1_024, 2_048].map((modulusLength) =>
    generateKeyPairSync('rsa', { modulusLength }).publicKey.export({ format: 'jwk' })
  )
  await addClient(gateway)
  const refused: Readonly<Record<string, object>> = {
    'a private key': { jwks: { keys: [{ ...jwk, ...privateKey.export({ format: 'jwk' }) }] } },
    'a symmetric key': { jwks: { keys: [{ kty: 'oct', k: 'c2VjcmV0' }] } },
    'no key': { jwks: { keys: [] } },
    'too many keys': { jwks: { keys: Array.from({ length: 11 }, () => jwk) } },
    'a short key': { jwks: { keys: [small] } },
    'a point beside the curve': { jwks: { keys: [{ ...jwk, x: Buffer.alloc(32, 1).toString('base64url') }] } },
    'another curve': { jwks: { keys: [{ ...jwk, crv: 'secp256k1' }] } },
    'another use': { jwks: { keys: [{ ...jwk, use: 'enc' }] } },
    'another algorithm': { jwks: { keys: [{ ...jwk, alg: 'HS256' }] } },
    'a name of Object': { jwks: { keys: [{ ...jwk, kty: 'constructor' }] } },
    'no set': { jwks: jwk },
    'a list': { jwks: [jwk] },
    'both kinds': { jwks: { keys: [jwk] }, jwks_uri: 'https://keys.example/set' },
    'plain http': { jwks_uri: 'http://keys.example/set' },
    'a user': { jwks_uri: 'https://user:password@keys.example/set' },
    'no URL': { jwks_uri: 'keys' }
  }
  for (const [what, body] of Object.entries(refused)) {
    const answer = await api('PUT', '/clients/robot', body)
    assert.equal(answer.status, 400, what)
    assert.doesNotMatch(JSON.stringify(answer.body), /password|c2VjcmV0/, what)
    assert.equal((await api('POST', '/clients', { name: 'other', ...body })).status, 400, what)
  }
  const stored = await api('PUT', '/clients/robot', {
    jwks: { keys: [{ ...jwk, x5c: ['certificate'], oth1: 1 }, large] }
  })
  assert.deepEqual(stored.body.jwks, {
    keys: [{ kty: 'EC', crv: 'P-256', x: jwk.x, y: jwk.y, kid: 'first', alg: 'ES256', use: 'sig' }, large]
  })
  const moved = await api('PUT', '/clients/robot', { jwks_uri: 'https://keys.example/set' })
  assert.deepEqual([moved.body.jwks, moved.body.jwks_uri], [undefined, 'https://keys.example/set'])
  const kept = await api('PUT', '/clients/robot', { description: 'a robot' })
  assert.equal(kept.body.jwks_uri, 'https://keys.example/set')
  const none = await api('PUT', '/clients/robot', { jwks_uri: null })
  assert.deepEqual([none.body.jwks, none.body.jwks_uri], [undefined, undefined])
  const audit = await api('GET', '/audit?action=client.change')
  assert.doesNotMatch(JSON.stringify(audit.body), new RegExp(String(privateKey.export({ format: 'jwk' }).d)))
})
