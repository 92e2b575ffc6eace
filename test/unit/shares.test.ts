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
