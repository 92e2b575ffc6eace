import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConnectTimings, stageOf, computeWaits } from '../../src/observe/connect-timings.ts'

const opening = (times: Partial<ConnectTimings>) => Object.assign(new ConnectTimings(), times)

test('what a call waited for is told stage by stage', () => {
  const whole = opening({ queuedAt: 100, startedAt: 130, initializeAt: 150, openedAt: 250 })
  assert.deepEqual(computeWaits(whole, 100, 400), { queue: 30, start: 20, initialize: 100 })
  assert.equal(stageOf(whole), undefined)
})

test('a call that came later waited for the rest alone', () => {
  const whole = opening({ queuedAt: 100, startedAt: 130, initializeAt: 150, openedAt: 250 })
  assert.deepEqual(computeWaits(whole, 140, 400), { start: 10, initialize: 100 })
})

test('a stage that did not happen is not told of', () => {
  assert.deepEqual(computeWaits(opening({ initializeAt: 150, openedAt: 250 }), 150, 400), { initialize: 100 })
  assert.deepEqual(computeWaits(opening({ openedAt: 250 }), 150, 400), {})
})

test('where an opening fails the last stage goes on until then', () => {
  const starting = opening({ queuedAt: 100, startedAt: 130 })
  assert.deepEqual(computeWaits(starting, 100, 190), { queue: 30, start: 60 })
  assert.equal(stageOf(starting), 'start')
  assert.equal(stageOf(opening({ queuedAt: 100 })), 'queue')
  assert.equal(stageOf(opening({ initializeAt: 100 })), 'initialize')
  assert.equal(stageOf(new ConnectTimings()), undefined)
})
