import assert from 'node:assert/strict'
import { after, test, type TestContext } from 'node:test'
import { freePort } from '../ports.ts'
import { createBrowser, type Browser } from '../fixtures/identity-provider/browser.ts'
import {
  addServer,
  connectClient,
  createAuthorization,
  failedChecks,
  listTools,
  startProviderGateway,
  type ProviderGateway
} from '../fixtures/identity-provider/gateway.ts'
import { until } from '../until.ts'
import { startKeycloak } from './keycloak.ts'

const publicUrl = `http://127.0.0.1:${await freePort()}`
// not in a hook: its time would count as that of the first test
const keycloak = await startKeycloak(publicUrl)
after(() => keycloak.stop())

const startGateway = (t: TestContext, env: Readonly<Record<string, string>> = {}) =>
  startProviderGateway(t, publicUrl, keycloak, { env })

async function signIn(gateway: ProviderGateway, person = 'alice'): Promise<Browser> {
  const browser = createBrowser()
  const form = await browser.open(`${gateway.url}/auth/login`)
  assert.equal(form.url.href.startsWith(keycloak.issuer), true, form.url.href)
  const page = await browser.submit(form, keycloak.credentials(person))
  assert.match(page.text, /You are signed in/)
  return browser
}

const isSignedIn = async (browser: Browser, { url }: ProviderGateway) =>
  (await browser.open(`${url}/api/v0/me/session`)).status === 200

const toolsOf = async (gateway: ProviderGateway, token: string): Promise<string[]> => {
  const listed = await listTools(gateway, token)
  const { result } = (await listed.json()) as { result: { tools: { name: string }[] } }
  return result.tools.map(({ name }) => name)
}

test('a client shows the tools that a policy allows to the groups of Keycloak, and renews its tokens', async (t) => {
  const gateway = await startGateway(t)
  await addServer(t, gateway)
  const subjects = { groups: ['sre'] }
  const rule = { name: 'sre', effect: 'allow', subjects, targets: { servers: ['k8s'] } }
  assert.equal((await gateway.api('POST', '/policies', rule)).status, 201)
  const { tokens, refresh } = await connectClient(gateway)
  assert.ok((await toolsOf(gateway, tokens.access_token)).length > 0)
  const renewed = (await (await refresh()).json()) as { access_token: string }
  assert.ok((await toolsOf(gateway, renewed.access_token)).length > 0)
  const bob = await connectClient(gateway, { person: 'bob' })
  assert.deepEqual(await toolsOf(gateway, bob.tokens.access_token), [])
  const { body } = await gateway.api('GET', '/users/alice')
  assert.deepEqual([body.groups.toSorted(), body.email], [['dev', 'sre'], 'alice@example.com'])
  assert.deepEqual(await failedChecks(gateway), ['public_url warn'])
})

test('who was removed from the required group at Keycloak gets no new tokens, and is told which group', async (t) => {
  const gateway = await startGateway(t, {
    TOWPATH_OIDC_REQUIRED_GROUPS: 'sales',
    TOWPATH_OIDC_CLAIMS_MAX_AGE_MS: '10000'
  })
  const { browser, refresh, clientId } = await connectClient(gateway, { person: 'bob' })
  const since = performance.now()
  const [user, group] = [await keycloak.idOf('users', 'bob'), await keycloak.idOf('groups', 'sales')]
  await keycloak.admin('DELETE', `/users/${user}/groups/${group}`)
  t.after(() => keycloak.admin('PUT', `/users/${user}/groups/${group}`))
  // polling would meet the limit of token requests
  await until('the groups to be too old', () => performance.now() - since > 11_000)
  const refused = (await (await refresh()).json()) as { error: string }
  assert.equal(refused.error, 'invalid_grant')
  const page = await browser.open(createAuthorization(gateway, clientId).url)
  assert.deepEqual([page.status, page.url.origin], [403, gateway.url], 'Keycloak remembers who signed in')
  assert.match(page.text, /must be in the group (&quot;|")sales/)
  assert.equal(await isSignedIn(browser, gateway), false)
})

test('who signs out at Keycloak, or is signed out by its administrator, is signed out at the gateway', async (t) => {
  const gateway = await startGateway(t)
  const [alice, other, bob] = [await signIn(gateway), await signIn(gateway), await signIn(gateway, 'bob')]
  const asked = await alice.open(`${keycloak.issuer}/protocol/openid-connect/logout`)
  await alice.submit(asked, { confirmLogout: 'Logout' })
  await until('the session to end', async () => !(await isSignedIn(alice, gateway)))
  assert.equal(await isSignedIn(other, gateway), true)
  await keycloak.admin('POST', `/users/${await keycloak.idOf('users', 'alice')}/logout`)
  await until('the other session to end', async () => !(await isSignedIn(other, gateway)))
  assert.equal(await isSignedIn(bob, gateway), true)
})

test('who signs out at the gateway is signed out at Keycloak, without another question', async (t) => {
  const gateway = await startGateway(t)
  const browser = await signIn(gateway)
  const back = await browser.submit(await browser.open(`${gateway.url}/auth/logout`), {})
  assert.deepEqual([back.url.href, back.status], [`${gateway.url}/auth/logout`, 200], back.text)
  assert.equal(await isSignedIn(browser, gateway), false)
  const again = await browser.open(`${gateway.url}/auth/login`)
  assert.equal(again.url.href.startsWith(keycloak.issuer), true, 'Keycloak asks again')
})

test('sign-in goes on after Keycloak has changed its signing key', async (t) => {
  const gateway = await startGateway(t)
  await signIn(gateway)
  const config = { priority: ['1000'], algorithm: ['RS256'], active: ['true'], enabled: ['true'], keySize: ['2048'] }
  const provider = { name: 'a new key', providerId: 'rsa-generated', providerType: 'org.keycloak.keys.KeyProvider' }
  await keycloak.admin('POST', '/components', { ...provider, config })
  const alice = await signIn(gateway)
  await keycloak.admin('POST', `/users/${await keycloak.idOf('users', 'alice')}/logout`)
  await until('a logout token of the new key to count', async () => !(await isSignedIn(alice, gateway)))
})

interface KeycloakTokens {
  readonly access_token: string
  readonly id_token: string
}

/** Registers a public client of Keycloak itself, such as an MCP client would be, and returns a way to sign alice in. */
async function addDesktop(t: TestContext) {
  const attributes = { 'access.token.header.type.rfc9068': 'false' }
  const client = { clientId: 'desktop', publicClient: true, directAccessGrantsEnabled: true, attributes }
  await keycloak.admin('POST', '/clients', client)
  const [{ id }] = (await keycloak.admin('GET', '/clients?clientId=desktop')) as [{ id: string }]
  t.after(() => keycloak.admin('DELETE', `/clients/${id}`))
  const change = (more: object) => keycloak.admin('PUT', `/clients/${id}`, { ...client, ...more })
  const addMapper = (name: string, protocolMapper: string, config: object) =>
    keycloak.admin('POST', `/clients/${id}/protocol-mappers/models`, {
      name,
      protocol: 'openid-connect',
      protocolMapper,
      config: { ...config, 'access.token.claim': 'true', 'id.token.claim': 'true' }
    })
  await addMapper('groups', 'oidc-group-membership-mapper', { 'claim.name': 'groups', 'full.path': 'false' })
  const addAudience = (audience: string) =>
    addMapper(`audience ${audience}`, 'oidc-audience-mapper', { 'included.custom.audience': audience })
  const fields = { client_id: 'desktop', grant_type: 'password', scope: 'openid', ...keycloak.credentials('alice') }
  const signInAsAlice = async (): Promise<KeycloakTokens> => {
    const answer = await fetch(`${keycloak.issuer}/protocol/openid-connect/token`, {
      method: 'POST',
      body: new URLSearchParams(fields)
    })
    assert.equal(answer.status, 200, await answer.clone().text())
    return (await answer.json()) as KeycloakTokens
  }
  return { change, addAudience, signInAsAlice }
}

test('IA-27 tokens of Keycloak itself count with an audience mapper only, and ID tokens never do', async (t) => {
  const gateway = await startGateway(t, { TOWPATH_AUTH: 'external' })
  await addServer(t, gateway)
  const statusOf = async (token: string) => (await listTools(gateway, token)).status
  const { change, addAudience, signInAsAlice } = await addDesktop(t)
  const plain = await signInAsAlice()
  assert.deepEqual([await statusOf(plain.access_token), await statusOf(plain.id_token)], [401, 401], 'no audience')

  await addAudience(`${publicUrl}/mcp`)
  assert.equal(await statusOf((await signInAsAlice()).access_token), 401, 'type JWT without a configured audience')
  await change({ attributes: { 'access.token.header.type.rfc9068': 'true' } })
  const typed = await signInAsAlice()
  assert.deepEqual([await statusOf(typed.access_token), await statusOf(typed.id_token)], [200, 401])
  const { body } = await gateway.api('GET', '/users/alice')
  assert.deepEqual([body.source, body.groups.toSorted()], ['jit', ['dev', 'sre']])
  const { checks } = (await gateway.api('GET', '/identity_provider/checks')).body as { checks: { status: string }[] }
  assert.deepEqual([...new Set(checks.map(({ status }) => status))], ['pass'], JSON.stringify(checks))
})

test('IA-27 with a configured audience tokens of the type JWT of Keycloak count, and ID tokens with it never do', async (t) => {
  const gateway = await startGateway(t, { TOWPATH_AUTH: 'external', TOWPATH_EXTERNAL_AUDIENCE: 'towpath-mcp' })
  await addServer(t, gateway)
  const statusOf = async (token: string) => (await listTools(gateway, token)).status
  const { addAudience, signInAsAlice } = await addDesktop(t)
  assert.equal(await statusOf((await signInAsAlice()).access_token), 401)
  await addAudience('towpath-mcp')
  const tokens = await signInAsAlice()
  assert.deepEqual([await statusOf(tokens.access_token), await statusOf(tokens.id_token)], [200, 401])
})
