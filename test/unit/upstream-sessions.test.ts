import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import {
  createUpstreamSessions as makeSessions,
  type SessionRequest,
  type UpstreamSessionsOptions
} from '../../src/upstream/sessions/upstream-sessions.ts'
import { joinObservers } from '../../src/observe/observation.ts'
import { silentSink } from '../../src/upstream/transport/call.ts'
import { createBreaker } from '../../src/upstream/sessions/breaker.ts'
import { startRecorder, type RecorderOptions } from '../fixtures/http/recorder.ts'
import { legacyNegotiation } from './stored.ts'
import {
  closeAfter,
  countingClient,
  dualNegotiation,
  failureOf,
  newCall,
  noSpares,
  sessionNegotiation,
  textOf
} from './upstreams.ts'
import { until } from '../until.ts'

const need = (more: Partial<SessionRequest> = {}): SessionRequest => ({
  ...{ era: 'legacy', capabilities: '{}', owner: 'one', sink: silentSink },
  ...more
})

/** Creates upstream sessions like the product, always with a promise. */
function createSessions(options: UpstreamSessionsOptions) {
  const sessions = makeSessions(options)
  return { ...sessions, ready: sessions.acquire, acquire: async (wanted: SessionRequest) => sessions.acquire(wanted) }
}

async function open(t: TestContext, options: Partial<UpstreamSessionsOptions> = {}, fixture: RecorderOptions = {}) {
  const upstream = await startRecorder(null, fixture)
  const client = countingClient(upstream.url)
  const sessions = createSessions({
    name: 'alpha',
    client,
    transport: 'streamable_http',
    mode: 'stateless',
    negotiation: sessionNegotiation,
    processSlots: undefined,
    breaker: createBreaker(),
    observer: joinObservers([]),
    connectMs: 2_000,
    sessionIdleMs: 60_000,
    sparePool: noSpares,
    onNotification() {},
    ...options
  })
  closeAfter(t, sessions, client, upstream)
  return { upstream, client, sessions }
}

test('in stateless mode each call has a session of its own, closed once it is given back', async (t) => {
  const { sessions, client, upstream } = await open(t)
  const [one, two] = await Promise.all([sessions.acquire(need()), sessions.acquire(need())])
  assert.notEqual(one, two)
  assert.equal(upstream.sessions.size, 2)
  const answer = await one.send(newCall())
  sessions.release(one)
  assert.equal(one.closed, false, 'the answer goes out first')
  assert.match(textOf(answer), /alpha/)
  await until('the first is closed', () => one.closed && upstream.sessions.size === 1)
  assert.equal(two.closed, false)
  sessions.release(two)
  await until('both are closed', () => upstream.sessions.size === 0)
  assert.equal(client.opened(), 2)
})

test('without session ids, and in the modern era, one connection serves everybody at once', async (t) => {
  const cases = [
    { negotiation: legacyNegotiation, fixture: { legacy: 'sessionless' }, era: 'legacy' },
    { negotiation: dualNegotiation, fixture: { modern: true }, era: 'modern' }
  ] as const
  for (const mode of ['stateless', 'stateful'] as const) {
    for (const { negotiation, fixture, era } of cases) {
      const { sessions, client } = await open(t, { negotiation, mode }, fixture)
      const needs = [need({ era }), need({ era, owner: 'two' }), need({ era, capabilities: '{"roots":{}}' })]
      const connections = await Promise.all(needs.map((each) => sessions.acquire(each)))
      assert.deepEqual([new Set(connections).size, client.opened()], [1, 1], `${mode} ${era}`)
      for (const connection of connections) sessions.release(connection)
      const again = sessions.ready(need({ era }))
      assert.equal(again, connections[0], 'no promise once it is open')
    }
  }
})

test('in stateful mode a session belongs to an owner and the capabilities that it declared', async (t) => {
  const { sessions, client } = await open(t, { mode: 'stateful' })
  const first = await sessions.acquire(need())
  sessions.release(first)
  assert.equal(await sessions.acquire(need()), first)
  assert.notEqual(await sessions.acquire(need({ owner: 'two' })), first)
  assert.notEqual(await sessions.acquire(need({ capabilities: '{"roots":{}}' })), first)
  assert.equal(client.opened(), 3)
})

test('fifty calls of one owner open its session once', async (t) => {
  const { sessions, client, upstream } = await open(t, { mode: 'stateful' })
  const connections = await Promise.all(Array.from({ length: 50 }, () => sessions.acquire(need())))
  assert.deepEqual([new Set(connections).size, client.opened(), upstream.calls('initialize').length], [1, 1, 1])
})

test('a session that nobody uses expires, one in use does not', async (t) => {
  const { sessions, upstream } = await open(t, { mode: 'stateful', sessionIdleMs: 60 })
  const idle = await sessions.acquire(need())
  const used = await sessions.acquire(need({ owner: 'two' }))
  sessions.release(idle)
  await until('the idle one is closed', () => idle.closed && upstream.sessions.size === 1)
  await new Promise((resolve) => setTimeout(resolve, 150))
  assert.equal(used.closed, false)
  sessions.release(used)
  await until('the other one expires too', () => used.closed)
  const again = await sessions.acquire(need())
  assert.notEqual(again, idle)
})

test('the sessions of an owner who is gone are closed, those of others are not', async (t) => {
  const { sessions } = await open(t, { mode: 'stateful' })
  const mine = await sessions.acquire(need())
  const other = await sessions.acquire(need({ owner: 'two' }))
  const failed = failureOf(mine.send(newCall('slow', { ms: 60_000 })))
  sessions.closeOwner('one')
  await until('mine is closed', () => mine.closed)
  assert.equal((await failed).reason, 'cancelled')
  assert.equal(other.closed, false)
  assert.match(textOf(await other.send(newCall())), /alpha/)
})

test('an owner who goes while the session opens leaves none behind', async (t) => {
  const { sessions, upstream } = await open(t, { mode: 'stateful' })
  const opening = sessions.acquire(need())
  sessions.closeOwner('one')
  const connection = await opening
  await until('it is closed', () => connection.closed && upstream.sessions.size === 0)
})

test('an opening that failed is not remembered', async (t) => {
  for (const mode of ['stateless', 'stateful'] as const) {
    for (const negotiation of [sessionNegotiation, legacyNegotiation]) {
      const upstream = await startRecorder(null, { legacy: 'none' })
      const client = countingClient(upstream.url)
      const options = { client, transport: 'streamable_http', mode, negotiation, processSlots: undefined } as const
      const breaker = createBreaker()
      const limits = { connectMs: 2_000, sessionIdleMs: 60_000, sparePool: noSpares }
      const sessions = createSessions({
        ...{ ...options, ...limits, name: 'alpha', breaker, observer: joinObservers([]) },
        onNotification() {}
      })
      closeAfter(t, sessions, client, upstream)
      await failureOf(sessions.acquire(need()))
      await failureOf(sessions.acquire(need()))
      assert.equal(client.opened(), 2, `${mode} ${negotiation.hasSessions}`)
    }
  }
})

test('closing ends every kind of session, and one that was opening is not handed out', async (t) => {
  for (const mode of ['stateless', 'stateful'] as const) {
    const { sessions, upstream } = await open(t, { mode })
    const open_ = await sessions.acquire(need())
    const opening = failureOf(sessions.acquire(need({ owner: 'late' })))
    sessions.close()
    assert.deepEqual([(await opening).reason, (await opening).maybeProcessed], ['unreachable', false])
    await until('all are closed', () => open_.closed && upstream.sessions.size === 0)
  }
})
