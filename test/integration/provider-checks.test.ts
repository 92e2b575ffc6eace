import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createBrowser } from '../fixtures/identity-provider/browser.ts'
import {
  ADMIN,
  failedChecks,
  signIn,
  startSignInGateway,
  type SignInGateway
} from '../fixtures/identity-provider/gateway.ts'
import type { Faults } from '../fixtures/identity-provider/provider.ts'
import { commandLine } from '../e2e/cli.ts'

interface Check {
  readonly id: string
  readonly status: string
  readonly title: string
  readonly detail?: string
  readonly hint?: string
}

async function checksOf({ api }: SignInGateway): Promise<Map<string, Check>> {
  const { status, body } = await api('GET', '/identity_provider/checks')
  assert.equal(status, 200, JSON.stringify(body))
  return new Map((body.checks as Check[]).map((check) => [check.id, check]))
}

// the public URL of tests is on this machine
const always = 'public_url warn'

test('a provider that is set up passes all checks, and the addresses to register are named', async (t) => {
  const gateway = await startSignInGateway(t)
  assert.deepEqual(await failedChecks(gateway), [always])
  const checks = await checksOf(gateway)
  assert.deepEqual(
    ['oidc_discovery', 'oidc_issuer', 'oidc_endpoints', 'oidc_pkce', 'oidc_client_auth', 'oidc_scopes', 'oidc_logout']
      .concat(['oidc_keys', 'oidc_clock', 'oidc_groups', 'oidc_redirect_uri'])
      .filter((id) => !checks.has(id)),
    []
  )
  const { title, detail } = checks.get('oidc_redirect_uri')!
  assert.ok(title.endsWith(`${gateway.publicUrl}/auth/callback`), title)
  assert.match(detail!, /\/auth\/logout;.*\/auth\/backchannel-logout$/)
  assert.equal(checks.get('oidc_logout')!.title, 'The provider can tell the gateway when people sign out there')
})

const noKeys = JSON.stringify({ keys: [] })
const octets = JSON.stringify({ keys: [{ kty: 'oct', k: 'AA' }, 7, null] })

/** What is wrong at the provider, and the check that tells it. */
const broken: readonly (readonly [what: string, faults: Partial<Faults>, problems: readonly string[], told: RegExp])[] =
  [
    ['another issuer', { metadata: { issuer: 'https://other.example.com' } }, ['oidc_issuer fail'], /other\.example/],
    ['no issuer', { metadata: { issuer: undefined } }, ['oidc_issuer fail'], /names another.*: nothing/],
    [
      'markup as issuer',
      { metadata: { issuer: 'x\u001b[31m\u202e' } },
      ['oidc_issuer fail'],
      /"x\\u\{1b\}\[31m\\u\{202e\}"/
    ],
    ['no PKCE', { metadata: { code_challenge_methods_supported: undefined } }, ['oidc_pkce warn'], /not announce PKCE/],
    ['plain PKCE', { metadata: { code_challenge_methods_supported: ['plain'] } }, ['oidc_pkce fail'], /without S256/],
    [
      'an endpoint without an address',
      { metadata: { token_endpoint: 'nowhere', jwks_uri: 'file:///etc/passwd' } },
      ['oidc_endpoints fail'],
      /no usable token_endpoint, jwks_uri$/
    ],
    ['keys that are gone', { keys: { status: 404, body: '{}' } }, ['oidc_keys fail'], /cannot be read/],
    ['keys that are no JSON', { keys: { status: 200, body: '<html>' } }, ['oidc_keys fail'], /cannot be read/],
    ['no keys', { keys: { status: 200, body: noKeys } }, ['oidc_keys fail'], /no key for RS256/],
    ['keys of other kinds', { keys: { status: 200, body: octets } }, ['oidc_keys fail'], /no key for RS256/],
    ['a large key set', { keys: { status: 200, body: ' '.repeat(1_100_000) } }, ['oidc_keys fail'], /cannot be read/],
    [
      'tokens signed with the secret',
      { metadata: { id_token_signing_alg_values_supported: ['HS256'] } },
      ['oidc_keys fail'],
      /no algorithm with a public key/
    ],
    ['a clock that is 10 s slow', { clockMs: -10_000 }, ['oidc_clock warn'], /\d+ s apart/],
    ['a clock that is 2 min fast', { clockMs: 120_000 }, ['oidc_clock fail'], /1[12]\d s apart/],
    [
      'another way to authenticate',
      { metadata: { token_endpoint_auth_methods_supported: ['private_key_jwt'] } },
      ['oidc_client_auth warn'],
      /other ways to authenticate/
    ],
    ['no scope email', { metadata: { scopes_supported: ['openid', 'profile'] } }, ['oidc_scopes warn'], /email/],
    [
      'a scope for groups',
      { metadata: { scopes_supported: ['openid', 'profile', 'email', 'groups'] } },
      ['oidc_groups warn'],
      /scope "groups", which the gateway does not ask for/
    ],
    [
      'members of wrong types',
      { metadata: { scopes_supported: 7, claims_supported: {}, code_challenge_methods_supported: [null, 'S256'] } },
      [],
      /^$/
    ]
  ]

test('each fault of a provider is told by the check that it belongs to', async (t) => {
  const gateway = await startSignInGateway(t)
  const { faults } = gateway.idp
  const good = { ...faults }
  for (const [what, fault, problems, told] of broken) {
    Object.assign(faults, good, fault)
    const found = [...(await checksOf(gateway)).values()].filter(({ status }) => status !== 'pass')
    const ids = found.map(({ id, status }) => `${id} ${status}`)
    assert.deepEqual(ids, [always, ...problems], what)
    assert.match(found[1]?.title ?? '', told, what)
  }
  Object.assign(faults, good)
  await gateway.idp.close()
  const down = (await checksOf(gateway)).get('oidc_discovery')!
  assert.deepEqual([down.status, down.detail?.replace(/:\d+/, '')], ['fail', '127.0.0.1: connection refused'])
})

test('people without groups are counted, and missing groups are a warning where a setting needs them', async (t) => {
  const gateway = await startSignInGateway(t, { env: { TOWPATH_OIDC_ADMIN_GROUPS: 'sre' } })
  const groups = async () => {
    const { status, title } = (await checksOf(gateway)).get('oidc_groups')!
    return `${status}: ${title}`
  }
  assert.equal(await groups(), 'pass: The provider announces the claim "groups"')
  gateway.idp.faults.groupsIn = 'nowhere'
  await signIn(createBrowser(), `${gateway.url}/auth/login`, 'alice')
  assert.equal(await groups(), 'warn: None of 1 people who have signed in has a group')
  gateway.idp.faults.groupsIn = 'both'
  await signIn(createBrowser(), `${gateway.url}/auth/login`, 'bob')
  assert.equal(await groups(), 'pass: 1 of 2 people who have signed in have groups')
})

test('`towpath doctor` tells what is wrong at the provider, and the redirect URI', async (t) => {
  const gateway = await startSignInGateway(t)
  const towpath = await commandLine(t, { TOWPATH_REGISTRY: gateway.url, TOWPATH_TOKEN: ADMIN })
  const healthy = await towpath(['doctor'])
  assert.equal(healthy.code, 0, healthy.out + healthy.err)
  assert.match(healthy.err, /Redirect URI to register at the provider: http:\S+\/auth\/callback/)
  gateway.idp.faults.metadata = { issuer: 'https://other.example.com' }
  const broken = await towpath(['doctor'])
  assert.equal(broken.code, 1)
  assert.match(broken.out, /FAIL +oidc_issuer +The provider names another issuer/)
  assert.match(broken.err, /hint: oidc_issuer: set TOWPATH_OIDC_ISSUER/)
})

test('where nobody signs in there is nothing to check', async (t) => {
  const gateway = await startSignInGateway(t, { env: { TOWPATH_AUTH: 'tokens' } })
  assert.equal((await checksOf(gateway)).size, 0)
})
