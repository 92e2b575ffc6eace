import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { createDeadlines } from '../../src/upstream/transport/deadlines.ts'
import { joinObservers } from '../../src/observe/observation.ts'
import { Payload } from '../../src/json/payload.ts'
import { createQuota } from '../../src/lib/quota.ts'
import { Call, silentSink, type Sink } from '../../src/upstream/transport/call.ts'
import type { Connection, TransportClient } from '../../src/upstream/transport/connection.ts'
import { UpstreamFailure } from '../../src/protocol/upstream-failure.ts'
import { createUpstream, type UpstreamOptions } from '../../src/upstream/upstream.ts'
import { createSparePool } from '../../src/upstream/sessions/spare-pool.ts'
import { createUpstreams } from '../../src/upstream/upstreams.ts'
import { startRecorder, type Recorder, type RecorderOptions } from '../fixtures/http/recorder.ts'
import { until } from '../until.ts'
import { catalogOf, storedServer } from './stored.ts'
import {
  closeAfter,
  countingClient,
  failureOf,
  newCall,
  noSpares,
  defaultOptions,
  sessionNegotiation,
  textOf,
  toolCall
} from './upstreams.ts'

const origin = { era: 'legacy', owner: 'one', principal: 'one' } as const
const roots = '{"roots":{}}'

/** Starts an upstream whose handshakes can be delayed or refused. */
async function open(t: TestContext, more: Partial<UpstreamOptions> = {}, fixture: RecorderOptions = {}) {
  const recorder = await startRecorder(null, fixture)
  const counting = countingClient(recorder.url)
  const control = { before: async () => {}, basis: undefined as string | undefined }
  const client: TransportClient = {
    async open(options) {
      await control.before()
      return counting.open(options)
    },
    get fingerprint() {
      return control.basis
    },
    close: counting.close
  }
  const deadlines = createDeadlines()
  const taken: string[] = []
  const upstream = createUpstream({
    ...defaultOptions,
    server: { name: 'alpha', transport: 'streamable_http', session_mode: 'stateless' },
    client,
    deadlines,
    shares: createQuota(Infinity),
    callBytes: createQuota(Infinity),
    observer: joinObservers([{ onSessionTaken: (_, isSpare) => taken.push(isSpare ? 'hit' : 'miss') }]),
    sparePool: { ...noSpares, maxSize: 1 },
    ...more
  })
  closeAfter(t, upstream, deadlines, recorder)
  const call = async (capabilities = '{}', sink: Sink = silentSink) => {
    const { answer } = await upstream.call(new Call(toolCall('echo'), { ...sink, capabilities }), origin)
    assert.match(textOf(answer), /alpha/)
  }
  const spare = (count = 1) => until(`${count} spare`, () => upstream.counts().spare === count)
  /** Calls until a spare session is ready for the next call. */
  const warm = async (capabilities?: string) => {
    await call(capabilities)
    await call(capabilities)
    const { counts } = upstream
    await until('nothing but spares', () => counts().spare! > 0 && recorder.sessions.size === counts().spare)
  }
  /** Calls until a spare session is being opened; it completes when the test says so. */
  const beginSpare = async () => {
    let go = () => {}
    let begun = 0
    control.before = async () => {
      if (++begun === 3) await new Promise<void>((resolve) => (go = resolve))
    }
    await call()
    await call()
    await until('a spare is being opened', () => begun === 3)
    return { go }
  }
  return { upstream, recorder, control, taken, call, warm, spare, beginSpare, opened: counting.opened }
}

/** Returns the session ids of the calls that the upstream received, in order. */
const sessionsOf = (recorder: Recorder) =>
  recorder.requests.flatMap(({ message, headers }) =>
    message?.method === 'tools/call' ? [String(headers['mcp-session-id'])] : []
  )

test('a server that is called again has a session ready, each is used by one call, and then closed', async (t) => {
  const { upstream, recorder, taken, call, spare, opened } = await open(t)
  await call()
  await until('its session is closed', () => recorder.sessions.size === 0)
  await call()
  await spare()
  for (let count = 3; count <= 6; count++) {
    await call()
    await spare()
    assert.equal(opened(), count + 1, 'one is made for each that is taken')
  }
  assert.deepEqual(taken, ['miss', 'miss', 'hit', 'hit', 'hit', 'hit'])
  const used = sessionsOf(recorder)
  assert.equal(new Set(used).size, 6, 'none is used twice')
  await until('only the spare is left', () => recorder.sessions.size === 1)
  assert.ok(used.every((id) => !recorder.sessions.has(id)))
  assert.deepEqual(upstream.counts(), { open: 1, idle: 0, spare: 1 })
})

test('of two kinds of callers with equal load, the one that called first loses its spare first', async (t) => {
  // both kinds call at the same instant, so their loads are equal
  const now = performance.now()
  t.mock.method(performance, 'now', () => now)
  const recorder = await startRecorder(null)
  const client = countingClient(recorder.url)
  t.after(() => {
    client.close()
    return recorder.close()
  })
  const opened = new Map<string, Connection>()
  const pool = createSparePool({
    ...noSpares,
    maxSize: 2,
    isAvailable: () => true,
    fingerprint: () => undefined,
    async open({ capabilities }) {
      const connection = await client.open({ era: 'legacy', capabilities, deadline: now + 60_000 })
      opened.set(capabilities, connection)
      return connection
    }
  })
  t.after(() => pool.close())
  for (const capabilities of ['{}', roots, '{}', roots]) pool.take({ era: 'legacy', capabilities }, silentSink)
  pool.recordCallEnd()
  await until('each kind has a spare', () => pool.ready === 2)
  pool.findLeastUsed()!.close()
  assert.deepEqual([opened.get('{}')!.closed, opened.get(roots)!.closed], [true, false])
})

test('without spare sessions none is made and nothing is counted', async (t) => {
  const { upstream, recorder, taken, call, opened } = await open(t, { sparePool: noSpares })
  for (let count = 0; count < 3; count++) await call()
  await until('all are closed', () => recorder.sessions.size === 0)
  assert.deepEqual([opened(), taken, upstream.counts().spare], [3, [], undefined])
})

test('a stateful server, and one without sessions, have no use for spare ones', async (t) => {
  const stateful = { name: 'alpha', transport: 'streamable_http', session_mode: 'stateful' } as const
  const negotiation = { ...sessionNegotiation, hasSessions: false }
  for (const [options, fixture] of [
    [{ server: stateful }, {}],
    [{ negotiation }, { legacy: 'sessionless' }]
  ] as const) {
    const { upstream, call, opened } = await open(t, options, fixture)
    for (let count = 0; count < 3; count++) await call()
    assert.deepEqual([opened(), upstream.counts().spare], [1, undefined])
  }
})

test('a spare session serves callers who declare what it was opened with, and nobody else', async (t) => {
  const { recorder, taken, call, warm } = await open(t)
  await warm()
  const [spare] = recorder.sessions
  await call(roots)
  assert.equal(sessionsOf(recorder).includes(spare!), false)
  const declared = recorder.calls('initialize').at(-1)!.params!.capabilities
  assert.deepEqual(declared, { roots: {} })
  await call()
  assert.equal(sessionsOf(recorder).at(-1), spare)
  assert.deepEqual(taken, ['miss', 'miss', 'miss', 'hit'])
})

test('the one spare goes to the kind of caller that calls most', async (t) => {
  const { recorder, call, warm, taken } = await open(t)
  await warm()
  for (let count = 0; count < 5; count++) await call(roots)
  const declared = () => recorder.calls('initialize').at(-1)!.params!.capabilities
  await until('its spare', async () => {
    await call(roots)
    return taken.at(-1) === 'hit'
  })
  assert.deepEqual(declared(), { roots: {} })
})

test('a spare session that the upstream forgot fails no call, and the call runs once', async (t) => {
  const { recorder, upstream, call, warm, spare } = await open(t, { sparePool: { ...noSpares, maxSize: 3 } })
  await warm()
  await Promise.all([call(), call(), call()])
  await spare(3)
  const known = [...recorder.sessions]
  recorder.dropSessions()
  const before = recorder.calls('tools/call').length
  await call()
  const [refused, served] = sessionsOf(recorder).slice(before)
  assert.ok(known.includes(refused!) && !known.includes(served!))
  assert.equal(recorder.calls('tools/call').length, before + 2, 'the second of its own, not the next spare')
  await spare(3)
  assert.ok(
    [...recorder.sessions].every((id) => !known.includes(id)),
    'the others are in doubt as well'
  )
  assert.equal(upstream.counts().spare, 3)
})

test('spare sessions end when nobody has called for a while', async (t) => {
  const { recorder, upstream, call, opened } = await open(t, {
    sparePool: { ...noSpares, maxSize: 1, spareIdleMs: 300 }
  })
  let calls = 0
  // on a machine of any speed: repeats until two calls were close enough together, and one session served neither
  await until('a spare was opened', async () => {
    if (opened() > calls) return true
    calls++
    await call()
    return false
  })
  await until('it has expired', () => upstream.counts().spare === 0 && recorder.sessions.size === 0)
})

test('as many are kept as calls come at a time, and never more than are allowed', async (t) => {
  const { upstream, call, spare, taken, opened } = await open(t, { sparePool: { ...noSpares, maxSize: 3 } })
  await Promise.all(Array.from({ length: 5 }, () => call()))
  await spare(3)
  taken.length = 0
  await Promise.all([call(), call(), call()])
  assert.deepEqual(taken, ['hit', 'hit', 'hit'])
  await spare(3)
  assert.equal(opened(), 11)
  assert.equal(upstream.counts().open, 3)
})

test('a call takes the session that is being opened rather than to open another', async (t) => {
  const { recorder, call, beginSpare } = await open(t)
  const { go } = await beginSpare()
  const waiting = call()
  // a call with other capabilities opens its own session, and takes as long as any call that does so
  await call('{"roots":{}}')
  assert.equal(recorder.calls('tools/call').length, 3, 'it waits')
  go()
  await waiting
})

test('a spare that cannot be opened is not tried again before a call could open its own', async (t) => {
  const { control, call, upstream, warm, spare } = await open(t)
  await warm()
  let attempts = 0
  control.before = () => {
    attempts++
    return Promise.reject(new UpstreamFailure('unreachable', 'connection refused', { maybeProcessed: false }))
  }
  await call()
  await until('an attempt', () => attempts === 1)
  // three calls, each sent twice, since the upstream processed none
  for (let count = 0; count < 3; count++) assert.equal((await failureOf(call())).reason, 'unreachable')
  await new Promise((resolve) => setTimeout(resolve, 150))
  assert.deepEqual([attempts, upstream.counts().spare], [7, 0])
  control.before = async () => {}
  await call()
  await spare()
})

test('a spare session of an access token, or a program, that is not in use any more is closed', async (t) => {
  const { control, recorder, call, warm } = await open(t)
  control.basis = 'first'
  await warm()
  const [spare] = recorder.sessions
  control.basis = 'second'
  await call()
  assert.equal(sessionsOf(recorder).includes(spare!), false)
  await until('it is closed', () => !recorder.sessions.has(spare!))
})

test('an upstream that is retired, or given a rest, keeps no session ready', async (t) => {
  const { control, recorder, upstream, call, warm, spare } = await open(t)
  await warm()
  control.before = () => Promise.reject(new UpstreamFailure('timeout', 'no answer in time', { maybeProcessed: false }))
  for (let count = 0; count < 5; count++) {
    // with capabilities for which there is no spare session
    assert.equal((await failureOf(call(roots))).reason, 'timeout')
  }
  assert.equal(upstream.breaker, 'open')
  assert.equal(upstream.counts().spare, 0)
  await until('it is closed', () => recorder.sessions.size === 0)

  const other = await open(t)
  await other.warm()
  other.upstream.retire()
  assert.equal(other.upstream.counts().spare, 0)
  await spare(0)
})

test('whatever is changed at a server, what was ready before is not used', async (t) => {
  const { upstream, recorder, call, warm, spare } = await open(t)
  const upstreams = createUpstreams(() => upstream)
  const at = (revision: string) => catalogOf([storedServer('a', [], { revision })])
  const block = at('1').server('a')!
  assert.equal(upstreams.get(block), upstream)
  await warm()
  const known = [...recorder.sessions]
  upstreams.prune(at('1'))
  assert.equal(upstream.counts().spare, 1)
  upstreams.prune(at('2'))
  assert.equal(upstream.counts().spare, 0)
  await call()
  await spare()
  assert.ok([...recorder.sessions, ...sessionsOf(recorder)].every((id) => !known.includes(id)))

  upstreams.discardSpareSessions('other')
  assert.equal(upstream.counts().spare, 1)
  upstreams.discardSpareSessions('a')
  assert.equal(upstream.counts().spare, 0)
  await spare()
  assert.deepEqual(upstreams.countSpareSessions(), [['a', 'streamable_http', 1]])
  upstreams.closeSparePools()
  await call()
  await until('nothing is left', () => recorder.sessions.size === 0)
  assert.deepEqual(upstreams.countSpareSessions(), [['a', 'streamable_http', 0]])
})

test('what the upstream asks before there is a call waits for the call, and is asked its caller alone', async (t) => {
  const { recorder, call, warm } = await open(t)
  await warm(roots)
  const [spare] = recorder.sessions
  await until('the stream of the spare', () => recorder.streams() > 0)
  recorder.ask(spare!, 'early', 'roots/list')
  const answers = () =>
    recorder.requests.flatMap(({ message, headers }) =>
      message?.id === 'early' ? [[headers['mcp-session-id'], message.result ?? message.error]] : []
    )
  await call()
  assert.deepEqual(answers(), [])
  const asked: string[] = []
  await call(roots, {
    ...silentSink,
    request: async (method) => {
      asked.push(method)
      return { kind: 'result', body: Payload.of('{"roots":[]}') }
    }
  })
  await until('the answer', () => answers().length > 0)
  assert.deepEqual([asked, answers()], [['roots/list'], [[spare, { roots: [] }]]])
  assert.equal(sessionsOf(recorder).at(-1), spare)
})

test('a spare whose upstream gave up what it had asked is closed', async (t) => {
  const { recorder, warm } = await open(t)
  await warm(roots)
  const [spare] = recorder.sessions
  await until('the stream of the spare', () => recorder.streams() > 0)
  recorder.ask(spare!, 'early', 'roots/list')
  recorder.announce('notifications/cancelled', { requestId: 'early' }, spare)
  await until('it is closed', () => !recorder.sessions.has(spare!))
})

test('a call that leaves while it waits for a session has none, and leaves none behind', async (t) => {
  const { upstream, recorder, spare, beginSpare } = await open(t)
  const { go } = await beginSpare()
  const leaving = newCall()
  const failed = failureOf(upstream.call(leaving, origin))
  leaving.stop(new UpstreamFailure('cancelled', 'the caller has disconnected'))
  assert.equal((await failed).reason, 'cancelled')
  go()
  await spare()
  await until('only the spare is left', () => recorder.sessions.size === 1)
  assert.equal(recorder.calls('tools/call').length, 2)
})
