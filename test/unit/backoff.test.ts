import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Backoff, retryForever } from '../../src/lib/backoff.ts'

test('delays double up to the longest, and half of each is random', (t) => {
  const random = t.mock.method(Math, 'random', () => 1)
  const policy = { firstMs: 100, longestMs: 350 }
  const longest = new Backoff(policy)
  assert.deepEqual(
    [1, 2, 3, 4].map(() => longest.nextDelayMs()),
    [100, 200, 350, 350]
  )
  random.mock.mockImplementation(() => 0)
  const shortest = new Backoff(policy)
  assert.deepEqual([shortest.nextDelayMs(), shortest.nextDelayMs()], [50, 100])
})

test('only a stable connection makes the next delay the first one again', () => {
  const backoff = new Backoff({ firstMs: 1, longestMs: 8, stableMs: 1_000 })
  backoff.nextDelayMs()
  backoff.recordOpen(999)
  assert.equal(backoff.failures, 1)
  backoff.recordOpen(1_000)
  assert.equal(backoff.failures, 0)
})

test('attempts are repeated until one is the last, and each knows how many failed before', async () => {
  const seen: number[] = []
  const { signal } = new AbortController()
  // the delays do not keep the process alive
  const alive = setInterval(() => {}, 1_000)
  await retryForever(async ({ failures }) => seen.push(failures) === 3, { firstMs: 1, longestMs: 1, signal })
  clearInterval(alive)
  assert.deepEqual(seen, [0, 1, 2])
})

test('an abort ends the delay, and no attempt follows', async () => {
  const stop = new AbortController()
  let attempts = 0
  const retrying = retryForever(
    async () => {
      attempts++
      setImmediate(() => stop.abort())
      return false
    },
    { firstMs: 1_000_000, longestMs: 1_000_000, signal: stop.signal }
  )
  await retrying
  assert.equal(attempts, 1)
})

test('the error of an attempt ends the repetition', async () => {
  const failing = retryForever(async () => Promise.reject(new Error('unusable')), {
    firstMs: 1,
    longestMs: 1,
    signal: new AbortController().signal
  })
  await assert.rejects(failing, /unusable/)
})
