import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { watchOverload } from '../../src/http/overload.ts'

/**
 * Starts the overload detection with a clock and heap that the test controls; each half-second step is delayed as
 * given.
 */
function start(t: TestContext, processes = 1) {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const machine = {
    at: 0,
    heap: 10,
    resident: 100 as number | undefined,
    live: 100,
    garbage: 0,
    pauseMs: 0,
    collections: 0,
    shortages: 0
  }
  const told: (string | undefined)[] = []
  const load = watchOverload({
    heapPercent: 90,
    memoryPercent: 80,
    memoryLimitBytes: 1_000,
    processes,
    eventLoopLagMs: 2_000,
    onChange: (reason) => told.push(reason),
    onShortage: () => machine.shortages++,
    heap: () => machine.heap,
    resident: () => machine.resident && machine.resident + machine.garbage,
    live: () => machine.live + machine.garbage,
    collect: () => {
      machine.collections++
      machine.at += machine.pauseMs
      machine.garbage = 0
    },
    now: () => machine.at
  })
  t.after(() => load.close())
  machine.at = 100_000
  load.start()
  const step = (...lates: number[]) => {
    for (const late of lates) {
      machine.at += 500 + late
      t.mock.timers.tick(500)
    }
    return load.isOverloaded
  }
  return { machine, told, step }
}

test('a heap over its share is too much, until it is under it again', (t) => {
  const { machine, told, step } = start(t)
  assert.equal(step(0), false)
  machine.heap = 90.1
  assert.equal(step(0, 0), true)
  machine.heap = 90
  assert.equal(step(0), false)
  assert.deepEqual(told, ['the heap is nearly full', undefined])
})

test('several processes share the memory', (t) => {
  const { machine, step } = start(t, 4)
  assert.equal(step(0), false)
  machine.resident = 200
  machine.live = 200
  assert.equal(step(0, 0), false)
  machine.resident = 201
  machine.live = 201
  assert.equal(step(0, 0), true)
})

test('where the system does not say how much is resident, what is live counts', (t) => {
  const { machine, told, step } = start(t)
  machine.resident = undefined
  assert.equal(step(0), false)
  machine.live = 800
  assert.equal(step(0), false)
  machine.live = 801
  assert.equal(step(0, 0), true)
  machine.live = 700
  assert.equal(step(0), false)
  assert.deepEqual(told, ['the memory is nearly full', undefined])
})

/** Resident and live bytes; the limit for resident ones is 800. */
const memories = [
  { resident: 800, live: 800, isShort: false, what: 'as much resident as may be' },
  { resident: 801, live: 700, isShort: true, what: 'more, of which most is live' },
  { resident: 810, live: 535, isShort: false, what: 'pages that the allocator keeps' },
  { resident: 900, live: 535, isShort: true, what: 'little room beside the pages that the allocator keeps' },
  { resident: 900, live: 360, isShort: false, what: 'little room, and little that is live' },
  { resident: 1_500, live: 320, isShort: false, what: 'pages past the limit, and little that is live' },
  { resident: 1_500, live: 321, isShort: true, what: 'pages past the limit, and some that is live' }
]

for (const { resident, live, isShort, what } of memories) {
  test(`SR-H3 memory is ${isShort ? '' : 'not '}short with ${what}`, (t) => {
    const { machine, step } = start(t)
    step(0)
    Object.assign(machine, { resident, live })
    assert.equal(step(0, 0), isShort)
  })
}

test('SR-H3 work is taken again once live memory is freed, whatever the allocator keeps', (t) => {
  const { machine, told, step } = start(t)
  step(0)
  Object.assign(machine, { resident: 960, live: 700 })
  assert.equal(step(0), true)
  machine.live = 310
  assert.equal(step(0), true, 'five per cent below what starts it')
  machine.live = 300
  assert.equal(step(0), false)
  machine.live = 319
  assert.equal(step(0), false)
  assert.deepEqual(told, ['the memory is nearly full', undefined])
})

test('SR-H3 memory is not short with no more live than a process with nothing to do has', (t) => {
  const { machine, step } = start(t)
  Object.assign(machine, { resident: 700, live: 500 })
  step(0)
  machine.resident = 1_500
  assert.equal(step(0), false)
  machine.live = 581
  assert.equal(step(0), true)
  machine.live = 550
  assert.equal(step(0), false)
})

test('SR-H3 garbage is collected before work is refused, then every second while memory is short', (t) => {
  const { machine, told, step } = start(t)
  step(0)
  machine.garbage = 800
  assert.equal(step(0), false)
  assert.deepEqual([machine.collections, machine.shortages, told], [1, 1, []])
  Object.assign(machine, { resident: 900, live: 700 })
  assert.equal(step(...new Array<number>(41).fill(0)), true)
  assert.deepEqual([machine.collections, machine.shortages], [21, 42])
})

test('SR-H3 collections take a twentieth of the time', (t) => {
  const { machine, step } = start(t)
  step(0)
  Object.assign(machine, { resident: 900, live: 700, pauseMs: 1_000 })
  step(...new Array<number>(82).fill(0))
  assert.equal(machine.collections, 3)
})

test('SR-H3 nothing is collected while only the allocator keeps memory', (t) => {
  const { machine, step } = start(t)
  Object.assign(machine, { resident: 1_500, live: 300 })
  assert.equal(step(...new Array<number>(100).fill(0)), false)
  assert.deepEqual([machine.collections, machine.shortages], [0, 0])
})

test('an event loop that lags for five seconds is too much, until it comes in time again', (t) => {
  const { told, step } = start(t)
  assert.equal(step(2_001), false)
  assert.equal(step(2_001), true)
  assert.equal(step(2_600, 9_000), true)
  assert.equal(step(2_000), false)
  assert.deepEqual(told, ['the event loop lags', undefined])
})

test('one long pause is no load, and neither are pauses with good times between', (t) => {
  const { told, step } = start(t)
  assert.equal(step(3_600_000), false)
  for (let round = 0; round < 10; round++) assert.equal(step(0, 4_900), false)
  assert.deepEqual(told, [])
})

test('the heap of this very process is within its share', (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const reasons: unknown[] = []
  const limits = { eventLoopLagMs: 1_000_000, memoryPercent: 100, memoryLimitBytes: 1e12 }
  const high = watchOverload({ ...limits, heapPercent: 0, onChange: (reason) => reasons.push(reason) })
  const low = watchOverload({ ...limits, heapPercent: 90, onChange: () => assert.fail('not nearly full') })
  high.start()
  low.start()
  t.mock.timers.tick(500)
  assert.deepEqual([high.isOverloaded, low.isOverloaded, reasons], [true, false, ['the heap is nearly full']])
  high.close()
  low.close()
})
