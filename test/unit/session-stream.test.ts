import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Payload } from '../../src/json/payload.ts'
import { type Answer, Call, type Sink } from '../../src/upstream/transport/call.ts'
import type { Connection } from '../../src/upstream/transport/connection.ts'
import {
  createSessionStream,
  createStreamStats,
  type SessionStreamStats
} from '../../src/upstream/http/session-stream.ts'
import type { HttpConnection } from '../../src/upstream/http/connection.ts'

/** Returns a call that records the messages it receives. */
function newCall(name: string) {
  const heard: string[] = []
  const answer: Answer = { kind: 'result', body: Payload.of(JSON.stringify({ of: name })) }
  const sink: Sink = {
    capabilities: '{"roots":{}}',
    wantsProgress: true,
    notify: (method) => void heard.push(method),
    request: async () => answer
  }
  return { call: new Call({ method: 'tools/call', members: '', meta: '' }, sink), heard }
}

interface Options {
  readonly opened?: Promise<boolean>
  readonly known?: SessionStreamStats
  /** Answers requests that belong to no call. */
  readonly home?: NonNullable<Connection['onRequest']>
}

/** Opens a session whose stream is controlled by the test. */
function open(
  isMixed: boolean,
  { opened = Promise.resolve(true), known = createStreamStats(), home: onRequest }: Options = {}
) {
  const streams: { sink: Sink; end: () => void }[] = []
  const broadcasts: string[] = []
  const progress: string[] = []
  const connection = {
    openNotificationStream(sink: Sink, end: () => void) {
      streams.push({ sink, end })
      return opened
    },
    onNotification: (method: string) => void broadcasts.push(method),
    receiveProgress: (params: string) => void progress.push(params),
    onRequest
  }
  const hearing = createSessionStream(connection as unknown as HttpConnection, isMixed, known)
  const ask = async () => (await streams[0]!.sink.request('roots/list', '{}')).body.toString()
  return { hearing, streams, broadcasts, progress, ask }
}

test('the oldest call under way is asked; without one the method is unknown', async () => {
  const { hearing, streams, ask } = open(false)
  const [a, b] = [newCall('a'), newCall('b')]
  await hearing.add(a.call)
  await hearing.add(b.call)
  assert.equal(streams.length, 1)
  assert.equal(await ask(), '{"of":"a"}')
  hearing.delete(a.call)
  assert.equal(await ask(), '{"of":"b"}')
  hearing.delete(b.call)
  assert.match(await ask(), /-32601/)
})

test('where calls may be of several clients only one that is alone is asked', async () => {
  const { hearing, ask } = open(true)
  const [a, b] = [newCall('a'), newCall('b')]
  await hearing.add(a.call)
  await hearing.add(b.call)
  assert.match(await ask(), /-32601/)
  hearing.delete(a.call)
  assert.equal(await ask(), '{"of":"b"}')
})

test('changed lists are for everybody, log messages for the call, progress for the call that its token names', async () => {
  const { hearing, streams, broadcasts, progress } = open(false)
  const { call, heard } = newCall('a')
  await hearing.add(call)
  const methods = ['notifications/tools/list_changed', 'notifications/message', 'notifications/progress']
  for (const method of methods) streams[0]!.sink.notify(method, '{}')
  assert.deepEqual([broadcasts, heard, progress], [[methods[0]], [methods[1]], ['{}']])
})

test('a stream that broke is opened again by the next call; one that is refused or slow holds nobody up', async (t) => {
  // a pending wait must not keep the process alive
  const alive = setInterval(() => {}, 1_000)
  t.after(() => clearInterval(alive))
  const broken = open(false)
  await broken.hearing.add(newCall('a').call)
  broken.streams[0]!.end()
  await broken.hearing.add(newCall('b').call)
  assert.equal(broken.streams.length, 2)
  for (const opened of [Promise.resolve(false), Promise.reject(new Error('no')), new Promise<boolean>(() => {})]) {
    const { hearing, streams } = open(false, { opened })
    await hearing.add(newCall('a').call)
    await hearing.add(newCall('b').call)
    assert.equal(streams.length, 1)
  }
})

test('that an upstream has no such stream is remembered, and its later sessions ask for none', async () => {
  const known = createStreamStats()
  for (const [expected, opened] of [
    [1, Promise.reject(new Error('no'))],
    [1, Promise.resolve(false)],
    [0, Promise.resolve(true)]
  ] as const) {
    const { hearing, streams } = open(false, { opened, known })
    await hearing.add(newCall('a').call)
    assert.equal(streams.length, expected)
  }
})

test('streams that are always late are asked for and waited for only a moment, but looked at in full now and then', async (t) => {
  const alive = setInterval(() => {}, 1_000)
  t.after(() => clearInterval(alive))
  const known = createStreamStats()
  const never = new Promise<boolean>(() => {})
  const waited = async (opened: Promise<boolean>) => {
    const start = performance.now()
    const { hearing, streams } = open(false, { opened, known })
    await hearing.add(newCall('a').call)
    assert.equal(streams.length, 1)
    return performance.now() - start
  }
  const times: number[] = []
  for (let i = 0; i < 17; i++) times.push(await waited(never))
  // a busy machine makes waits longer, never shorter
  for (const i of [0, 1, 2, 16]) assert.ok(times[i]! > 240, `${i}: ${times[i]}`)
  assert.ok(Math.min(...times.slice(3, 16)) < 240)
  await waited(Promise.resolve(true))
  assert.equal(known.lateCount, 0)
})

const atHome = async (): Promise<Answer> => ({ kind: 'result', body: Payload.of('{"of":"home"}') })

test('CR-F1: what is asked goes home, call or no call, and what is said where no call is under way', async () => {
  const { hearing, streams, broadcasts, ask } = open(false, { home: atHome })
  const { call, heard } = newCall('a')
  await hearing.add(call)
  assert.equal(await ask(), '{"of":"home"}')
  hearing.delete(call)
  assert.equal(await ask(), '{"of":"home"}')
  for (const method of ['notifications/message', 'notifications/progress']) streams[0]!.sink.notify(method, '{}')
  assert.deepEqual([broadcasts, heard], [['notifications/message'], []])
})

test('CR-F1: while the session asks, the clock of each call stands, also of one that begins, until the answer', async () => {
  let answer: (value: Answer) => void = () => {}
  const underway: number[] = []
  const { hearing, ask } = open(false, {
    home(_method, _params, _asking, calls) {
      underway.push(calls.length)
      return new Promise((resolve) => (answer = resolve))
    }
  })
  const [early, late, brief] = [newCall('early').call, newCall('late').call, newCall('brief').call]
  await hearing.add(early)
  const asked = ask()
  await hearing.add(late)
  await hearing.add(brief)
  hearing.delete(brief)
  assert.deepEqual(
    [early.isPaused, late.isPaused, brief.isPaused, underway],
    [true, true, false, [1]],
    'before the answer'
  )
  answer(await atHome())
  await asked
  assert.deepEqual([early.isPaused, late.isPaused], [false, false], 'after it')
})

test('that a session asks while calls are in progress is remembered for the others of its server', async () => {
  const known = createStreamStats()
  const { hearing, ask } = open(true, { known })
  await ask()
  assert.equal(known.hasRequests, false, 'it could not be of a call')
  await hearing.add(newCall('a').call)
  await ask()
  assert.equal(known.hasRequests, true, 'it may be of the call')
})

test('a stream that broke is opened again without a call where somebody is at home, each time later', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  // the random part of each delay is its longest
  t.mock.method(Math, 'random', () => 1)
  const { hearing, streams } = open(false, { home: atHome })
  await hearing.add(newCall('a').call)
  for (const pauseMs of [1_000, 2_000, 4_000]) {
    const before = streams.length
    streams.at(-1)!.end()
    t.mock.timers.tick(pauseMs - 1)
    assert.equal(streams.length, before)
    t.mock.timers.tick(1)
    assert.equal(streams.length, before + 1)
  }
  const nobody = open(false)
  await nobody.hearing.add(newCall('a').call)
  nobody.streams[0]!.end()
  t.mock.timers.tick(60_000)
  assert.equal(nobody.streams.length, 1)
})
