import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { buildConnector } from 'undici'
import { createDeadlines } from '../../src/upstream/transport/deadlines.ts'
import { createQuota } from '../../src/lib/quota.ts'
import { createUpstream, chooseEra, type UpstreamOptions } from '../../src/upstream/upstream.ts'
import { createHttpClient } from '../../src/upstream/http/streamable-http-client.ts'
import { createUpstreams } from '../../src/upstream/upstreams.ts'
import type { StoredServer } from '../../src/registry/model/model.ts'
import { startFaulty } from '../fixtures/http/faulty.ts'
import { startRecorder, type Recorder, type RecorderOptions } from '../fixtures/http/recorder.ts'
import { sendJson, startHttp } from '../fixtures/http/server.ts'
import { catalogOf, legacyNegotiation, storedServer } from './stored.ts'
import {
  cancelled,
  closeAfter,
  countingClient,
  dualNegotiation,
  failureOf,
  newCall,
  defaultOptions,
  sessionNegotiation,
  textOf
} from './upstreams.ts'
import { until } from '../until.ts'

const origin = { era: 'legacy', owner: 'one', principal: 'one' } as const

function createFor(url: string, more: Partial<UpstreamOptions> = {}) {
  const client = countingClient(url)
  const deadlines = createDeadlines()
  const upstream = createUpstream({
    ...defaultOptions,
    server: { name: 'alpha', transport: 'streamable_http', session_mode: 'stateful' },
    client,
    deadlines,
    shares: createQuota(Infinity),
    callBytes: createQuota(Infinity),
    ...more
  })
  return { upstream, client, deadlines }
}
async function open(t: TestContext, more: Partial<UpstreamOptions> = {}, fixture: RecorderOptions = {}) {
  const recorder = await startRecorder(null, fixture)
  const made = createFor(recorder.url, more)
  closeAfter(t, made.upstream, made.deadlines, recorder)
  return { ...made, recorder }
}
const started = (recorder: Recorder, count = 1) =>
  until('the call arrives', () => recorder.calls('tools/call').length === count)

test('CR-F8: the wire is that of the caller where the upstream has both, but sessions exist on the legacy one alone', () => {
  const stateless = { transport: 'streamable_http', session_mode: 'stateless' } as const
  const stateful = { ...stateless, session_mode: 'stateful' } as const
  const modern = { ...dualNegotiation, legacy: null }
  const rows = [
    [dualNegotiation, stateless, 'legacy', 'legacy'],
    [dualNegotiation, stateless, 'modern', 'modern'],
    [dualNegotiation, stateful, 'modern', 'legacy'],
    [{ ...dualNegotiation, hasSessions: false }, stateful, 'modern', 'modern'],
    [{ ...dualNegotiation, hasSessions: false }, stateful, 'legacy', 'legacy'],
    [modern, stateful, 'legacy', 'modern'],
    [modern, stateless, 'legacy', 'modern'],
    [legacyNegotiation, stateless, 'modern', 'legacy']
  ] as const
  for (const [negotiation, server, caller, wire] of rows) assert.equal(chooseEra(negotiation, server, caller), wire)
})

test('a session that the upstream forgot is opened anew and the call sent again, once', async (t) => {
  const { upstream, recorder, client } = await open(t)
  await upstream.call(newCall(), origin)
  recorder.dropSessions()
  const { answer } = await upstream.call(newCall(), origin)
  assert.match(textOf(answer), /alpha/)
  assert.deepEqual([client.opened(), recorder.calls('initialize').length], [2, 2])
})

test('fifty calls on a forgotten session open one new session among them', async (t) => {
  const { upstream, recorder, client } = await open(t)
  await upstream.call(newCall(), origin)
  recorder.dropSessions()
  const answers = await Promise.all(Array.from({ length: 50 }, () => upstream.call(newCall(), origin)))
  assert.equal(answers.length, 50)
  assert.equal(client.opened(), 2)
})

test('a call that was not taken is tried no more than twice', async (t) => {
  const fixture = await startHttp((request, response) => {
    const { id, method } = request.message ?? {}
    if (id === undefined) return void response.writeHead(202).end()
    if (method !== 'initialize')
      return sendJson(response, 404, { jsonrpc: '2.0', id, error: { code: -32001, message: 'x' } })
    const result = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 'x', version: '1' } }
    sendJson(response, 200, { jsonrpc: '2.0', id, result }, { 'mcp-session-id': `s${fixture.requests.length}` })
  })
  const { upstream, deadlines, client } = createFor(fixture.origin)
  closeAfter(t, upstream, deadlines, fixture)
  const failed = await failureOf(upstream.call(newCall(), origin))
  assert.deepEqual([failed.reason, failed.status], ['unreachable', 404])
  const calls = fixture.requests.filter(({ message }) => message?.method === 'tools/call')
  assert.deepEqual([calls.length, client.opened()], [2, 2])
})

test('a call that may have been taken is never sent again', async (t) => {
  const faulty = await startFaulty(null, { mode: 'reset' })
  const { upstream, deadlines } = createFor(faulty.url, { negotiation: legacyNegotiation })
  closeAfter(t, upstream, deadlines, faulty)
  assert.equal((await failureOf(upstream.call(newCall(), origin))).reason, 'unreachable')
  assert.equal(faulty.requests.filter(({ message }) => message?.method === 'tools/call').length, 1)
})

test('a call that is stopped while its session opens ends at once, and the session is kept for others', async (t) => {
  const { upstream, client, recorder } = await open(t)
  const call = newCall()
  const failed = failureOf(upstream.call(call, origin))
  call.stop(cancelled())
  assert.equal((await failed).reason, 'cancelled')
  await upstream.call(newCall(), origin)
  assert.deepEqual([client.opened(), recorder.calls('tools/call').length], [1, 1])
})

test('a session opened for one stopped call alone is closed again', async (t) => {
  const server = { name: 'alpha', transport: 'streamable_http', session_mode: 'stateless' } as const
  const { upstream, recorder, client } = await open(t, { server })
  const call = newCall()
  const failed = failureOf(upstream.call(call, origin))
  call.stop(cancelled())
  await failed
  await until(
    'the session is gone',
    () => client.opened() === 1 && recorder.calls('initialize').length === 1 && recorder.sessions.size === 0
  )
  assert.equal(recorder.calls('tools/call').length, 0)
})

test('a call that was stopped before it is sent opens nothing and ends', async (t) => {
  const { upstream, client } = await open(t)
  const call = newCall()
  call.stop(cancelled())
  assert.equal((await failureOf(upstream.call(call, origin))).reason, 'cancelled')
  assert.equal(client.opened(), 0)
})

test('a call whose session is closed with its owner is over, and is not sent again', async (t) => {
  const { upstream, recorder, client } = await open(t)
  const failed = failureOf(upstream.call(newCall('slow', { ms: 60_000 }), origin))
  await started(recorder)
  upstream.closeOwner('one')
  assert.equal((await failed).reason, 'cancelled')
  await until('its session is closed', () => recorder.sessions.size === 0)
  assert.deepEqual([client.opened(), recorder.calls('tools/call').length], [1, 1])
})

test('a call past its limit is stopped and cancelled upstream', async (t) => {
  const { upstream, recorder } = await open(t, { callTimeoutMs: 150 })
  const failed = await failureOf(upstream.call(newCall('slow', { ms: 60_000 }), origin))
  assert.equal(failed.reason, 'timeout')
  await until('the upstream is told', () => recorder.calls('notifications/cancelled').length === 1)
})

test('a retired upstream lets its calls end, then closes and tells so', async (t) => {
  const { upstream, recorder } = await open(t)
  const answer = upstream.call(newCall('slow', { ms: 100 }), origin)
  await started(recorder)
  let closed = 0
  upstream.retire(() => closed++)
  assert.equal(closed, 0)
  assert.match(textOf((await answer).answer), /alpha/)
  await until('it is closed', () => closed === 1 && recorder.sessions.size === 0)
})

test('an upstream is kept while its configuration is the same, whatever its switches and lists', async (t) => {
  const made: string[] = []
  const recorder = await startRecorder(null)
  const upstreams = createUpstreams((stored: StoredServer) => {
    made.push(stored.revision)
    return createFor(recorder.url).upstream
  })
  closeAfter(t, upstreams, recorder)
  const at = (more: Partial<StoredServer>) => catalogOf([storedServer('a', [], more)])
  const use = (more: Partial<StoredServer>) => {
    const catalog = at(more)
    upstreams.prune(catalog)
    return upstreams.get(catalog.server('a')!)
  }
  const first = use({ revision: '1' })
  assert.equal(use({ revision: '2', description: 'other' }), first)
  assert.notEqual(use({ revision: '3', settings: { url: 'http://elsewhere.test/mcp' } }), first)
  use({ revision: '4', settings: { url: 'http://elsewhere.test/mcp' }, sealed: new Uint8Array([1]) })
  use({ revision: '5', session_mode: 'stateful' })
  upstreams.prune(at({ enabled: false }))
  use({ revision: '6', session_mode: 'stateful' })
  upstreams.prune(catalogOf([]))
  use({ revision: '7', session_mode: 'stateful' })
  assert.deepEqual(made, ['1', '3', '4', '5', '6', '7'])
})

test('closing ends the calls of upstreams that were replaced as well', async (t) => {
  const recorder = await startRecorder(null)
  const upstreams = createUpstreams(
    () => createFor(recorder.url, { callTimeoutMs: 60_000, callTotalMs: 60_000 }).upstream
  )
  closeAfter(t, upstreams, recorder)
  const failed = failureOf(
    upstreams.get(catalogOf([storedServer('a', [])]).server('a')!).call(newCall('slow', { ms: 60_000 }), origin)
  )
  await started(recorder)
  upstreams.prune(catalogOf([]))
  upstreams.close()
  assert.equal((await failed).reason, 'cancelled')
  assert.equal(recorder.calls('tools/call').length, 1)
})

test("an upstream's error is passed on without the secrets of its configuration", async (t) => {
  const redact = (text: string) => text.replaceAll('nope', '***')
  const { upstream } = await open(t, { redact, negotiation: { ...sessionNegotiation, hasSessions: false } })
  const { answer } = await upstream.call(newCall('nope-nope'), origin)
  assert.equal(answer.kind, 'error')
  assert.ok(!answer.body.toString().includes('nope'), answer.body.toString())
  assert.ok(answer.body.toString().includes('***'), answer.body.toString())
})

test('an upstream that initialises no session five times in a row is given a rest', async (t) => {
  const faulty = await startFaulty(null, { mode: 'silent', everything: true })
  const { upstream, client, deadlines } = createFor(faulty.url, { connectMs: 30 })
  closeAfter(t, upstream, deadlines, faulty)
  const owner = (i: number) => ({ ...origin, owner: `owner ${i}` })
  for (let i = 0; i < 5; i++) {
    assert.equal(upstream.breaker, 'closed')
    assert.equal((await failureOf(upstream.call(newCall(), owner(i)))).reason, 'timeout')
  }
  assert.equal(upstream.breaker, 'open')
  const { reason, retryAfter } = await failureOf(upstream.call(newCall(), owner(6)))
  assert.deepEqual([reason, retryAfter, client.opened()], ['unreachable', 10, 5])
})

test('connecting that times out opens it too where a connection is shared, and is not tried twice', async (t) => {
  let attempts = 0
  const connector: buildConnector.connector = (_options, callback) => {
    attempts++
    callback(Object.assign(new Error('Connect Timeout Error'), { code: 'UND_ERR_CONNECT_TIMEOUT' }), null)
  }
  const settings = { url: 'http://127.0.0.1:9/mcp', headers: {}, version: '1', connectTimeoutMs: 50 }
  const client = createHttpClient({ ...settings, maxResponseBytes: 1_000, connector, negotiation: legacyNegotiation })
  const { upstream, deadlines } = createFor('http://127.0.0.1:9/mcp', { client, negotiation: legacyNegotiation })
  closeAfter(t, upstream, deadlines)
  for (let i = 0; i < 5; i++) assert.equal((await failureOf(upstream.call(newCall(), origin))).reason, 'timeout')
  assert.deepEqual([upstream.breaker, attempts], ['open', 5])
  assert.equal((await failureOf(upstream.call(newCall(), origin))).retryAfter, 10)
  assert.equal(attempts, 5)
})

test('UP-04 calls that time out, are refused or answered with nonsense say nothing about connecting', async (t) => {
  const faulty = await startFaulty(null)
  const { upstream, deadlines } = createFor(faulty.url, { negotiation: legacyNegotiation, callTimeoutMs: 150 })
  closeAfter(t, upstream, deadlines, faulty)
  for (const mode of ['silent', 'reset', 'html', 'bad_gateway', 'wrong_id'] as const) {
    faulty.mode = mode
    await Promise.all(Array.from({ length: 6 }, () => failureOf(upstream.call(newCall(), origin))))
    assert.equal(upstream.breaker, 'closed', mode)
  }
  await faulty.close()
  for (let i = 0; i < 6; i++) await failureOf(upstream.call(newCall(), origin))
  assert.equal(upstream.breaker, 'closed', 'refused')
})

test('calls beyond the share of their principal are refused at once, those of others are not', async (t) => {
  const { upstream, recorder } = await open(t, { shares: createQuota(2), callTimeoutMs: 60_000, callTotalMs: 60_000 })
  const calls = [newCall('slow', { ms: 60_000 }), newCall('slow', { ms: 60_000 })]
  const running = calls.map((call) => failureOf(upstream.call(call, origin)))
  await started(recorder, 2)
  const { reason, maybeProcessed, retryAfter } = await failureOf(upstream.call(newCall(), origin))
  assert.deepEqual([reason, maybeProcessed, retryAfter], ['limited', false, 1])
  const { answer } = await upstream.call(newCall(), { ...origin, owner: 'two', principal: 'two' })
  assert.match(textOf(answer), /alpha/)
  for (const call of calls) call.stop(cancelled())
  await Promise.all(running)
  assert.match(textOf((await upstream.call(newCall(), origin)).answer), /alpha/)
})
