import assert from 'node:assert/strict'
import { test } from 'node:test'
import { buildCatalog, createCatalogCache, type Catalog } from '../../src/catalog/catalog.ts'
import { principalIdOf } from '../../src/catalog/caller.ts'
import { comparePrincipals } from '../../src/control/principals.ts'
import { noServers } from '../../src/domain/policy/allow-list.ts'
import { permitOf } from '../../src/catalog/scope.ts'
import type { StoredPrincipal } from '../../src/registry/model/model.ts'
import { sha256, stateOf, storedClient, storedToken, storedUser } from './stored.ts'

let version = 0
const cache = createCatalogCache()
const catalogWith = (...principals: StoredPrincipal[]) =>
  buildCatalog(stateOf(String(++version), { principals }), cache)

const callerOf = (catalog: Catalog, token: string) => {
  const caller = catalog.caller(sha256(token))
  assert.ok(caller, token)
  return caller
}
const personal = (token: string, expiresAt: number | null = null) =>
  storedToken(token, { kind: 'personal', scopes: ['mcp'], expiresAt })

test('a token leads to its principal, and nothing else does', () => {
  const catalog = catalogWith(storedUser('root', 'admin'), storedUser('ann'), storedClient('app', ['alpha']))
  const kinds = ['root', 'ann', 'app'].map((token) => callerOf(catalog, token).kind)
  assert.deepEqual(kinds, ['admin', 'user', 'client'])
  for (const token of ['', 'Ann', 'ann ', 'id-ann']) assert.equal(catalog.caller(sha256(token)), undefined, token)
  assert.equal(catalog.caller(Buffer.alloc(0)), undefined)
})

test('a hash that the driver hands out as a view of a larger buffer is found too', () => {
  const bytes = new Uint8Array(Buffer.concat([Buffer.alloc(7), sha256('token'), Buffer.alloc(9)]))
  const hash = bytes.subarray(7, 39)
  const catalog = catalogWith({ ...storedUser('ann'), tokens: [storedToken('token', { hash })] })
  assert.equal(callerOf(catalog, 'token').name, 'ann')
})

test('a principal is one caller until it changes, and its key is never its name', () => {
  const ann = storedUser('ann')
  const [before, after] = [catalogWith(ann), catalogWith(ann, storedClient('ann'))]
  const caller = callerOf(before, 'ann')
  assert.equal(after.currentCaller(caller), caller)
  assert.equal(caller.key, 'user:id-ann')
})

test('a user without a token is known, and nobody is that user', () => {
  const catalog = catalogWith({ ...storedUser('ann'), tokens: [] })
  assert.equal(catalog.principals[0]?.stored.name, 'ann')
  assert.equal(catalog.credentials.size, 0)
})

test('each personal token of a user is a caller of its own, and all count as one principal', () => {
  const ann = { ...storedUser('ann'), tokens: [storedToken('static'), personal('one'), personal('two')] }
  const catalog = catalogWith(ann)
  const callers = ['static', 'one', 'two'].map((token) => callerOf(catalog, token))
  assert.deepEqual(
    callers.map(({ key, scopes }) => [key, scopes]),
    [
      ['user:id-ann', undefined],
      ['user:id-ann/id-of-one', ['mcp']],
      ['user:id-ann/id-of-two', ['mcp']]
    ]
  )
  assert.deepEqual([...new Set(callers.map(({ key }) => principalIdOf(key)))], ['user:id-ann'])
  const without = catalogWith({ ...ann, tokens: ann.tokens.slice(0, 2), revision: '2' })
  assert.deepEqual([...comparePrincipals(catalog, without).revoked], ['user:id-ann/id-of-two'])
  assert.deepEqual(
    callers.map((caller) => without.currentCaller(caller)?.key),
    ['user:id-ann', 'user:id-ann/id-of-one', undefined]
  )
})

test('a token is refused from the moment that it expires, in catalogs built before and after', (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: 1_000 })
  const ann = { ...storedUser('ann'), tokens: [personal('short', 2_000), personal('long', 3_000)] }
  const before = catalogWith(ann)
  const short = callerOf(before, 'short')
  assert.equal(before.nextExpiry, 2_000)
  t.mock.timers.tick(999)
  assert.equal(before.currentCaller(short), short)
  t.mock.timers.tick(1)
  assert.deepEqual([before.caller(sha256('short')), before.currentCaller(short)], [undefined, undefined])
  const after = catalogWith(ann)
  assert.equal(after.nextExpiry, 3_000)
  assert.deepEqual([...comparePrincipals(before, after).revoked], ['user:id-ann/id-of-short'])
})

test('a suspended user has no caller, and one whose role changes is another caller', () => {
  const ann = storedUser('ann', 'admin')
  const before = catalogWith(ann)
  for (const changed of [{ active: false }, { kind: 'user' as const }]) {
    const after = catalogWith({ ...ann, ...changed, revision: '2' })
    assert.deepEqual([...comparePrincipals(before, after).revoked], ['user:id-ann'])
    assert.equal(after.currentCaller(callerOf(before, 'ann')), undefined)
  }
})

test('a caller is current while its token is good, whatever else has changed', () => {
  const app = storedClient('app', ['alpha'])
  const caller = callerOf(catalogWith(app), 'app')
  const wider = catalogWith({ ...app, allowed_servers: ['alpha', 'beta'], revision: '2' })
  const { allowed } = wider.currentCaller(caller)!
  assert.deepEqual(['alpha', 'beta', 'gamma'].map(allowed.reach), ['all', 'all', 'none'])
  const rotated = { ...app, tokens: [storedToken('other')], revision: '2' }
  assert.equal(catalogWith(rotated).currentCaller(caller), undefined)
  assert.equal(catalogWith().currentCaller(caller), undefined)
  const again = { ...app, id: 'another-id' }
  assert.equal(catalogWith(again).currentCaller(caller), undefined)
})

test('the allow list that counts is the one of now: none where the client or its token is gone', () => {
  const app = storedClient('app', ['*'])
  const caller = callerOf(catalogWith(app), 'app')
  assert.ok(permitOf(catalogWith(app), caller).isAll)
  const narrowed = permitOf(catalogWith({ ...app, allowed_servers: ['beta'], revision: '2' }), caller)
  assert.deepEqual(['alpha', 'beta'].map(narrowed.reach), ['none', 'all'])
  for (const catalog of [catalogWith(), catalogWith({ ...app, tokens: [storedToken('x')], revision: '2' })])
    assert.equal(permitOf(catalog, caller), noServers)
})

test('who is gone or has another token is revoked, who may use other servers is not', () => {
  const all = [
    storedUser('root', 'admin'),
    storedClient('gone'),
    storedClient('rotated'),
    storedClient('narrowed', ['*'])
  ]
  const before = catalogWith(...all)
  const next = catalogWith(
    all[0]!,
    { ...all[2]!, tokens: [storedToken('new')], revision: '2' },
    { ...storedClient('narrowed', ['alpha']), revision: '2' },
    { ...storedClient('gone'), id: 'another-id' }
  )
  const { revoked, hasNewPermits } = comparePrincipals(before, next)
  assert.deepEqual([[...revoked].toSorted(), hasNewPermits], [['client:id-gone', 'client:id-rotated'], true])
  assert.deepEqual(comparePrincipals(next, next), { revoked: new Set(), hasNewPermits: false })
})

test('the index of principals is the same object until one of them changes or a token expires', (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: 1_000 })
  const own = createCatalogCache()
  const build = (...principals: StoredPrincipal[]) =>
    buildCatalog(stateOf(String(++version), { principals }), own).credentials
  const ann = { ...storedUser('ann'), tokens: [storedToken('static'), personal('short', 2_000)] }
  const first = build(ann)
  assert.equal(build(ann), first)
  t.mock.timers.tick(1_000)
  const expired = build(ann)
  assert.deepEqual([...expired.keys()], ['user:id-ann'])
  assert.equal(build(ann), expired)
  assert.notEqual(build(ann, storedClient('app')), expired)
})
