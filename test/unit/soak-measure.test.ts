import assert from 'node:assert/strict'
import { test } from 'node:test'
import { slope, type Sample } from '../soak/measure.ts'
import { createLatency } from '../soak/hostile/latency.ts'
import { createTally } from '../soak/tally.ts'

/** Returns ten minutes of growing memory samples with the sawtooth of garbage collection. */
const sawtooth = (perMinute: number): Sample[] =>
  Array.from({ length: 600 }, (_, second) => ({
    minute: second / 60,
    rssMb: 150 + (second % 10) * 4 + (second / 60) * perMinute,
    descriptors: 1,
    threads: 1,
    children: 0
  }))

test('growth is told from the sawtooth of garbage collection', () => {
  for (const perMinute of [0, 0.5, 1, 5, -2]) {
    const found = slope(sawtooth(perMinute))
    assert.ok(Math.abs(found - perMinute) < 0.1, `${perMinute}: ${found}`)
  }
  assert.equal(slope(sawtooth(1).slice(0, 5)), 0)
})

test('each kind of request is counted by what became of it, and some reasons are kept', () => {
  const tally = createTally()
  tally.recordAnswer('b')
  tally.recordRefusal('b')
  for (let i = 0; i < 30; i++) tally.recordLoss('a', `reason ${i}`)
  assert.equal(tally.lostCount, 30)
  assert.deepEqual(Object.entries(tally.table()), [
    ['a', { answered: 0, refused: 0, lost: 30 }],
    ['b', { answered: 1, refused: 1, lost: 0 }]
  ])
  assert.equal(tally.reasons().length, 20)
  assert.equal(tally.reasons()[0], 'a: reason 0')
})

test('latency is told by kind, with percentiles and the first failures in words', () => {
  const latency = createLatency()
  for (let ms = 1; ms <= 100; ms++) latency.record('call', ms)
  latency.recordFailure('list', '503 too much to do')
  assert.deepEqual(latency.kinds(), ['call', 'list'])
  assert.deepEqual(
    [latency.percentile('call', 50), latency.percentile('call', 99), latency.count('call')],
    [51, 100, 100]
  )
  assert.ok(Number.isNaN(latency.percentile('list', 99)))
  assert.deepEqual(latency.failures('list'), ['503 too much to do'])
})
