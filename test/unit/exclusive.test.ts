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
    const done = await exclusive.take(key, newCall())
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
  const done = await exclusive.take('a', newCall())
  const waiting = newCall()
  const failed = assert.rejects(exclusive.take('a', waiting), /too long/)
  const next = exclusive.take('a', newCall())
  waiting.stop(new UpstreamFailure('timeout', 'too long'))
  await failed
  done()
  ;(await next)()
})

test('a call that has its turn is stopped by what carries it, not by the queue', async () => {
  const exclusive = createExclusive()
  const done = await exclusive.take('a', newCall())
  const call = newCall()
  const turn = exclusive.take('a', call)
  done()
  await settled()
  assert.equal(call.onStop, null)
  ;(await turn)()
})
