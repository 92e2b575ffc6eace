import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createGuessLimit } from '../../src/http/guess-limit.ts'

test('a key that gave too many wrong values waits until the pause is over; other keys do not', () => {
  let now = 0
  const limit = createGuessLimit({ allowed: 3, pauseMs: 60_000, now: () => now })
  for (let i = 0; i < 3; i++) assert.equal(limit.begin(['user alice', 'address a']), undefined)
  now = 20_000
  assert.equal(limit.begin(['user alice', 'address b']), 40)
  assert.equal(limit.begin(['user bob', 'address a']), 40)
  assert.equal(limit.begin(['user bob', 'address b']), undefined)
  now = 60_000
  assert.equal(limit.begin(['user alice', 'address a']), undefined)
})

test('right values are not counted', () => {
  const limit = createGuessLimit({ allowed: 1, pauseMs: 60_000, now: () => 0 })
  for (let i = 0; i < 5; i++) {
    assert.equal(limit.begin(['user alice']), undefined)
    limit.forgive(['user alice'])
  }
  limit.begin(['user alice'])
  assert.equal(limit.begin(['user alice']), 60)
})
