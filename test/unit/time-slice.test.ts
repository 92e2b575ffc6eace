import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTimeSlice } from '../../src/lib/time-slice.ts'

test('a loop gives way once its slice is over, and other work of the event loop runs before it goes on', async () => {
  let time = 0
  const slice = createTimeSlice(() => time)
  assert.equal(slice.isOver, false, 'a slice begins')
  time = 5
  assert.equal(slice.isOver, true, 'five milliseconds are over the slice')
  let hasRun = false
  setImmediate(() => (hasRun = true))
  await slice.next()
  assert.equal(hasRun, true, 'other work has run')
  assert.equal(slice.isOver, false, 'the next slice begins')
})
