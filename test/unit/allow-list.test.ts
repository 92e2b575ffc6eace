import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allServers, noServers, parseAllowList } from '../../src/domain/policy/allow-list.ts'
import type { Permit } from '../../src/domain/policy/permit.ts'

const allows = (permit: Permit, name: string): boolean => {
  const { verdict } = permit.decide({ kind: 'tool', server: { name }, name: 't', alias: 't' })
  assert.equal(permit.reach(name), verdict === 'yes' ? 'all' : 'none')
  return verdict === 'yes'
}

test('names are exact: no letter case, no white space, no pattern', () => {
  const list = parseAllowList(['alpha', 'be*', ' gamma', 'alpha'])
  assert.ok(allows(list, 'alpha'))
  for (const name of ['Alpha', 'alpha ', 'alph', 'beta', 'be', 'gamma', '', '*', 'constructor'])
    assert.ok(!allows(list, name), name)
})

test('"*" as an entry of its own allows every server, beside other entries too', () => {
  for (const entries of [['*'], ['alpha', '*']]) {
    assert.equal(parseAllowList(entries), allServers)
    assert.ok(allows(parseAllowList(entries), 'anything'))
  }
  for (const entries of [['**'], [' *'], ['*a'], ['a*']]) assert.ok(!allows(parseAllowList(entries), 'a'), entries[0])
})

test('no entries allow nothing', () => {
  assert.equal(parseAllowList([]), noServers)
  assert.ok(!allows(noServers, 'alpha') && !allows(noServers, ''))
})

test('lists that allow the same have the same content, others another', () => {
  const { contentHash } = parseAllowList(['a', 'b'])
  assert.equal(parseAllowList(['b', 'a', 'b']).contentHash, contentHash)
  for (const other of [['a'], ['a,b'], ['a"', '"b'], ['ab'], [], ['*']])
    assert.notEqual(parseAllowList(other).contentHash, contentHash, other.join())
})
