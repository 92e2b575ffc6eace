import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Call, silentSink } from '../../src/upstream/transport/call.ts'
import { createKeyedMutex } from '../../src/upstream/sessions/keyed-mutex.ts'
import { UpstreamFailure } from '../../src/protocol/upstream-failure.ts'

const newCall = () => new Call({ method: 'tools/call', members: '', meta: '' }, silentSink)
const settled = () => new Promise((resolve) => setImmediate(resolve))

test('calls of one key have their turns in order, those of another key do not wait', async () => {
  const exclusive = createKeyedMutex()
  const order: string[] = []
  const take = async (key: string, name: string) => {
    const { release } = await exclusive.acquire(key, newCall())
    order.push(name)
    return release
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
  const exclusive = createKeyedMutex()
  const { release } = await exclusive.acquire('a', newCall())
  const waiting = newCall()
  const failed = assert.rejects(exclusive.acquire('a', waiting), /too long/)
  const next = exclusive.acquire('a', newCall())
  waiting.stop(new UpstreamFailure('timeout', 'too long'))
  await failed
  release()
  ;(await next).release()
})

test('a call that has its turn is stopped by what carries it, not by the queue', async () => {
  const exclusive = createKeyedMutex()
  const { release } = await exclusive.acquire('a', newCall())
  const call = newCall()
  const turn = exclusive.acquire('a', call)
  release()
  await settled()
  assert.equal(call.onStop, null)
  ;(await turn).release()
})

test('while calls wait for their callers the next go on beside them, four in all', async () => {
  const exclusive = createKeyedMutex()
  const calls = Array.from({ length: 6 }, newCall)
  const lanes: number[] = []
  const turns = calls.map(async (call) => {
    const turn = await exclusive.acquire('a', call)
    lanes.push(turn.lane)
    return turn
  })
  for (const [i, expected] of [[0], [0, 1], [0, 1, 2], [0, 1, 2, 3], [0, 1, 2, 3]].entries()) {
    await settled()
    assert.deepEqual(lanes, expected)
    calls[i]!.pauseClock()
  }
  calls[1]!.resumeClock()
  ;(await turns[2]!).release()
  await settled()
  assert.equal(lanes.length, 4, 'one before it is running')
  ;(await turns[1]!).release()
  await settled()
  assert.deepEqual(lanes, [0, 1, 2, 3, 1, 2])
  for (const turn of turns) (await turn).release()
  assert.equal((await exclusive.acquire('a', newCall())).lane, 0)
})

test('CR-F1: the clock of a call that waits stands while each lane waits for its caller, and only then', async () => {
  const exclusive = createKeyedMutex()
  const askers = Array.from({ length: 4 }, newCall)
  const turns = []
  for (const call of askers) {
    turns.push(await exclusive.acquire('a', call))
    call.pauseClock()
  }
  const waiting = newCall()
  const turn = exclusive.acquire('a', waiting)
  assert.equal(waiting.isPaused, true, 'all lanes wait for their callers')
  askers[2]!.resumeClock()
  assert.equal(waiting.isPaused, false, 'one goes on')
  askers[2]!.pauseClock()
  assert.equal(waiting.isPaused, true, 'it asks again')
  turns[1]!.release()
  assert.equal((await turn).lane, 1, 'the free lane is taken')
  assert.equal(waiting.isPaused, false, 'it has its turn')
})
