import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRequestTurns } from '../../src/http/request-turns.ts'
import type { AppError } from '../../src/lib/errors.ts'
import { createQuota } from '../../src/lib/quota.ts'

const PRINCIPAL_BYTES = 1_000

/** Returns turns with a clock and an event loop of their own, and a log of what started. */
function setUp() {
  let time = 0
  let immediates: (() => void)[] = []
  const started: string[] = []
  const quota = createQuota(PRINCIPAL_BYTES, 4 * PRINCIPAL_BYTES)
  const turns = createRequestTurns({
    bytes: quota,
    now: () => time,
    setImmediate: (work) => void immediates.push(work)
  })
  const pass = (ms: number) => void (time += ms)
  /** Runs one turn of the loop: what it schedules belongs to the next. */
  const turn = () => {
    const due = immediates
    immediates = []
    for (const work of due) work()
  }
  /** A request that takes `ms`; starts at once if the loop is on time. */
  const ask = (key: string, ms: number, bytes = 1): (() => void) => {
    const start = (error?: AppError) => {
      started.push(error ? `${key} ${error.statusCode}` : key)
      if (!error) pass(ms)
    }
    if (!turns.isOnTime()) return turns.wait(key, bytes, start)
    start()
    return () => {}
  }
  const isIdle = () => immediates.length === 0
  return { turns, quota, started, ask, turn, pass, isIdle }
}

/** Makes the loop late, so that the next requests wait. */
function makeLate({ ask, started }: ReturnType<typeof setUp>): void {
  ask('first', 5)
  assert.deepEqual(started.splice(0), ['first'])
}

test('requests start at once, in order, while they take less than 2 ms of a turn of the event loop', () => {
  const { turns, ask, turn, started } = setUp()
  for (let at = 0; at < 3; at++) {
    for (const key of ['a', 'b', 'a']) ask(key, 0.5)
    turn()
  }
  assert.equal(started.join(''), 'abaabaaba')
  assert.equal(turns.size, 0)
})

test('nothing is scheduled once no request waits', () => {
  const loop = setUp()
  makeLate(loop)
  loop.ask('a', 1)
  loop.ask('b', 1)
  for (let at = 0; at < 2; at++) loop.turn()
  assert.equal(loop.started.join(''), 'ab')
  assert.ok(loop.isIdle())
})

test('SR-H2 a request waits behind those of its own principal, and not behind those of another', () => {
  const loop = setUp()
  makeLate(loop)
  for (let at = 0; at < 50; at++) loop.ask('flood', 1.5)
  loop.ask('other', 0.5)
  loop.ask('third', 0.5)
  loop.turn()
  assert.deepEqual(loop.started, ['flood', 'other', 'third'], 'one turn: one request of each')
})

test('a principal that used more time waits longer, whatever the number of its requests', () => {
  const loop = setUp()
  makeLate(loop)
  for (let at = 0; at < 20; at++) {
    loop.ask('dear', 10)
    for (let cheap = 0; cheap < 10; cheap++) loop.ask('cheap', 1)
  }
  for (let at = 0; at < 20; at++) loop.turn()
  const upToThird = loop.started.slice(0, loop.started.indexOf('dear', loop.started.indexOf('dear', 1) + 1))
  assert.ok(upToThird.filter((key) => key === 'cheap').length >= 10, loop.started.join())
})

test('a principal whose dear request has just run comes after one that had none', () => {
  const loop = setUp()
  makeLate(loop)
  loop.ask('dear', 60)
  loop.turn()
  loop.ask('steady', 6)
  loop.ask('dear', 60)
  loop.ask('new', 1)
  for (let at = 0; at < 4; at++) loop.turn()
  assert.deepEqual(loop.started, ['dear', 'steady', 'new', 'dear'])
})

test('no principal starves: each is served although others ask again and again', () => {
  const loop = setUp()
  makeLate(loop)
  for (let at = 0; at < 5; at++) loop.ask('dear', 10)
  for (let at = 0; at < 60; at++) {
    loop.ask('a', 2)
    loop.ask('b', 2)
    loop.turn()
  }
  assert.equal(loop.started.filter((key) => key === 'dear').length, 5)
})

test('each turn starts requests for 2 ms and leaves the rest of the turn to sockets', () => {
  const loop = setUp()
  makeLate(loop)
  for (let at = 0; at < 20; at++) loop.ask('a', 0.75)
  const perTurn = []
  while (loop.started.length < 20) {
    const before = loop.started.length
    loop.turn()
    perTurn.push(loop.started.length - before)
  }
  assert.deepEqual(new Set(perTurn.slice(1, -1)), new Set([3]))
})

test('SR-H2 waiting requests are bounded in bytes per principal; others still get their turn', () => {
  const loop = setUp()
  makeLate(loop)
  for (let at = 0; at < 12; at++) loop.ask('flood', 1, 100)
  loop.ask('other', 1, 100)
  assert.equal(loop.turns.size, 11)
  for (let at = 0; at < 5; at++) loop.turn()
  assert.equal(loop.started.filter((key) => key === 'flood 503').length, 2)
  assert.equal(loop.started.filter((key) => key === 'flood').length, 10)
  assert.ok(loop.started.includes('other'))
  assert.equal(loop.quota.holders, 0, 'nothing is held afterwards')
})

test('a request that waited for ten seconds is refused', () => {
  const loop = setUp()
  makeLate(loop)
  loop.ask('a', 1)
  loop.pass(10_001)
  loop.ask('a', 1)
  loop.turn()
  assert.deepEqual(loop.started, ['a 503', 'a'])
})

test('SR-H2 a request whose client disconnects leaves the queue and frees its bytes', () => {
  const loop = setUp()
  makeLate(loop)
  const leaves = Array.from({ length: 5 }, () => loop.ask('gone', 1, 200))
  loop.ask('stays', 1)
  for (const leave of [...leaves, ...leaves]) leave()
  assert.deepEqual([loop.turns.size, loop.quota.heldBy('gone'), loop.quota.size], [1, 0, 1])
  loop.turn()
  assert.deepEqual(loop.started, ['stays'])
  leaves[0]!()
  assert.equal(loop.quota.size, 0)
})
