import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTurnQueue } from '../../src/lib/turn-queue.ts'

test('a turn queue runs its steps in order, one per turn of the event loop', async () => {
  const queue = createTurnQueue()
  let turn = 0
  const count = () => void (turn++, (counting = setImmediate(count)))
  let counting = setImmediate(count)
  const seen: [string, number][] = []
  const steps = ['a', 'b', 'c'].map(async (name) => {
    await queue.next()
    seen.push([name, turn])
  })
  await Promise.all(steps)
  clearImmediate(counting)
  assert.deepEqual(
    seen.map(([name]) => name),
    ['a', 'b', 'c']
  )
  assert.deepEqual(
    seen.map(([, at]) => at - seen[0]![1]),
    [0, 1, 2]
  )
})

test('a turn queue that has become empty takes steps again', async () => {
  const queue = createTurnQueue()
  await queue.next()
  await new Promise(setImmediate)
  await queue.next()
})
