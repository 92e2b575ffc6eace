import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { unavailable } from '../../src/lib/errors.ts'
import { createArrayBacklog } from '../../src/registry/logs/backlog.ts'
import { createRowQueue } from '../../src/registry/logs/row-queue.ts'
import { until } from '../until.ts'

const BATCH = 3
const PLACES = 10_000

/** Returns a queue of numbers with a database that can become unavailable or slow. */
function start(t: TestContext) {
  const batches: number[][] = []
  const errors: unknown[] = []
  const told: number[] = []
  const database = { failure: undefined as unknown, held: undefined as Promise<void> | undefined, tries: 0 }
  const queue = createRowQueue({
    async write(rows) {
      database.tries++
      await database.held
      if (database.failure) throw database.failure
      batches.push([...rows])
    },
    onError: (error) => errors.push(error),
    onDropped: (count) => told.push(count),
    backlog: createArrayBacklog<number>(BATCH)
  })
  t.after(() => queue.close())
  const fill = (count: number, from = 0) => {
    for (let row = from; row < from + count; row++) queue.push(row)
  }
  return { queue, fill, batches, errors, told, database }
}

test('rows are written soon, in their order and in batches, and nobody has to ask for it', async (t) => {
  const { queue, fill, batches, told, errors } = start(t)
  fill(5)
  assert.deepEqual([queue.length, batches.length], [5, 0], 'not on the way of whoever pushes')
  await until('they are written', () => queue.length === 0)
  assert.deepEqual(batches, [
    [0, 1, 2],
    [3, 4]
  ])
  fill(1, 5)
  await until('the next is written', () => queue.length === 0)
  assert.deepEqual([batches.at(-1), queue.dropped, told, errors], [[5], 0, [], []])
})

test('a row that comes while others are written is not written with them', async (t) => {
  const { queue, fill, batches, database } = start(t)
  let goOn = () => {}
  database.held = new Promise((resolve) => (goOn = resolve))
  fill(2)
  await until('they are being written', () => database.tries === 1)
  fill(1, 2)
  goOn()
  await until('all are written', () => queue.length === 0)
  assert.deepEqual(batches, [[0, 1], [2]])
})

test('rows wait for a database that is away, and its outage is told once', async (t) => {
  const { queue, fill, batches, errors, told, database } = start(t)
  database.failure = unavailable('away')
  fill(2)
  await until('it was tried twice', () => database.tries >= 2)
  assert.deepEqual([queue.length, queue.dropped, errors], [2, 0, [database.failure]])
  database.failure = undefined
  await until('they are written', () => queue.length === 0)
  assert.deepEqual([batches, told], [[[0, 1]], []])
})

test('what can never be written is dropped, counted and told, and does not hold up the others', async (t) => {
  const { queue, fill, batches, errors, told, database } = start(t)
  database.failure = new Error('a column is missing')
  fill(BATCH + 1)
  await until('the first batch is given up', () => queue.dropped === BATCH)
  assert.deepEqual([errors.length, told], [1, []], 'told when others can be written again')
  database.failure = undefined
  await until('the rest is written', () => queue.length === 0)
  assert.deepEqual([batches, told, queue.dropped], [[[BATCH]], [BATCH], BATCH])
})

test('a full queue takes no more, but for what says that something is missing', async (t) => {
  const { queue, fill, batches, told } = start(t)
  fill(PLACES + 7)
  queue.forcePush(-1)
  assert.deepEqual([queue.length, queue.dropped], [PLACES + 1, 7])
  assert.equal(await queue.close(), 0)
  assert.deepEqual(told, [7], 'once')
  assert.deepEqual([batches.flat().length, batches.flat().at(-1)], [PLACES + 1, -1])
})

test('closing writes what is queued; what it cannot write it says', async (t) => {
  const first = start(t)
  first.fill(4)
  assert.equal(await first.queue.close(), 0)
  assert.deepEqual(first.batches.flat(), [0, 1, 2, 3])

  const second = start(t)
  second.database.failure = unavailable('away')
  second.fill(4)
  assert.equal(await second.queue.close(), 4)
  second.fill(1)
  assert.equal(second.database.tries, 1, 'nothing is tried after the close')
})

test('a machine that stops the process while it closes loses no rows: the database had no time to answer', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { queue, fill, batches, database } = start(t)
  fill(BATCH)
  let goOn = () => {}
  database.held = new Promise((resolve) => (goOn = resolve))
  const closed = queue.close()
  for (let pause = 0; pause < 5; pause++) {
    // timers are late after a pause, and all due at once
    t.mock.timers.tick(3_000)
    await new Promise(setImmediate)
  }
  goOn()
  assert.equal(await closed, 0)
  assert.deepEqual(batches, [[0, 1, 2]])
})

test('the close waits for a slow database as long as it takes rows', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { queue, fill, batches, database } = start(t)
  fill(3 * BATCH)
  let writeOn = () => {}
  const holdNext = () => void (database.held = new Promise<void>((resolve) => (writeOn = resolve)))
  holdNext()
  let lost: number | undefined
  const closed = queue.close().then((count) => (lost = count))
  await new Promise(setImmediate)
  for (let written = 1; written <= 3; written++) {
    t.mock.timers.tick(1_900)
    const next = writeOn
    holdNext()
    next()
    await new Promise(setImmediate)
    assert.equal(batches.length, written)
  }
  await closed
  assert.equal(lost, 0)
})
