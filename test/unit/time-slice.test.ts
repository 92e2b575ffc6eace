import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTimeSlice } from '../../src/lib/time-slice.ts'

test('a loop gives way once its slice is over, and other work of the event loop runs before it goes on', async () => {
  let time = 0
  const slice = createTimeSlice(() => time)
  assert.equal(slice.isOver, false, 'a slice begins')
  time = 5
  assert.equal(slice.isOver, true, 'five milliseconds are over the slice')
  let hasRun = false
  setImmediate(() => (hasRun = true))
  await slice.next()
  assert.equal(hasRun, true, 'other work has run')
  assert.equal(slice.isOver, false, 'the next slice begins')
})

test('SR-H2 however many loops run at once, a turn of the event loop has one slice of them, in rotation', async () => {
  let time = 0
  const now = () => time
  const seen: string[] = []
  let turn = 0
  const count = () => void (turn++, (counting = setImmediate(count)))
  let counting = setImmediate(count)
  const loop = async (name: string) => {
    const slice = createTimeSlice(now)
    for (let step = 0; step < 3; step++) {
      time += 5
      if (slice.isOver) await slice.next()
      seen.push(`${name}${turn}`)
    }
  }
  await Promise.all(['a', 'b', 'c'].map(loop))
  clearImmediate(counting)
  const first = Number(seen[0]!.slice(1))
  const relative = seen.map((text) => `${text[0]}${Number(text.slice(1)) - first}`)
  assert.deepEqual(relative, ['a0', 'b1', 'c2', 'a3', 'b4', 'c5', 'a6', 'b7', 'c8'])
})
