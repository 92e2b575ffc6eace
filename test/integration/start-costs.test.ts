import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { FastifyInstance } from 'fastify'
import { register, startApp, stdioServer } from '../app.ts'
import { startRecorder } from '../fixtures/http/recorder.ts'
import { sendEvent } from '../fixtures/http/server.ts'
import { startSse } from '../fixtures/http/sse.ts'
import { ENOUGH_CALLS, slowToStart, START_MS } from '../slow-start.ts'
import { addCleanup } from '../store.ts'
import { admin, as, enterprise } from './definition-helpers.ts'

interface Cost {
  readonly start_ms: number
  readonly call_ms?: number
  readonly lists_ms?: number
  readonly session_modes: readonly string[]
}

interface Shown {
  readonly name: string
  readonly session_mode: string
  readonly start_cost?: Cost
}

type Headers = Readonly<Record<string, string>>

async function invoke(app: FastifyInstance, name: string, args: object = {}, headers: Headers = {}) {
  const payload = { name, ...args }
  const answer = await app.inject({ method: 'POST', url: '/api/v0/tools/invoke', payload, headers })
  assert.equal(answer.statusCode, 200, answer.body)
}
const invokeOften = (
  app: FastifyInstance,
  name: string,
  count = ENOUGH_CALLS,
  args: object = {},
  headers: Headers = {}
) => Promise.all(Array.from({ length: count }, () => invoke(app, name, args, headers)))

async function costOf(app: FastifyInstance, name: string, headers: Headers = {}) {
  const { start_cost: cost } = (await app.inject({ url: `/api/v0/servers/${name}`, headers })).json<Shown>()
  const list = (await app.inject({ url: '/api/v0/servers', headers })).json<Shown[]>()
  assert.deepEqual(list.find((server) => server.name === name)?.start_cost, cost)
  return cost
}

/** Servers of each transport whose sessions are opened slowly. */
const slowServers: Readonly<Record<string, (t: TestContext) => Promise<object>>> = {
  stdio: async () => slowToStart('slow'),
  'Streamable HTTP with sessions': async (t) => {
    const recorder = await startRecorder(null, { name: 'slow', initializeMs: START_MS })
    addCleanup(t, recorder.close)
    return { name: 'slow', transport: 'streamable_http', url: recorder.url }
  },
  SSE: async (t) => {
    const sse = await startSse(null, { initializeMs: START_MS })
    addCleanup(t, sse.close)
    return { name: 'slow', transport: 'sse', url: sse.url }
  }
}

for (const [transport, serverOf] of Object.entries(slowServers)) {
  test(`a record says that starts cost more than calls once there were five of each, over ${transport}`, async (t) => {
    const app = await startApp(t)
    await register(app, await serverOf(t))
    await invokeOften(app, 'slow__echo', ENOUGH_CALLS - 1)
    assert.equal(await costOf(app, 'slow'), undefined)
    await invokeOften(app, 'slow__echo', 1)
    const cost = (await costOf(app, 'slow'))!
    assert.deepEqual(Object.keys(cost).toSorted(), ['call_ms', 'session_modes', 'start_ms'])
    assert.ok(cost.start_ms >= START_MS - 50 && cost.call_ms! < cost.start_ms, JSON.stringify(cost))
    assert.deepEqual(cost.session_modes, ['stateful', 'shared'])
    const view = (await app.inject('/api/dashboard/servers/slow')).json<Shown>()
    assert.deepEqual(view.start_cost, cost)
  })
}

test('nothing is said of a server whose calls take longer than its starts, of one without sessions, and of kept ones', async (t) => {
  const app = await startApp(t)
  const recorder = await startRecorder(null, { name: 'plain', legacy: 'sessionless', initializeMs: START_MS })
  addCleanup(t, recorder.close)
  await register(app, stdioServer('busy'))
  await register(app, { ...slowToStart('kept'), session_mode: 'stateful' })
  await register(app, { ...slowToStart('common'), session_mode: 'shared' })
  await register(app, { name: 'plain', transport: 'streamable_http', url: recorder.url })
  await Promise.all([
    invokeOften(app, 'busy__slow', ENOUGH_CALLS, { ms: 4_000, steps: 1 }),
    ...['kept', 'common', 'plain'].map((name) => invokeOften(app, `${name}__echo`))
  ])
  for (const name of ['busy', 'kept', 'common', 'plain']) assert.equal(await costOf(app, name), undefined, name)
})

test('calls that the server answers with an error do not count as calls', async (t) => {
  const app = await startApp(t)
  const sse = await startSse(null, {
    initializeMs: START_MS,
    onCall: ({ id }, stream) => sendEvent(stream, { jsonrpc: '2.0', id, error: { code: -32603, message: 'no' } })
  })
  addCleanup(t, sse.close)
  await register(app, { name: 'slow', transport: 'sse', url: sse.url })
  const call = { method: 'POST', url: '/api/v0/tools/invoke', payload: { name: 'slow__echo' } } as const
  const refused = await Promise.all(Array.from({ length: ENOUGH_CALLS }, () => app.inject(call)))
  assert.ok(refused.every(({ statusCode }) => statusCode === 502))
  assert.equal(await costOf(app, 'slow'), undefined)
})

test('the answer of a registration compares the only start with the lists, and a kept process is not mentioned', async (t) => {
  const app = await startApp(t)
  const post = async (server: object) => {
    const answer = await app.inject({ method: 'POST', url: '/api/v0/servers', payload: server })
    assert.equal(answer.statusCode, 201, answer.body)
    return answer.json<Shown>().start_cost
  }
  const cost = (await post(slowToStart('slow')))!
  assert.deepEqual(Object.keys(cost).toSorted(), ['lists_ms', 'session_modes', 'start_ms'])
  assert.ok(cost.start_ms >= START_MS - 50 && cost.lists_ms! < cost.start_ms, JSON.stringify(cost))
  assert.equal(await costOf(app, 'slow'), undefined, 'nobody has called it')
  assert.equal(await post({ ...slowToStart('kept'), session_mode: 'shared' }), undefined)
})

test('another mode ends what was said', async (t) => {
  const app = await startApp(t)
  const server = slowToStart('slow')
  await register(app, server)
  await invokeOften(app, 'slow__echo')
  assert.ok(await costOf(app, 'slow'))
  const payload = { ...server, session_mode: 'shared' }
  const answer = await app.inject({ method: 'PUT', url: '/api/v0/servers/slow', payload })
  assert.equal(answer.statusCode, 200, answer.body)
  assert.equal(await costOf(app, 'slow'), undefined)
})

test('administrators and auditors read what starts cost, users do not', async (t) => {
  const app = await startApp(t, { env: enterprise })
  const headers = as(admin)
  const post = async <T>(url: string, payload: object) => {
    const answer = await app.inject({ method: 'POST', url, payload, headers })
    assert.equal(answer.statusCode, 201, answer.body)
    return answer.json<T>()
  }
  await post('/api/v0/servers', slowToStart('slow'))
  await invokeOften(app, 'slow__echo', ENOUGH_CALLS, {}, headers)
  assert.ok(await costOf(app, 'slow', headers))
  for (const role of ['auditor', 'user']) {
    const { access_token } = await post<{ access_token: string }>('/api/v0/users', { name: `an-${role}`, role })
    assert.equal((await costOf(app, 'slow', as(access_token))) !== undefined, role === 'auditor', role)
  }
})
