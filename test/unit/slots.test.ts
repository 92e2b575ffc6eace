import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSlots } from '../../src/gateway/upstream/slots.ts'
import { failureOf } from './upstreams.ts'

const soon = () => performance.now() + 5_000

test('places are given until there are none, then in order of arrival', async () => {
  const slots = createSlots(2, 10)
  const first = await slots.take(soon())
  const second = await slots.take(soon())
  const order: string[] = []
  const waiting = ['a', 'b'].map(async (name) => {
    const release = await slots.take(soon())
    order.push(name)
    return release
  })
  await new Promise(setImmediate)
  assert.deepEqual([order, slots.used], [[], 2])
  second()
  const third = await waiting[0]!
  assert.deepEqual([order, slots.used], [['a'], 2])
  first()
  const fourth = await waiting[1]!
  third()
  fourth()
  assert.deepEqual([order, slots.used], [['a', 'b'], 0])
})

test('a place is given back once, however often its release is called', async () => {
  const slots = createSlots(1, 10)
  const release = await slots.take(soon())
  release()
  release()
  assert.equal(slots.used, 0)
  await slots.take(soon())
  const waiting = slots.take(soon())
  release()
  const state = await Promise.race([
    waiting.then(() => 'taken'),
    new Promise((resolve) => setImmediate(resolve, 'waits'))
  ])
  assert.equal(state, 'waits')
  assert.equal(slots.used, 1)
})

test('past the queue a call is refused at once, and one that waited too long as well; neither was sent', async () => {
  const slots = createSlots(1, 1)
  const release = await slots.take(soon())
  const late = failureOf(slots.take(performance.now() + 20))
  const refused = await failureOf(slots.take(soon()))
  assert.deepEqual([refused.reason, refused.taken], ['overloaded', false])
  const gone = await late
  assert.deepEqual([gone.reason, gone.taken], ['overloaded', false])
  const waiting = slots.take(soon())
  release()
  ;(await waiting)()
  assert.equal(slots.used, 0)
})

test('whoever has to wait asks for something idle to end, and again when something becomes idle', async () => {
  let asked = 0
  const slots = createSlots(1, 4, () => asked++)
  const release = await slots.take(soon())
  slots.relieve()
  assert.equal(asked, 0)
  const waiting = slots.take(soon())
  assert.equal(asked, 1)
  slots.relieve()
  assert.equal(asked, 2)
  release()
  ;(await waiting)()
})

test('what nobody waits for takes no place of the last quarter, and none where somebody waits', async () => {
  const slots = createSlots(4, 10)
  const releases = [slots.takeSpare(), slots.takeSpare(), slots.takeSpare()]
  assert.equal(slots.takeSpare(), undefined)
  const called = await slots.take(soon())
  assert.equal(slots.used, 4)
  const waiting = slots.take(soon())
  releases[0]!()
  await waiting
  assert.equal(slots.takeSpare(), undefined)
  called()
  releases[1]!()
  assert.equal(typeof slots.takeSpare(), 'function')
  assert.equal(createSlots(1, 10).takeSpare(), undefined, 'of one place a call would always have to wait for the end')
})
