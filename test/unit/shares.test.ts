import assert from 'node:assert/strict'
import test from 'node:test'
import { createShares } from '../../src/gateway/shares.ts'

test('a principal gets no more than its share at a time, whatever others have', () => {
  const shares = createShares(2)
  assert.deepEqual([shares.take('a'), shares.take('a'), shares.take('a')], [true, true, false])
  assert.equal(shares.take('b'), true)
  assert.equal(shares.size, 3)
  shares.give('a')
  assert.equal(shares.size, 2)
  assert.deepEqual([shares.take('a'), shares.take('a')], [true, false])
})

test('a share that was given back is there again, and what was refused takes nothing', () => {
  const shares = createShares(1)
  for (let round = 0; round < 3; round++) {
    assert.equal(shares.take('a'), true)
    assert.equal(shares.take('a'), false)
    shares.give('a')
  }
})

test('SR-H2 shares in bytes have a limit of one principal and one of all', () => {
  const shares = createShares(100, 250)
  assert.deepEqual([shares.take('a', 60), shares.take('a', 41), shares.take('a', 40)], [true, false, true])
  assert.deepEqual([shares.take('b', 100), shares.take('c', 51), shares.take('c', 50)], [true, false, true])
  assert.deepEqual([shares.size, shares.of('a'), shares.of('d')], [250, 100, 0])
  shares.give('a', 60)
  assert.deepEqual([shares.size, shares.of('a'), shares.take('c', 50)], [190, 40, true])
})
