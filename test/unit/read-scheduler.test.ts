import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createReadScheduler, type ReadSource, type ServerReads } from '../../src/upstream/transport/read-scheduler.ts'
import { until } from '../until.ts'

/** Too long to be joined with the next. */
const chunk = Buffer.alloc(4_096)
const tiny = Buffer.alloc(1)
const large = Buffer.alloc(16_384)

/** Returns sources whose chunks take a given time, with what was read by turn of the event loop. */
function setUp() {
  let time = 0
  let following = 0
  const scheduler = createReadScheduler(() => time)
  const read: string[] = []
  const open = (server: ServerReads, name: string, ms: number) => {
    let resumed = 0
    const source = server.open(
      () => {
        time += ms
        read.push(name)
        const more = following
        following = 0
        void Promise.resolve().then(() => (time += more))
      },
      () => void resumed++
    )
    return { ...source, name, resumed: () => resumed }
  }
  /** Lets the work that follows from the next chunk take so many milliseconds. */
  const pass = (ms: number) => void (following = ms)
  const turn = async () => {
    read.splice(0)
    await nextTurn()
    return read.join('')
  }
  return { server: scheduler.server, open, read, turn, pass }
}

test('SR-H3 what a server sends beyond its time in a turn of the event loop is read in later turns, in order', async () => {
  const { server, open, turn } = setUp()
  const only = server()
  const sources = ['a', 'b', 'c', 'd', 'e'].map((name) => open(only, name, 0.75))
  for (const { add } of [...sources, ...sources]) assert.equal(add(chunk), true, 'nothing is behind yet')
  let isLast = false
  only.schedule(() => (isLast = true))
  assert.deepEqual([await turn(), await turn()], ['ab', 'cd'])
  assert.equal(isLast, false)
  assert.deepEqual([await turn(), await turn(), await turn(), await turn()], ['ea', 'bc', 'de', ''])
  assert.equal(isLast, true, 'the end comes behind all that was sent')
})

test('SR-H3 servers of which something waits take turns, and others are read before them', async () => {
  const { server, open, turn } = setUp()
  const [flooding, other, quiet] = [server(), server(), server()]
  const flood = open(flooding, 'f', 5)
  for (let sent = 0; sent < 4; sent++) flood.add(chunk)
  open(other, 'o', 5).add(chunk)
  const calm = open(quiet, 'q', 0)
  assert.equal(await turn(), 'f', 'one step is more than a turn has')
  calm.add(chunk)
  assert.equal(await turn(), 'qo', 'a server that sends little does not wait, and the other comes before the flood')
  assert.deepEqual([await turn(), await turn(), await turn(), await turn()], ['f', 'f', 'f', ''])
})

test('SR-H3 the server that has used the least time is read first, however many flood in the same turn', async () => {
  const { server, open, turn } = setUp()
  const floods = ['a', 'b', 'c', 'd', 'e'].map((name) => open(server(), name, 5))
  const calm = open(server(), 'q', 0.1)
  let read = ''
  for (let turns = 0; turns < 50; turns++) {
    for (const { add } of floods) add(chunk)
    if (turns >= 10) calm.add(chunk)
    const now = await turn()
    if (turns >= 10) assert.equal(now[0], 'q', `turn ${turns}: ${now}`)
    read += now
  }
  const counts = floods.map(({ name }) => read.split(name).length - 1)
  assert.deepEqual(counts, [10, 10, 10, 10, 10], 'those that flood have equal shares')
})

test('a server that was idle is ahead for 20 ms at most', async () => {
  const { server, open, turn } = setUp()
  const [busy, idle] = [open(server(), 'b', 2), open(server(), 'i', 2)]
  for (let sent = 0; sent < 200; sent++) busy.add(chunk)
  for (let turns = 0; turns < 100; turns++) await turn()
  for (let sent = 0; sent < 40; sent++) idle.add(chunk)
  let read = ''
  for (let turns = 0; turns < 20; turns++) read += await turn()
  const lead = read.slice(0, 13)
  assert.ok(lead.split('i').length - 1 >= 10, `first it catches up: ${read}`)
  assert.match(read.slice(13), /^(ib|bi){3,}[ib]?$/, `then both have equal shares: ${read}`)
})

test('SR-H3 sources of a server that is behind are paused, and go on a few at a time', async () => {
  const { server, open, turn } = setUp()
  const only = server()
  const sources = Array.from({ length: 6 }, () => open(only, 'x', 5))
  for (const { add } of sources) add(large)
  await turn()
  for (const { add } of sources) assert.equal(add(large), false, 'the server is behind')
  const counts = () => sources.map(({ resumed }) => resumed())
  let most = 0
  for (let turns = 0; turns < 20; turns++) {
    const before = counts()
    await turn()
    most = Math.max(most, counts().filter((each, at) => each !== before[at]).length)
  }
  assert.deepEqual(counts(), [1, 1, 1, 1, 1, 1], 'each is resumed once')
  assert.equal(most, 4)
  assert.equal(sources[0]!.add(large), true, 'nothing is behind any more')
})

test('SR-H3 tiny chunks that arrive together wait and are read as a few pieces, in order', async () => {
  const read: string[] = []
  const reads = createReadScheduler().server()
  const [one, other] = ['a', 'b'].map((name) =>
    reads.open(
      (bytes) => read.push(`${name}${bytes.toString()}`),
      () => {}
    )
  ) as [ReadSource, ReadSource]
  const text = Array.from({ length: 9_000 }, (_, index) => String.fromCharCode(97 + (index % 26))).join('')
  for (const character of text) assert.equal(one.add(Buffer.from(character)), true)
  const chunk = Buffer.from('kept')
  other.add(chunk)
  one.add(Buffer.from('1'))
  reads.schedule(() => read.push('work'))
  one.add(Buffer.from('2'))
  chunk.fill(0)
  await nextTurn()
  assert.deepEqual(
    read.splice(0, 9).map(({ length }) => length),
    [...Array.from({ length: 8 }, () => 1_025), 809],
    'each after the name of its source'
  )
  assert.deepEqual(read, ['b\0\0\0\0', 'a1', 'work', 'a2'], 'what is not joined is not copied')
})

test('SR-H3 chunks that arrive together take little memory of their own, whatever their length', async () => {
  for (const length of [1, 128, 129, 1_000, 2_000]) {
    const chunks = Array.from({ length: 400 }, () => Buffer.alloc(length, 'c'))
    const read: Buffer[] = []
    const source = createReadScheduler()
      .server()
      .open(
        (bytes) => read.push(bytes),
        () => {}
      )
    for (const chunk of chunks) source.add(chunk)
    const given = new Set<unknown>(chunks.map(({ buffer }) => buffer))
    while (Buffer.concat(read).length < 400 * length) await nextTurn()
    const own = new Set(read.map(({ buffer }) => buffer).filter((buffer) => !given.has(buffer)))
    assert.ok(own.size <= 12, `${own.size} blocks of memory for 400 chunks of ${length} bytes`)
  }
})

test('SR-H3 a source of tiny chunks of a server that waits is paused once 16 KiB of them wait', async () => {
  const { server, open, turn } = setUp()
  const only = open(server(), 'x', 5)
  only.add(chunk)
  only.add(chunk)
  await turn()
  let accepted = 0
  while (only.add(tiny)) accepted++
  assert.ok(accepted > 10_000 && accepted < 17_000, String(accepted))
})

test('SR-H3 all sources of a server together wait for 256 KiB, and one for no more than the rest of its socket', async () => {
  const { server, open } = setUp()
  const [flooding, other] = [server(), server()]
  const sources = Array.from({ length: 100 }, () => open(flooding, 'x', 0))
  const accepted = sources.filter(({ add }) => add(large)).length
  assert.ok(accepted > 10 && accepted < 17, String(accepted))
  assert.equal(open(other, 'y', 0).add(large), true)
})

test('SR-H3 what waits of a source that is closed takes none of the time of the others', async () => {
  const { server, open, turn } = setUp()
  const only = server()
  const [closed, next] = [open(only, 'c', 0), open(only, 'n', 0)]
  for (let sent = 0; sent < 15; sent++) closed.add(large)
  for (let sent = 0; sent < 15; sent++) next.add(large)
  closed.close()
  assert.equal(await turn(), 'n'.repeat(15))
})

test('SR-H3 of a server whose bytes take no time to parse, 256 KiB are read in a turn', async () => {
  const { server, open, read, turn } = setUp()
  const [flooding, other] = [server(), server()]
  const sources = ['a', 'b'].map((name) => open(flooding, name, 0))
  for (const { add } of sources) for (let sent = 0; sent < 32; sent++) add(large)
  const few = open(other, 'o', 0)
  const counts: number[] = []
  for (let turns = 0; turns < 5; turns++) {
    few.add(chunk)
    counts.push((await turn()).replaceAll('o', '').length)
    assert.equal(read.filter((name) => name === 'o').length, 1, 'the chunk of another server is read in its turn')
  }
  // a share ends with the chunk that exceeds it
  for (const count of counts.slice(0, 3)) assert.ok(count >= 16 && count <= 18, String(counts))
  assert.equal(
    counts.reduce((sum, count) => sum + count),
    64
  )
})

test('SR-H3 a source of which 256 KiB wait is paused in the turn in which they arrive', async () => {
  const { server, open, turn } = setUp()
  const source = open(server(), 'x', 0)
  let sent = 1
  while (source.add(large)) sent++
  assert.equal(sent, 16)
  while (source.resumed() === 0) assert.match(await turn(), /x/)
  assert.equal(source.add(large), true)
})

test('SR-H3 a source that goes on may add all that its socket holds', async () => {
  const source = createReadScheduler()
    .server()
    .open(
      () => {},
      () => {
        for (let held = 0; held < 40; held++) assert.equal(source.add(large), true)
        isResumed = true
      }
    )
  let isResumed = false
  while (source.add(large));
  while (!isResumed) await nextTurn()
  assert.equal(source.add(large), false, 'what arrives later waits')
})

test('SR-H3 a long chunk is read in pieces, between which other work has its turn', async () => {
  let time = 0
  const pieces: Buffer[] = []
  const source = createReadScheduler(() => time)
    .server()
    .open(
      (piece) => {
        time += 5
        pieces.push(piece)
      },
      () => {}
    )
  const sent = Buffer.from(Array.from({ length: 70_000 }, (_, at) => at % 251))
  source.add(sent)
  for (let turns = 1; turns <= 5; turns++) {
    await nextTurn()
    assert.equal(pieces.length, turns)
  }
  assert.ok(Buffer.concat(pieces).equals(sent))
  assert.ok(
    pieces.every(({ buffer }) => buffer === sent.buffer),
    'nothing is copied'
  )
})

test('SR-H3 a large message is read in steps: other servers have their turn between them, and what follows it waits', async () => {
  let time = 0
  const scheduler = createReadScheduler(() => time)
  const [one, other] = [scheduler.server(), scheduler.server()]
  const done: string[] = []
  const steps = (name: string, count: number) =>
    function* () {
      for (let step = 1; step <= count; step++) {
        time += 0.7
        done.push(`${name}${step}`)
        if (step < count) yield
      }
    }
  const source = one.open(
    () => {
      one.readInSteps(10, steps('small', 2))
      one.readInSteps(1_000_000, steps('large', 3))
      one.readInSteps(10, steps('next', 1))
    },
    () => {}
  )
  source.add(chunk)
  one.schedule(() => done.push('end'))
  const seen = []
  for (let turns = 0; turns < 6; turns++) {
    other.schedule(() => done.push('other'))
    await nextTurn()
    seen.push(done.splice(0).join(' '))
  }
  assert.ok(seen[0]?.includes('small1 small2'), 'a small message is read at once')
  assert.deepEqual(seen.join(' ').replaceAll(' other', ''), 'small1 small2 large1 large2 large3 next1 end')
  assert.ok(
    seen.slice(1).every((turn) => turn.includes('other') && turn.split('large').length <= 3),
    seen.join(' | ')
  )
})

test('a server that takes little time in each turn is never held up', async () => {
  const { server, open, turn } = setUp()
  const only = open(server(), 'x', 0.4)
  for (let turns = 0; turns < 50; turns++) {
    assert.equal(only.add(chunk), true, `turn ${turns}`)
    assert.equal(await turn(), 'x')
  }
})

test('a server alone has the whole time of a turn, one share after the other', async () => {
  const { server, open, turn } = setUp()
  const only = open(server(), 'x', 0.4)
  for (let sent = 0; sent < 12; sent++) only.add(chunk)
  assert.equal(await turn(), 'xxxx', 'two shares of two steps')
  assert.equal(await turn(), 'xxxx')
})

test('after a turn in which a little reading led to much work, the next reads of one server only', async () => {
  const { server, open, pass, turn } = setUp()
  const [one, other] = [open(server(), 'a', 0.4), open(server(), 'b', 0.4)]
  for (let sent = 0; sent < 12; sent++) for (const { add } of [one, other]) add(chunk)
  pass(20)
  assert.equal(await turn(), 'aabb')
  assert.equal(await turn(), 'aa')
  assert.equal((await turn()).length, 4, 'the work after the last turn was short')
})

test('what is put off by what is read comes after other work', async () => {
  const { server } = setUp()
  const reads = server()
  const done: string[] = []
  reads.schedule(() => {
    done.push('first')
    reads.schedule(() => done.push('put off by the first'))
  })
  server().schedule(() => done.push('second'))
  assert.deepEqual(done, [])
  await nextTurn()
  assert.deepEqual(done.slice(-1), ['second'])
  await until('all is done', () => done.length === 3)
})

test('a source that is closed while it is paused is resumed once', async () => {
  const { server, open, turn } = setUp()
  const only = server()
  const [one, other] = [open(only, 'x', 5), open(only, 'y', 5)]
  one.add(large)
  other.add(large)
  await turn()
  assert.equal(one.add(large), false)
  one.close()
  assert.equal(one.resumed(), 1)
  assert.equal(one.add(large), true, 'nothing waits behind its end')
  for (let turns = 0; turns < 5; turns++) await turn()
  assert.equal(one.resumed(), 1)
})
