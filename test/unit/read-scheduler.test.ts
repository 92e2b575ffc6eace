import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createReadScheduler, type ServerReads } from '../../src/upstream/transport/read-scheduler.ts'

/** Returns sources whose reads take a given time, with the number of times each was resumed. */
function setUp() {
  let time = 0
  const turns = createReadScheduler(() => time)
  const open = (server: ServerReads) => {
    const opened = { resumed: 0, source: server.open(() => void opened.resumed++) }
    return { ...opened, opened, read: (ms: number) => opened.source.read(() => void (time += ms)) }
  }
  return { turns, open }
}

test('SR-H3 sources of a server that has taken its time in a turn of the event loop are read on one by one', async () => {
  const { turns, open } = setUp()
  const server = turns.server()
  const sources = [open(server), open(server), open(server)]
  for (const each of sources) each.read(20)
  assert.deepEqual(
    sources.map(({ source }) => source.mustPause),
    [true, true, true],
    'a read of 20 ms is more than a turn has'
  )
  const resumed = []
  for (let turn = 0; turn < 3; turn++) {
    await nextTurn()
    resumed.push(sources.map((each) => each.opened.resumed).join(''))
  }
  assert.deepEqual(resumed, ['100', '110', '111'])
  assert.ok(
    sources.every(({ source }) => !source.mustPause),
    'nothing waits any more'
  )
})

test('SR-H3 servers with sources that wait take turns, and others never wait', async () => {
  const { turns, open } = setUp()
  const [flooding, other, quiet] = [turns.server(), turns.server(), turns.server()]
  const floods = Array.from({ length: 5 }, () => open(flooding))
  const late = open(other)
  const calm = open(quiet)
  for (const flood of floods) flood.read(20)
  late.read(20)
  calm.read(1)
  assert.equal(calm.source.mustPause, false, 'a server that takes little goes on')
  await nextTurn()
  await nextTurn()
  assert.equal(late.opened.resumed, 1, 'the other server comes second, not sixth')
  assert.equal(floods.filter(({ opened }) => opened.resumed > 0).length, 1, 'of the first server one source was read')
})

test('a server that takes little time in each turn is never held up', async () => {
  const { turns, open } = setUp()
  const only = open(turns.server())
  for (let turn = 0; turn < 50; turn++) {
    only.read(3)
    assert.equal(only.source.mustPause, false, `turn ${turn}`)
    await nextTurn()
  }
})

test('sources that took little are read on together', async () => {
  const { turns, open } = setUp()
  const server = turns.server()
  const sources = Array.from({ length: 20 }, () => open(server))
  for (const each of sources) each.read(1)
  assert.equal(sources.filter(({ source }) => source.mustPause).length, 16)
  await nextTurn()
  assert.equal(sources.filter(({ source }) => source.mustPause).length, 12, 'four of one millisecond fill a turn')
})

test('a source that is closed while it waits is resumed once, and a failing read counts too', async () => {
  const { turns, open } = setUp()
  const one = open(turns.server())
  one.read(20)
  one.source.close()
  assert.equal(one.opened.resumed, 1)
  one.read(20)
  assert.equal(one.source.mustPause, false, 'nothing waits behind its end')
  await nextTurn()
  assert.equal(one.opened.resumed, 1)
  const failing = open(turns.server())
  assert.throws(() => {
    failing.source.read(() => {
      failing.read(20)
      throw new Error('bad')
    })
  }, /bad/)
  assert.equal(failing.source.mustPause, true)
})
