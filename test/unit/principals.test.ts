import assert from 'node:assert/strict'
import { test } from 'node:test'
import { buildCatalog, createCatalogCache } from '../../src/catalog/catalog.ts'
import { comparePrincipals } from '../../src/control/principals.ts'
import { allowedTo } from '../../src/catalog/scope.ts'
import type { StoredPrincipal } from '../../src/registry/model/model.ts'
import { sha256, stateOf, storedClient, storedUser } from './stored.ts'

let version = 0
const cache = createCatalogCache()
const catalogWith = (...principals: StoredPrincipal[]) =>
  buildCatalog(stateOf(String(++version), { principals }), cache)

test('a token leads to its principal, and nothing else does', () => {
  const catalog = catalogWith(storedUser('root', 'admin'), storedUser('ann'), storedClient('app', ['alpha']))
  const kinds = ['root', 'ann', 'app'].map((token) => catalog.principal(sha256(token))?.caller.kind)
  assert.deepEqual(kinds, ['admin', 'user', 'client'])
  for (const token of ['', 'Ann', 'ann ', 'id-ann']) assert.equal(catalog.principal(sha256(token)), undefined, token)
  assert.equal(catalog.principal(Buffer.alloc(0)), undefined)
})

test('a hash that the driver hands out as a view of a larger buffer is found too', () => {
  const bytes = new Uint8Array(Buffer.concat([Buffer.alloc(7), sha256('token'), Buffer.alloc(9)]))
  const tokenHash = bytes.subarray(7, 39)
  const catalog = catalogWith({ ...storedUser('ann'), tokenHash })
  assert.equal(catalog.principal(sha256('token'))?.stored.name, 'ann')
})

test('a principal is one caller until it changes, and its key is never its name', () => {
  const ann = storedUser('ann')
  const [before, after] = [catalogWith(ann), catalogWith(ann, storedClient('ann'))]
  const caller = before.principal(sha256('ann'))!.caller
  assert.equal(after.currentPrincipal(caller)?.caller, caller)
  assert.equal(caller.key, 'user:id-ann')
})

test('a caller is current while its token is good, whatever else has changed', () => {
  const app = storedClient('app', ['alpha'])
  const { caller } = catalogWith(app).principal(sha256('app'))!
  const wider = catalogWith({ ...app, allowed_servers: ['alpha', 'beta'], revision: '2' })
  assert.deepEqual([...wider.currentPrincipal(caller)!.caller.allowed.names], ['alpha', 'beta'])
  const rotated = { ...app, tokenHash: sha256('other'), revision: '2' }
  assert.equal(catalogWith(rotated).currentPrincipal(caller), undefined)
  assert.equal(catalogWith().currentPrincipal(caller), undefined)
  const again = { ...app, id: 'another-id' }
  assert.equal(catalogWith(again).currentPrincipal(caller), undefined)
})

test('the allow list that counts is the one of now: none where the client or its token is gone', () => {
  const app = storedClient('app', ['*'])
  const { caller } = catalogWith(app).principal(sha256('app'))!
  assert.ok(allowedTo(catalogWith(app), caller).isAll)
  const narrowed = allowedTo(catalogWith({ ...app, allowed_servers: ['beta'], revision: '2' }), caller)
  assert.deepEqual([narrowed.isAll, [...narrowed.names]], [false, ['beta']])
  for (const catalog of [catalogWith(), catalogWith({ ...app, tokenHash: sha256('x'), revision: '2' })])
    assert.deepEqual([allowedTo(catalog, caller).isAll, allowedTo(catalog, caller).names.size], [false, 0])
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
    { ...all[2]!, tokenHash: sha256('new'), revision: '2' },
    { ...storedClient('narrowed', ['alpha']), revision: '2' },
    { ...storedClient('gone'), id: 'another-id' }
  )
  const { revoked, hasNewAllowLists } = comparePrincipals(before, next)
  assert.deepEqual([[...revoked].toSorted(), hasNewAllowLists], [['client:id-gone', 'client:id-rotated'], true])
  assert.deepEqual(comparePrincipals(next, next), { revoked: new Set(), hasNewAllowLists: false })
})
