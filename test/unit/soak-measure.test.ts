import assert from 'node:assert/strict'
import { test } from 'node:test'
import { slope, type Sample } from '../soak/measure.ts'
import { createTally } from '../soak/tally.ts'

/** Ten minutes of a sawtooth, as garbage collection makes one, that grows. */
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
  tally.answered('b')
  tally.refused('b')
  for (let i = 0; i < 30; i++) tally.lost('a', `reason ${i}`)
  assert.equal(tally.lostCount, 30)
  assert.deepEqual(Object.entries(tally.table()), [
    ['a', { answered: 0, refused: 0, lost: 30 }],
    ['b', { answered: 1, refused: 1, lost: 0 }]
  ])
  assert.equal(tally.reasons().length, 20)
  assert.equal(tally.reasons()[0], 'a: reason 0')
})
