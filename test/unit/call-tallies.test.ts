import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSlices, durationOf, type Tally } from '../../src/registry/logs/call-tallies.ts'

/** A multiple of two hours, in seconds since 1970. */
const BEGIN = 7_200 * 250_000
const MINUTE = 60
const HOUR = 3_600

/** Returns a log of calls, each at its second, and the reads made of it. */
function start() {
  const calls: number[] = []
  const reads: [from: number, seconds: number][] = []
  const slice = createSlices(async (from, seconds) => {
    reads.push([from - BEGIN, seconds])
    const count = calls.filter((at) => at >= from && at < from + seconds).length
    const tally: Tally = { server: 'alpha', tool: 'echo', bin: 0, calls: count, failed: 0 }
    return count === 0 ? [] : [tally]
  })
  const count = async (...asked: Parameters<typeof slice>) =>
    (await slice(...asked)).reduce((sum, tally) => sum + tally.calls, 0)
  /** Returns the lengths of the slices that one query reads. */
  const reading = async (...asked: Parameters<typeof slice>) => {
    reads.length = 0
    await slice(...asked)
    return reads.map(([, seconds]) => seconds)
  }
  return { calls, reads, count, reading }
}

test('what is long over is read once, and counts when its rows are gone', async () => {
  const { calls, reads, count } = start()
  calls.push(BEGIN + 1, BEGIN + 7_199, BEGIN + 7_200)
  const now = BEGIN + 9 * HOUR
  assert.equal(await count(BEGIN, 7_200, now), 2)
  calls.length = 0
  assert.equal(await count(BEGIN, 7_200, now + HOUR), 2)
  assert.deepEqual(reads, [[0, 7_200]])
})

test('of what is not over whole quarters of an hour and minutes are remembered, the last minutes are read again', async () => {
  const { reading } = start()
  const now = BEGIN + HOUR + 20 * MINUTE
  // four quarter-hours, and one by minutes, since it has just ended; then the minutes of the current one
  const minutes = Array.from({ length: 15 + 6 }, () => 60)
  assert.deepEqual(await reading(BEGIN, 7_200, now), [900, 900, 900, 900, ...minutes])
  // slices that ended less than ten minutes ago or just now, and the current one
  assert.deepEqual(
    await reading(BEGIN, 7_200, now),
    Array.from({ length: 11 }, () => 60)
  )
})

test('a call that was over late is counted where it came in', async () => {
  const { calls, count } = start()
  const now = BEGIN + 20 * MINUTE
  calls.push(BEGIN + 19 * MINUTE)
  assert.equal(await count(BEGIN + 15 * MINUTE, 900, now), 1)
  calls.push(BEGIN + 17 * MINUTE)
  assert.equal(await count(BEGIN + 15 * MINUTE, 900, now + 1), 2)
})

test('nothing is remembered for longer than it can be asked for', async () => {
  const { reading } = start()
  const now = BEGIN + 2 * HOUR
  assert.deepEqual(await reading(BEGIN, 60, now), [60])
  assert.deepEqual(await reading(BEGIN, 60, now), [])
  // another slice is read hours later
  await reading(BEGIN + 5 * HOUR, 60, now + 5 * HOUR)
  assert.deepEqual(await reading(BEGIN, 60, now), [60])
})

test('the middle of a bin is within 5 % of each duration that falls into it', () => {
  for (const ms of [0.001, 0.3, 1, 7, 99, 4_321, 300_000]) {
    const shown = durationOf(Math.floor(Math.log(ms) * 12))
    assert.ok(Math.abs(shown - ms) / ms < 0.05, `${shown} for ${ms}`)
  }
})
