import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSlotPool } from '../../src/upstream/sessions/slot-pool.ts'
import { failureOf } from './upstreams.ts'

const soon = () => performance.now() + 5_000

test('places are given until there are none, then in order of arrival', async () => {
  const slots = createSlotPool(2, 10)
  const first = await slots.acquire(soon())
  const second = await slots.acquire(soon())
  const order: string[] = []
  const waiting = ['a', 'b'].map(async (name) => {
    const release = await slots.acquire(soon())
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
  const slots = createSlotPool(1, 10)
  const release = await slots.acquire(soon())
  release()
  release()
  assert.equal(slots.used, 0)
  await slots.acquire(soon())
  const waiting = slots.acquire(soon())
  release()
  const state = await Promise.race([
    waiting.then(() => 'taken'),
    new Promise((resolve) => setImmediate(resolve, 'waits'))
  ])
  assert.equal(state, 'waits')
  assert.equal(slots.used, 1)
})

test('past the queue a call is refused at once, and one that waited too long as well; neither was sent', async () => {
  const slots = createSlotPool(1, 1)
  const release = await slots.acquire(soon())
  const late = failureOf(slots.acquire(performance.now() + 20))
  const refused = await failureOf(slots.acquire(soon()))
  assert.deepEqual([refused.reason, refused.maybeProcessed], ['overloaded', false])
  const gone = await late
  assert.deepEqual([gone.reason, gone.maybeProcessed], ['overloaded', false])
  const waiting = slots.acquire(soon())
  release()
  ;(await waiting)()
  assert.equal(slots.used, 0)
})

test('a request that nobody waits for any more takes neither a place in the queue nor a slot', async () => {
  const slots = createSlotPool(1, 2)
  const release = await slots.acquire(soon())
  let isWanted = true
  const given = [0, 1].map(() => failureOf(slots.acquire(soon(), undefined, () => isWanted)))
  assert.equal(slots.waiting, 2)
  isWanted = false
  const live = slots.acquire(soon())
  assert.equal(slots.waiting, 1)
  for (const failure of await Promise.all(given))
    assert.deepEqual([failure.reason, failure.maybeProcessed], ['cancelled', false])
  let isLastWanted = true
  const last = failureOf(slots.acquire(soon(), undefined, () => isLastWanted))
  release()
  const releaseLive = await live
  isLastWanted = false
  releaseLive()
  assert.equal((await last).reason, 'cancelled')
  assert.deepEqual([slots.used, slots.waiting], [0, 0])
})

test('whoever has to wait asks for something idle to end, and again when something becomes idle', async () => {
  let asked = 0
  const slots = createSlotPool(1, 4, { reclaim: () => ++asked > 0 })
  const release = await slots.acquire(soon())
  slots.reclaimForWaiting()
  assert.equal(asked, 0)
  const waiting = slots.acquire(soon())
  assert.equal(asked, 1)
  slots.reclaimForWaiting()
  assert.equal(asked, 2)
  release()
  ;(await waiting)()
})

test('what nobody waits for takes no place of the last quarter, and none where somebody waits', async () => {
  const slots = createSlotPool(4, 10)
  const releases = [slots.tryAcquire(), slots.tryAcquire(), slots.tryAcquire()]
  assert.equal(slots.tryAcquire(), undefined)
  const called = await slots.acquire(soon())
  assert.equal(slots.used, 4)
  const waiting = slots.acquire(soon())
  releases[0]!()
  await waiting
  assert.equal(slots.tryAcquire(), undefined)
  called()
  releases[1]!()
  assert.equal(typeof slots.tryAcquire(), 'function')
  assert.equal(
    createSlotPool(1, 10).tryAcquire(),
    undefined,
    'of one place a call would always have to wait for the end'
  )
})

test('SR-M6 a holder at its share waits for its own places, others overtake it, and it is told that the share is why', async () => {
  const slots = createSlotPool(4, 10, { share: 2 })
  const [first] = [await slots.acquire(soon(), 'a'), await slots.acquire(soon(), 'a')]
  const order: string[] = []
  const waiting = slots.acquire(soon(), 'a').then((release) => {
    order.push('a')
    return release
  })
  assert.deepEqual([slots.isLimited('a'), slots.isLimited('b'), slots.waiting], [true, false, 1])
  await slots.acquire(soon(), 'b')
  order.push('b')
  first()
  await waiting
  assert.deepEqual(order, ['b', 'a'])
  const refused = await failureOf(slots.acquire(performance.now(), 'a'))
  assert.deepEqual([refused.reason, refused.maybeProcessed], ['limited', false])
})

test('SR-M6 half of the queue is for others than the one who fills it', async () => {
  const slots = createSlotPool(1, 4, { share: 1 })
  const release = await slots.acquire(soon(), 'a')
  const waiting = [slots.acquire(soon(), 'a'), slots.acquire(soon(), 'a')]
  assert.equal((await failureOf(slots.acquire(soon(), 'a'))).reason, 'limited')
  const other = slots.acquire(soon(), 'b')
  assert.equal(slots.waiting, 3)
  release()
  for (const each of [...waiting, other]) (await each)()
})

test('SR-M6 only what is idle of the holder itself, or of one with more than an equal part, is ended for it', async () => {
  const asked: (readonly [string | undefined, boolean])[][] = []
  const holders = [undefined, 'a', 'b', 'c']
  const slots = createSlotPool(4, 10, {
    share: 3,
    reclaim(mayEnd) {
      asked.push(holders.map((holder) => [holder, mayEnd(holder)] as const))
      return false
    }
  })
  const ended = () => asked.at(-1)!.flatMap(([holder, isSo]) => (isSo ? [holder] : []))
  for (const holder of ['a', 'a', 'a', 'b']) await slots.acquire(soon(), holder)
  failureOf(slots.acquire(performance.now() + 10, 'a')).catch(() => {})
  assert.deepEqual(ended(), ['a'], 'at its share')
  const late = [
    failureOf(slots.acquire(performance.now() + 10, 'c')),
    failureOf(slots.acquire(performance.now() + 10, 'b'))
  ]
  assert.deepEqual(ended(), [undefined, 'a', 'b'], 'below it')
  asked.pop()
  assert.deepEqual(ended(), [undefined, 'a', 'b', 'c'], 'a newcomer, where nothing of that is idle')
  asked.pop()
  assert.deepEqual(ended(), [undefined, 'a', 'c'], 'a newcomer at first')
  await Promise.all(late)
})

test('SR-M6 the place of a spare counts as its user’s from then on', async () => {
  const slots = createSlotPool(4, 10, { share: 1 })
  const spare = slots.tryAcquire()!
  assert.equal(slots.isLimited('a'), false)
  slots.assign(spare, 'a')
  slots.assign(spare, 'b')
  assert.deepEqual([slots.isLimited('a'), slots.isLimited('b')], [true, false])
  spare()
  assert.equal(slots.isLimited('a'), false)
})

test('SR-M6 without a queue what is ended at once leaves its place at once, and else the refusal comes at once', async () => {
  const held: (() => void)[] = []
  const slots = createSlotPool(1, 0, { reclaim: () => (held.pop()?.(), true), noun: 'sessions' })
  held.push(await slots.acquire(0))
  const second = await slots.acquire(0)
  assert.equal(slots.used, 1)
  const refused = await failureOf(slots.acquire(0))
  assert.deepEqual(
    [refused.reason, refused.message],
    ['overloaded', 'too many calls are waiting for one of the sessions']
  )
  second()
})

test('SR-M6 who has no place gets one that is idle, however few each of the others has', async () => {
  for (const queue of [0, 10]) {
    const idle: { readonly holder: string; readonly release: () => void }[] = []
    const slots = createSlotPool(3, queue, {
      share: 2,
      reclaim(mayEnd) {
        const at = idle.findIndex(({ holder }) => mayEnd(holder))
        const [ended] = at < 0 ? [] : idle.splice(at, 1)
        ended?.release()
        return ended !== undefined
      }
    })
    for (const holder of ['a', 'b', 'c']) idle.push({ holder, release: await slots.acquire(soon(), holder) })
    const release = await slots.acquire(soon(), 'd')
    assert.deepEqual([idle.length, slots.used], [2, 3])
    // a single slot is already its share
    const second = await failureOf(slots.acquire(performance.now() + 20, 'd'))
    assert.deepEqual([second.reason, idle.length], ['overloaded', 2])
    release()
  }
})
