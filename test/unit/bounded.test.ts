import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLruCache } from '../../src/gateway/bounded.ts'

test('what was used least recently gives way once there are too many bytes', () => {
  const held = createLruCache<string>(100)
  held.set('a', 'A', 40)
  held.set('b', 'B', 40)
  assert.equal(held.get('a'), 'A')
  held.set('c', 'C', 40)
  assert.deepEqual([held.get('a'), held.get('b'), held.get('c')], ['A', undefined, 'C'])
  assert.equal(held.bytes, 80)
})

test('a value takes the place of the one before it, and what is too large for everything is not held', () => {
  const held = createLruCache<string>(100)
  held.set('a', 'A', 40)
  held.set('a', 'AA', 60)
  assert.deepEqual([held.get('a'), held.bytes], ['AA', 60])
  held.set('large', 'L', 101)
  assert.deepEqual([held.get('large'), held.get('a'), held.bytes], [undefined, 'AA', 60])
  held.set('a', 'A', 101)
  assert.deepEqual([held.get('a'), held.bytes], [undefined, 0])
  held.set('b', 'B', 1)
  held.delete('b')
  held.delete('gone')
  assert.deepEqual([held.get('b'), held.bytes], [undefined, 0])
})
