import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { createDeadlines } from '../../src/upstream/transport/deadlines.ts'
import { newCall } from './upstreams.ts'
import { until } from '../until.ts'

const open = (t: TestContext) => {
  const deadlines = createDeadlines()
  t.after(() => deadlines.close())
  return deadlines
}

test('a call without progress is stopped, and told which limit it was', async (t) => {
  const deadlines = open(t)
  const call = newCall()
  deadlines.watch(call, 50, 10_000)
  await until('the call is stopped', () => call.stopped !== null)
  assert.deepEqual([call.stopped!.reason, call.stopped!.maybeProcessed], ['timeout', true])
  assert.match(call.stopped!.message, /without progress/)
})

test('progress keeps a call alive, but not beyond the limit for all of it', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const deadlines = open(t)
  const call = newCall()
  const start = performance.now()
  deadlines.watch(call, 500, 900)
  await until('the call is stopped', () => {
    // checked right after the progress, however late that is
    call.extendIdleDeadline(performance.now())
    t.mock.timers.tick(100)
    return call.stopped !== null
  })
  assert.ok(performance.now() - start >= 890)
  assert.match(call.stopped!.message, /total time limit/)
})

test('a call that is forgotten is left alone, while another one is not', async (t) => {
  const deadlines = open(t)
  const [kept, other] = [newCall(), newCall()]
  deadlines.watch(kept, 10, 10)
  deadlines.watch(other, 10, 10)
  deadlines.forget(kept)
  deadlines.forget(kept)
  await until('the other is stopped', () => other.stopped !== null)
  assert.equal(kept.stopped, null)
})

test('a thousand calls that end at the same time are all stopped', async (t) => {
  const deadlines = open(t)
  const calls = Array.from({ length: 1_000 }, () => newCall())
  for (const call of calls) {
    call.onStop = () => deadlines.forget(call)
    deadlines.watch(call, 10, 10)
  }
  await until('all are stopped', () => calls.every((call) => call.stopped !== null))
})
