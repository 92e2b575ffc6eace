import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import type { FastifyInstance } from 'fastify'
import { allServers } from '../../src/domain/policy/allow-list.ts'
import { joinObservers, Observation } from '../../src/observe/observation.ts'
import { definitions, metricsReference, OTHER, type Metric } from '../../src/plugins/telemetry/definitions.ts'
import { createMetrics } from '../../src/plugins/telemetry/metrics.ts'
import { startApp } from '../app.ts'
import { anyEngine, addCleanup } from '../store.ts'
import { until } from '../until.ts'
import { addFaulty, addRecorder, startMcp } from './mcp-helpers.ts'

const metricsOn = { OTEL_ENABLED: 'on' }

/** Sources of metrics without a database. */
const noSources = { gateway: () => undefined, logs: () => undefined, database: () => undefined }

async function scrape(app: FastifyInstance): Promise<string> {
  const answer = await app.inject('/metrics')
  assert.equal(answer.statusCode, 200)
  return answer.body
}

/** Returns the value of a series, its labels in any order; undefined if it is absent. */
function valueOf(text: string, name: string, labels: Record<string, string> = {}): number | undefined {
  for (const line of text.split('\n')) {
    const [, found, inner = '', value] = /^([\w:]+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
    if (found !== name) continue
    const pairs = [...inner.matchAll(/(\w+)="([^"]*)"/g)].map(([, key, given]) => [key, given])
    if (isDeepStrictEqual(Object.fromEntries(pairs), labels)) return Number(value)
  }
  return undefined
}

test('where OpenTelemetry is off there are no metrics', async (t) => {
  const app = await startApp(t)
  const answer = await app.inject('/metrics')
  assert.equal(answer.statusCode, 404)
  assert.deepEqual(answer.json(), { error: 'metrics are off: OpenTelemetry is disabled (OTEL_ENABLED)' })
})

const enterprise = { SERVER_MODE: 'enterprise', TOWPATH_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64') }

for (const [mode, env] of Object.entries({ development: metricsOn, enterprise })) {
  test(`SR-L1 with TOWPATH_METRICS_TOKEN the metrics need it in ${mode} mode`, async (t) => {
    const token = 'prometheus-0123456789'
    const other = 'administrator-0123456789'
    const app = await startApp(t, { env: { ...env, TOWPATH_METRICS_TOKEN: token, TOWPATH_ADMIN_TOKEN: other } })
    const ask = (authorization?: string) =>
      app.inject({ url: '/metrics', headers: authorization === undefined ? {} : { authorization } })
    for (const wrong of [undefined, 'Bearer', `Bearer ${other}`, `Bearer ${token}x`, `Basic ${token}`, token]) {
      const { statusCode, headers, body } = await ask(wrong)
      assert.deepEqual([statusCode, headers['www-authenticate']], [401, 'Bearer'], wrong)
      assert.doesNotMatch(body, /towpath_/)
    }
    const right = await ask(`Bearer ${token}`)
    assert.equal(right.statusCode, 200)
    assert.match(right.body, /towpath_/)
    assert.equal((await app.inject('/health')).statusCode, 200)
  })
}

test('calls are counted by server, tool and outcome, from whichever side they come', async (t) => {
  const mcp = await startMcp(t, metricsOn)
  await addRecorder(t, mcp, 'alpha')
  const faulty = await addFaulty(t, mcp, 'beta')
  faulty.mode = 'bad_gateway'
  await mcp.legacy('tools/call', { name: 'alpha__echo' })
  await mcp.modern('tools/call', { name: 'alpha__echo' })
  await mcp.app.inject({ method: 'POST', url: '/api/v0/tools/invoke', payload: { name: 'alpha__echo' } })
  await mcp.legacy('tools/call', { name: 'alpha__fail' })
  await mcp.legacy('tools/call', { name: 'alpha__secret-name-that-is-nowhere' })
  await mcp.legacy('tools/call', { name: 'beta__echo' })
  const text = await scrape(mcp.app)
  const calls = (mcp_server_name: string, tool_name: string, outcome: string) =>
    valueOf(text, 'towpath_tool_calls_total', { mcp_server_name, tool_name, outcome })
  assert.deepEqual(
    [
      calls('alpha', 'echo', 'ok'),
      calls('alpha', 'fail', 'tool_error'),
      calls(OTHER, OTHER, 'refused'),
      calls('beta', 'echo', 'failed')
    ],
    [3, 1, 1, 1]
  )
  assert.doesNotMatch(text, /nowhere/)
  for (const part of ['gateway', 'upstream']) {
    const labels = { mcp_server_name: 'alpha', part }
    assert.equal(valueOf(text, 'towpath_tool_call_latency_seconds_count', labels), 4)
    assert.ok(valueOf(text, 'towpath_tool_call_latency_seconds_sum', labels)! > 0)
  }
  const failures = { mcp_server_name: 'beta', reason: 'bad_response' }
  assert.ok(
    valueOf(text, 'towpath_upstream_failures_total', failures) ??
      valueOf(text, 'towpath_upstream_failures_total', { ...failures, reason: 'unreachable' }),
    text
  )
  assert.equal(valueOf(text, 'towpath_upstream_breaker_state', { mcp_server_name: 'alpha' }), 0)
  assert.equal(valueOf(text, 'towpath_server_up', { mcp_server_name: 'alpha' }), 1)
  // a contact that began while the server still worked may end after the failed call
  await until('the server that fails to be down', async () => {
    await mcp.legacy('tools/call', { name: 'beta__echo' })
    return valueOf(await scrape(mcp.app), 'towpath_server_up', { mcp_server_name: 'beta' }) === 0
  })
  assert.ok(
    valueOf(text, 'towpath_upstream_connects_total', { mcp_server_name: 'alpha', transport: 'streamable_http' })
  )
})

test('HTTP requests are told by route, method and class of status, never by path', async (t) => {
  const app = await startApp(t, { env: metricsOn })
  await app.inject('/health')
  await app.inject('/api/v0/servers/some-server')
  await app.inject('/some/path/of/nobody')
  const text = await scrape(app)
  const count = (method: string, route: string, status: string) =>
    valueOf(text, 'towpath_http_request_duration_seconds_count', { method, route, status })
  assert.equal(count('GET', '/health', '2xx'), 1)
  assert.equal(count('GET', '/api/v0/servers/:name', '4xx'), 1)
  assert.equal(count('GET', OTHER, '4xx'), 1)
  assert.doesNotMatch(text, /some-server|nobody/)
})

test('sessions, streams and lists are told as they are', async (t) => {
  const mcp = await startMcp(t, metricsOn)
  const session = await mcp.initialize()
  const stream = await fetch(mcp.url, { headers: { accept: 'text/event-stream', ...session } })
  assert.equal(stream.status, 200)
  await mcp.legacy('tools/list')
  const text = await scrape(mcp.app)
  assert.equal(valueOf(text, 'towpath_sessions'), 1)
  assert.equal(valueOf(text, 'towpath_streams'), 1)
  assert.equal(valueOf(text, 'towpath_list_requests_total', { kind: 'tool' }), 1)
  await mcp.app.inject({ method: 'DELETE', url: '/mcp', headers: session })
  const after = await scrape(mcp.app)
  assert.deepEqual([valueOf(after, 'towpath_sessions'), valueOf(after, 'towpath_streams')], [0, 0])
})

/** Creates a group in search mode, and calls a tool that was found there. */
async function useSearch(app: FastifyInstance): Promise<void> {
  const send = async (url: string, payload: object) => {
    const headers = { accept: 'application/json, text/event-stream' }
    const answer = await app.inject({ method: 'POST', url, headers, payload })
    assert.ok(answer.statusCode < 300, answer.body)
  }
  const call = (name: string, args: object) =>
    send('/v0/groups/g/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } })
  await send('/api/v0/tool-groups', { name: 'g', included_servers: ['alpha'], tool_list: 'search' })
  await call('find_tools', { query: 'echo' })
  await call('call_tool', { name: 'alpha__echo', arguments: {} })
}

test('every metric of the reference is served, in each case under the name and type that stand there', async (t) => {
  const mcp = await startMcp(t, metricsOn)
  await addRecorder(t, mcp, 'alpha')
  await mcp.legacy('tools/call', { name: 'alpha__echo' })
  await mcp.legacy('prompts/get', { name: 'nope' })
  await mcp.legacy('resources/read', { uri: 'nope://nope' })
  await mcp.legacy('completion/complete', { ref: { type: 'ref/prompt', name: 'nope' } })
  await mcp.legacy('tools/list')
  await addFaulty(t, mcp, 'beta').then((faulty) => (faulty.mode = 'reset'))
  await mcp.legacy('tools/call', { name: 'beta__echo' })
  await useSearch(mcp.app)
  const text = await scrape(mcp.app)
  const served = new Map([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [name!, type]))
  const all = Object.values<Metric>(definitions)
  // the embedded store has no connection pool
  const expected = anyEngine === 'postgres' ? all : all.filter(({ name }) => name !== definitions.database.name)
  assert.deepEqual(Object.fromEntries(served), Object.fromEntries(expected.map(({ name, type }) => [name, type])))
  for (const { name, labels, type } of expected) {
    const line = text.split('\n').find((each) => each.startsWith(type === 'histogram' ? `${name}_count` : name))!
    const found = [...line.matchAll(/[{,](\w+)="/g)].map(([, label]) => label!)
    assert.deepEqual(found.sort(), Object.keys(labels).sort(), name)
  }
})

test('rows that wait for a log and rows that it lost are told, of each log for itself', async (t) => {
  const logs = { calls: { length: 3, dropped: 20 }, audit: { length: 4, dropped: 0 } }
  const metrics = createMetrics({ ...noSources, logs: () => logs })
  addCleanup(t, metrics.close)
  const text = await metrics.text()
  const [queue, lost] = ['towpath_queue_length', 'towpath_log_rows_dropped_total'] as const
  assert.deepEqual([valueOf(text, queue, { queue: 'call_log' }), valueOf(text, queue, { queue: 'audit_log' })], [3, 4])
  assert.deepEqual([valueOf(text, lost, { log: 'call_log' }), valueOf(text, lost, { log: 'audit_log' })], [20, 0])
})

test('of tools more are counted one by one than the two thousand of the SDK', async (t) => {
  const metrics = createMetrics(noSources)
  addCleanup(t, metrics.close)
  const caller = { kind: 'development', name: 'd', key: 'd', allowed: allServers } as const
  for (let i = 0; i < 20_000; i++) {
    const observation = new Observation(joinObservers([metrics.observer]), 'tool', {
      caller,
      endpoint: '/mcp',
      via: 'legacy',
      requestId: undefined
    })
    observation.setTarget(`s${i % 200}`, `t${i}`)
    observation.end('ok', undefined)
  }
  const text = await metrics.text()
  const labels = { mcp_server_name: 's199', tool_name: 't19999', outcome: 'ok' }
  assert.equal(valueOf(text, 'towpath_tool_calls_total', labels), 1)
  assert.doesNotMatch(text, /overflow/)
})

test('a histogram is served as Prometheus reads it: buckets that add up, their sum and their number', async (t) => {
  const metrics = createMetrics(noSources)
  addCleanup(t, metrics.close)
  for (const ms of [2, 0.5, 400_000]) metrics.observer.onCatalogApplied!(ms)
  const series = (await metrics.text()).split('\n').filter((line) => line.startsWith('towpath_catalog_swap'))
  const bounds = ['0.001', '0.0025', '0.005', '0.01', '0.025', '0.05', '0.1', '0.25', '0.5', '1', '+Inf']
  const counts = [1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3]
  assert.deepEqual(series, [
    'towpath_catalog_swap_seconds_count 3',
    'towpath_catalog_swap_seconds_sum 400.0025',
    ...bounds.map((bound, place) => `towpath_catalog_swap_seconds_bucket{le="${bound}"} ${counts[place]}`)
  ])
})

test('docs/reference/metrics.md is what `npm run openapi` writes', () => {
  const path = new URL('../../docs/reference/metrics.md', import.meta.url)
  assert.equal(readFileSync(path, 'utf8'), metricsReference())
})

test('requests without a valid access token are counted, whoever they come from', async (t) => {
  const token = 'an-administrator-of-tests'
  const key = Buffer.alloc(32, 7).toString('base64')
  const env = { SERVER_MODE: 'enterprise', TOWPATH_ENCRYPTION_KEY: key, TOWPATH_ADMIN_TOKEN: token }
  const app = await startApp(t, { env })
  const failures = async () => valueOf(await scrape(app), 'towpath_failed_authentications_total')
  assert.equal(await failures(), 0)
  const status = async (url: string, authorization?: string) =>
    (await app.inject({ url, headers: authorization === undefined ? {} : { authorization } })).statusCode
  assert.equal(await status('/api/v0/servers', `Bearer ${token}`), 200)
  assert.equal(await failures(), 0)
  for (const wrong of [undefined, 'Bearer wrong', 'Basic x']) {
    assert.equal(await status('/api/v0/servers', wrong), 401)
    assert.equal(await status('/nowhere', wrong), 401)
  }
  assert.equal(await failures(), 6)
})
