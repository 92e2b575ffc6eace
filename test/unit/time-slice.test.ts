import assert from 'node:assert/strict'
import { test } from 'node:test'
import { complete, completeInSlices, createSlicedWork, createTimeSlice } from '../../src/lib/time-slice.ts'

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

/** Steps of two milliseconds each. */
function* slowSteps(count: number): Generator<void, number> {
  for (let step = 0; step < count; step++) {
    for (const end = performance.now() + 2; performance.now() < end;);
    yield
  }
  return count
}

test('steps are completed in slices, between which other work runs, or at once', async () => {
  let turns = 0
  const count = () => void (turns++, (counting = setImmediate(count)))
  let counting = setImmediate(count)
  assert.equal(await completeInSlices(slowSteps(20)), 20)
  clearImmediate(counting)
  assert.ok(turns >= 5, `${turns} turns`)
  assert.equal(complete(slowSteps(3)), 3)
})

test('SR-H2 work is done in slices for large texts alone, and as long as these hold no more than the limit', async () => {
  const slices = createSlicedWork(1_000_000)
  assert.equal(
    slices.tryRun(1_000, () => slowSteps(1)),
    undefined
  )
  const first = slices.tryRun(600_000, () => slowSteps(2))
  assert.ok(first)
  assert.equal(
    slices.tryRun(600_000, () => slowSteps(1)),
    undefined
  )
  const second = slices.tryRun(400_000, () => slowSteps(1))
  assert.deepEqual([await first, await second], [2, 1])
  function* failing(): Generator<void, void> {
    yield
    throw new Error('bad')
  }
  await assert.rejects(slices.tryRun(1_000_000, failing)!, /bad/)
  assert.equal(await slices.tryRun(1_000_000, () => slowSteps(1)), 1, 'nothing is held any more')
})
