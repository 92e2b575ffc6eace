import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Call, silentSink } from '../../src/gateway/upstream/call.ts'
import { createExclusive } from '../../src/gateway/upstream/exclusive.ts'
import { UpstreamFailure } from '../../src/gateway/upstream/failure.ts'

const newCall = () => new Call({ method: 'tools/call', members: '', meta: '' }, silentSink)
const settled = () => new Promise((resolve) => setImmediate(resolve))

test('calls of one key have their turns in order, those of another key do not wait', async () => {
  const exclusive = createExclusive()
  const order: string[] = []
  const take = async (key: string, name: string) => {
    const { done } = await exclusive.take(key, newCall())
    order.push(name)
    return done
  }
  const first = await take('a', 'a1')
  const second = take('a', 'a2')
  const third = take('a', 'a3')
  await take('b', 'b1')
  assert.deepEqual(order, ['a1', 'b1'])
  first()
  ;(await second)()
  ;(await third)()
  assert.deepEqual(order, ['a1', 'b1', 'a2', 'a3'])
  ;(await take('a', 'a4'))()
})

test('a call that is stopped while it waits leaves the queue, and the next gets its turn', async () => {
  const exclusive = createExclusive()
  const { done } = await exclusive.take('a', newCall())
  const waiting = newCall()
  const failed = assert.rejects(exclusive.take('a', waiting), /too long/)
  const next = exclusive.take('a', newCall())
  waiting.stop(new UpstreamFailure('timeout', 'too long'))
  await failed
  done()
  ;(await next).done()
})

test('a call that has its turn is stopped by what carries it, not by the queue', async () => {
  const exclusive = createExclusive()
  const { done } = await exclusive.take('a', newCall())
  const call = newCall()
  const turn = exclusive.take('a', call)
  done()
  await settled()
  assert.equal(call.onStop, null)
  ;(await turn).done()
})

test('while calls wait for their callers the next go on beside them, four in all', async () => {
  const exclusive = createExclusive()
  const calls = Array.from({ length: 6 }, newCall)
  const lanes: number[] = []
  const turns = calls.map(async (call) => {
    const turn = await exclusive.take('a', call)
    lanes.push(turn.lane)
    return turn
  })
  for (const [i, expected] of [[0], [0, 1], [0, 1, 2], [0, 1, 2, 3], [0, 1, 2, 3]].entries()) {
    await settled()
    assert.deepEqual(lanes, expected)
    calls[i]!.hold()
  }
  calls[1]!.resume()
  ;(await turns[2]!).done()
  await settled()
  assert.equal(lanes.length, 4, 'one before it is running')
  ;(await turns[1]!).done()
  await settled()
  assert.deepEqual(lanes, [0, 1, 2, 3, 1, 2])
  for (const turn of turns) (await turn).done()
  assert.equal((await exclusive.take('a', newCall())).lane, 0)
})

test('CR-F1: the clock of a call that waits stands while each lane waits for its caller, and only then', async () => {
  const exclusive = createExclusive()
  const askers = Array.from({ length: 4 }, newCall)
  const turns = []
  for (const call of askers) {
    turns.push(await exclusive.take('a', call))
    call.hold()
  }
  const waiting = newCall()
  const turn = exclusive.take('a', waiting)
  assert.equal(waiting.isHeld, true, 'all lanes wait for their callers')
  askers[2]!.resume()
  assert.equal(waiting.isHeld, false, 'one goes on')
  askers[2]!.hold()
  assert.equal(waiting.isHeld, true, 'it asks again')
  turns[1]!.done()
  assert.equal((await turn).lane, 1, 'the free lane is taken')
  assert.equal(waiting.isHeld, false, 'it has its turn')
})
