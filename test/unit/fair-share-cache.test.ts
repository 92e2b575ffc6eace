import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFairShareCache, ENTRY_BYTES } from '../../src/lib/fair-share-cache.ts'
import { until } from '../until.ts'

const HOUR = 3_600_000
/** Bytes of an entry with a key of ten characters. */
const ENTRY = ENTRY_BYTES + 20
const key = (i: number) => `k${String(i).padStart(9, '0')}`
const open = (entries: number, ofOwner = entries, maxAgeMs = HOUR) =>
  createFairShareCache<number>({ maxBytes: entries * ENTRY, maxBytesPerOwner: ofOwner * ENTRY, maxAgeMs })

test('SR-H3 an owner past its share loses its own entries, whichever holders have them', () => {
  const kept = open(100, 10)
  for (let i = 0; i < 5; i++) kept.set('good', 'ann', key(i), i)
  for (let i = 0; i < 1_000; i++) kept.set('bad', `p${i % 3}`, key(i), i)
  assert.equal(kept.size, 15)
  assert.equal(kept.bytes, 15 * ENTRY)
  for (let i = 0; i < 5; i++) assert.equal(kept.newest(key(i), { owner: 'good', holder: 'ann' })?.value, i)
  assert.equal(kept.newest(key(999), { holder: 'p0' })?.owner, 'bad')
})

test('SR-H3 within an owner the holder with most gives way, and past the total the owner with most', () => {
  const kept = open(10)
  kept.set('one', 'ann', key(0), 0)
  kept.set('two', 'bob', key(1), 1)
  for (let i = 2; i < 100; i++) kept.set('one', 'carl', key(i), i)
  assert.equal(kept.size, 10)
  assert.equal(kept.newest(key(0), { holder: 'ann' })?.value, 0)
  assert.equal(kept.newest(key(1), { owner: 'two' })?.holder, 'bob')
  assert.equal(kept.newest(key(2), { owner: 'one' }), undefined)
  assert.equal(kept.newest(key(99), { owner: 'one' })?.value, 99)
})

test('SR-H3 an entry that alone is more than a share is not kept, and pushes out nothing', () => {
  const kept = open(10, 5)
  kept.set('one', 'ann', key(0), 0)
  assert.equal(kept.set('one', 'ann', 'x'.repeat(10_000_000), 1), false)
  assert.deepEqual([kept.size, kept.bytes], [1, ENTRY])
})

test('SR-H3 what is too old is gone, and its bytes with it', async () => {
  const kept = open(10, 10, 60)
  kept.set('one', 'ann', key(0), 0)
  await until('it is swept', () => kept.bytes === 0)
  assert.equal(kept.newest(key(0), {}), undefined)
})

test('what is set anew or deleted is counted once or not at all', () => {
  const kept = open(10)
  for (let i = 0; i < 5; i++) kept.set('one', 'ann', key(0), i)
  assert.deepEqual([kept.size, kept.bytes, kept.newest(key(0), {})?.value], [1, ENTRY, 4])
  kept.delete('one', 'bob', key(0))
  kept.delete('one', 'ann', key(1))
  assert.equal(kept.size, 1)
  kept.set('two', 'ann', key(0), 7)
  assert.equal(kept.newest(key(0), { holder: 'ann' })?.owner, 'two')
  kept.deleteWhere((value) => value === 7)
  assert.equal(kept.newest(key(0), { holder: 'ann' })?.owner, 'one')
  kept.delete('one', 'ann', key(0))
  assert.deepEqual([kept.size, kept.bytes], [0, 0])
})
