import assert from 'node:assert/strict'
import test from 'node:test'
import { createQuota } from '../../src/lib/quota.ts'

test('a principal gets no more than its share at a time, whatever others have', () => {
  const shares = createQuota(2)
  assert.deepEqual([shares.acquire('a'), shares.acquire('a'), shares.acquire('a')], [true, true, false])
  assert.equal(shares.acquire('b'), true)
  assert.equal(shares.size, 3)
  shares.release('a')
  assert.equal(shares.size, 2)
  assert.deepEqual([shares.acquire('a'), shares.acquire('a')], [true, false])
})

test('a share that was given back is there again, and what was refused takes nothing', () => {
  const shares = createQuota(1)
  for (let round = 0; round < 3; round++) {
    assert.equal(shares.acquire('a'), true)
    assert.equal(shares.acquire('a'), false)
    shares.release('a')
  }
})

test('SR-H2 shares in bytes have a limit of one principal and one of all', () => {
  const shares = createQuota(100, 250)
  assert.deepEqual([shares.acquire('a', 60), shares.acquire('a', 41), shares.acquire('a', 40)], [true, false, true])
  assert.deepEqual([shares.acquire('b', 100), shares.acquire('c', 51), shares.acquire('c', 50)], [true, false, true])
  assert.deepEqual([shares.size, shares.heldBy('a'), shares.heldBy('d')], [250, 100, 0])
  shares.release('a', 60)
  assert.deepEqual([shares.size, shares.heldBy('a'), shares.acquire('c', 50)], [190, 40, true])
})
