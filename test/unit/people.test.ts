import assert from 'node:assert/strict'
import { test } from 'node:test'
import { buildCatalog, createCatalogCache } from '../../src/catalog/catalog.ts'
import { createSignInLeases } from '../../src/gateway/sign-in-leases.ts'
import type { SignedIn } from '../../src/catalog/people.ts'
import { credentialsDigest } from '../../src/domain/access/client-credentials.ts'
import type { SignIn, StoredClient, StoredPrincipal, StoredUser, Tombstone } from '../../src/registry/model/model.ts'
import { sha256, stateOf, storedClient, storedToken, storedUser } from './stored.ts'

const alice: StoredUser = { ...storedUser('alice'), groups: ['sre', 'dev'] }
const signIn = (more: Partial<SignIn> = {}): SignIn => ({
  kind: 'grant',
  principalId: alice.id,
  credential: sha256('grant'),
  validFrom: 1_000,
  expiresAt: 601_000,
  ...more
})
const withAlice = (user: Partial<StoredUser> = {}, tombstones: readonly Tombstone[] = []) =>
  buildCatalog(stateOf('1', { principals: [{ ...alice, ...user }], tombstones }), createCatalogCache())
const peopleOf = (...given: Parameters<typeof withAlice>) => withAlice(...given).people
const tombstone = (kind: Tombstone['kind'], id: string): Tombstone => ({
  kind,
  hash: sha256(id).toString('hex'),
  until: 9e12
})

test('a sign-in makes a caller with the role of the user, and one key for each OAuth client', () => {
  const people = peopleOf()
  const [one, other, browser] = [
    people.callerOf({ signIn: signIn(), oauthClient: 'https://a.test/c' }),
    people.callerOf({ signIn: signIn(), oauthClient: 'https://b.test/c' }),
    people.callerOf({ signIn: signIn({ kind: 'session' }) })
  ]
  assert.equal(one!.kind, 'user', 'the role is that of the user')
  assert.match(one!.key, /^user:id-alice\/[0-9a-f]{16}$/, 'the key holds a hash of the client')
  assert.notEqual(one!.key, other!.key, 'clients do not share a key')
  assert.equal(browser!.key, 'user:id-alice', 'a browser session has the key of the user')
})

test('a sign-in ends with the user, with its credential, and with the time from which sign-ins count', () => {
  const cases: readonly (readonly [string, Partial<StoredUser>, readonly Tombstone[], boolean])[] = [
    ['nothing ended', {}, [], true],
    ['another grant ended', {}, [tombstone('grant', 'other')], true],
    ['a session with the same id ended', {}, [tombstone('session', 'grant')], true],
    ['the grant ended', {}, [tombstone('grant', 'grant')], false],
    ['the user is suspended', { active: false }, [], false],
    ['earlier sign-ins ended', { sessionsValidFrom: 1_001 }, [], false],
    ['sign-ins before this one ended', { sessionsValidFrom: 1_000 }, [], true],
    ['the user was replaced', { id: 'id-other' }, [], false]
  ]
  for (const [what, user, tombstones, isValid] of cases) {
    const people = peopleOf(user, tombstones)
    assert.equal(people.callerOf({ signIn: signIn() }) !== undefined, isValid, what)
    assert.equal(people.isActive(signIn(), 'user'), isValid, what)
  }
  assert.equal(peopleOf({ kind: 'admin' }).isActive(signIn(), 'user'), false, 'the role has changed')
})

test('a user belongs to teams by hand and by groups of the identity provider', () => {
  const teams = [
    { id: 'a', name: 'by hand', members: [{ userId: alice.id, role: 'member' as const }], groups: [], revision: '1' },
    { id: 'b', name: 'by group', members: [], groups: ['x', 'sre'], revision: '1' },
    { id: 'c', name: 'others', members: [{ userId: 'id-bob', role: 'manager' as const }], groups: ['x'], revision: '1' }
  ]
  const { people } = buildCatalog(stateOf('1', { principals: [alice], teams }), createCatalogCache())
  assert.deepEqual(people.membershipsOf(alice.id), { groups: ['sre', 'dev'], teams: ['by hand', 'by group'] })
  assert.deepEqual(people.membershipsOf('nobody'), { groups: [], teams: [] })
})

test('what a sign-in has open ends with it, unless another sign-in has the same key', () => {
  let now = 1_000
  const leases = createSignInLeases(() => now)
  const callers = ['one', 'two'].map((id) => peopleOf().callerOf({ signIn: signIn({ credential: sha256(id) }) })!)
  for (const caller of callers) leases.renew(caller)
  assert.deepEqual([...leases.removeEnded(withAlice())], [], 'nothing has ended')
  assert.deepEqual([...leases.removeEnded(withAlice({}, [tombstone('grant', 'one')]))], [], 'the other one is left')
  assert.deepEqual([...leases.removeEnded(withAlice({}, [tombstone('grant', 'two')]))], [callers[1]!.key])

  leases.renew(callers[0]!)
  now = 601_000 + 59_999
  assert.deepEqual([...leases.removeEnded(withAlice())], [], 'the client may still come with a newer token')
  leases.renew(peopleOf().callerOf({ signIn: signIn({ credential: sha256('one'), expiresAt: 1_201_000 }) })!)
  now = 601_000 + 60_001
  assert.deepEqual([...leases.removeEnded(withAlice())], [], 'the newer token prolonged it')
  now = 1_201_000 + 60_001
  assert.deepEqual([...leases.removeEnded(withAlice())], [callers[0]!.key], 'nothing prolonged it')
})

test('a sign-in whose lease has ended begins a new one at once', () => {
  const leases = createSignInLeases(() => 1_000)
  const ofOther = tombstone('grant', 'one')
  const caller = peopleOf().callerOf({ signIn: signIn({ credential: sha256('one') }) })!
  for (let round = 0; round < 2; round++) {
    leases.renew(caller)
    assert.deepEqual([...leases.removeEnded(withAlice({}, [ofOther]))], [caller.key], `round ${round}`)
  }
  const again = peopleOf().callerOf({ signIn: signIn({ credential: sha256('one') }) })!
  leases.renew(caller)
  leases.renew(again)
  assert.deepEqual([...leases.removeEnded(withAlice({}, [ofOther]))], [caller.key])
  leases.renew(caller)
  assert.deepEqual([...leases.removeEnded(withAlice({}, [ofOther]))], [caller.key], 'the first object of the caller')
})

test('a token of an MCP client makes a caller of its own, which follows the allow list and ends with the credentials', () => {
  const robot: StoredClient = storedClient('robot', ['k8s'])
  const given = (client: StoredClient): SignedIn => ({
    signIn: signIn({ kind: 'client', principalId: client.id, credential: credentialsDigest(client) })
  })
  const cache = createCatalogCache()
  const withClient = (...principals: readonly StoredPrincipal[]) => buildCatalog(stateOf('1', { principals }), cache)
  const first = withClient(robot)
  const caller = first.signedInCaller(given(robot))!
  assert.deepEqual([caller.kind, caller.name, caller.key], ['client', 'robot', 'client:id-robot/oauth'])
  assert.equal(caller.allowed, first.caller(sha256('robot'))!.allowed, 'the list of the client itself')
  assert.equal(first.currentCaller(caller), caller)

  const wider = withClient({ ...robot, allowed_servers: ['*'], description: 'a robot' })
  assert.equal(wider.currentCaller(caller)!.allowed, wider.caller(sha256('robot'))!.allowed, 'the new list')
  assert.ok(wider.signedInCaller(given(robot)), 'a list is no credential')
  const others: Readonly<Record<string, StoredPrincipal>> = {
    'another token': { ...robot, tokens: [storedToken('another')] },
    'other keys': { ...robot, jwks: { keys: [{ kty: 'EC', crv: 'P-256', x: 'x', y: 'y' }] } },
    'keys elsewhere': { ...robot, jwks_uri: 'https://keys.example/set' },
    'another client of the same name': { ...robot, id: 'id-other' },
    'a user with the same id': { ...alice, id: robot.id }
  }
  for (const [what, principal] of Object.entries(others)) {
    const catalog = withClient(principal)
    assert.equal(catalog.signedInCaller(given(robot)), undefined, what)
    assert.equal(catalog.currentCaller(caller), undefined, what)
  }
  const user = signIn({ kind: 'client', principalId: alice.id })
  assert.equal(withClient(alice).signedInCaller({ signIn: user }), undefined, 'a user is no client')
  assert.equal(withClient(alice).people.isActive(user, 'user'), false)
})
