import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { FastifyInstance } from 'fastify'
import type { CallEntry } from '../../src/schemas/call.ts'
import type { Stats } from '../../src/schemas/stats.ts'
import { register, startApp } from '../app.ts'
import { registrationOf, echoTool, startUpstream } from '../e2e/upstream.ts'
import { until } from '../until.ts'
import { makeBreakable } from '../browser/world.ts'
import { addFaulty, addRecorder, legacyBody, META, MODERN, startMcp } from './mcp-helpers.ts'

const get = async <T>(app: FastifyInstance, path: string): Promise<T> => {
  const answer = await app.inject(`/api/v0${path}`)
  assert.equal(answer.statusCode, 200, answer.body)
  return answer.json()
}
/** Waits for `count` calls and returns them, newest first. */
async function waitForCalls(app: FastifyInstance, count: number): Promise<CallEntry[]> {
  let calls: CallEntry[] = []
  await until(`${count} calls are stored`, async () => {
    calls = (await get<{ calls: CallEntry[] }>(app, '/calls')).calls
    return calls.length >= count
  })
  assert.equal(calls.length, count)
  return calls
}
const invoke = (app: FastifyInstance, payload: object) =>
  app.inject({ method: 'POST', url: '/api/v0/tools/invoke', payload })

test('each way in leaves its row: who, where, what, how it went, how long and how much', async (t) => {
  const mcp = await startMcp(t, { TOWPATH_CALL_LOG_CONTENTS: 'off' })
  const { app } = mcp
  await addRecorder(t, mcp, 'alpha')
  const before = Date.now()
  await invoke(app, { name: 'alpha__echo', text: 'hi' })
  await mcp.legacy('tools/call', { name: 'alpha__echo', arguments: { text: 'hi' } })
  await mcp.modern('tools/call', { name: 'alpha__fail' })
  await mcp.legacy('prompts/get', { name: 'alpha__nope' })
  const rows = (await waitForCalls(app, 4)).toReversed()
  assert.deepEqual(
    rows.map(({ via, endpoint, kind, server, item, outcome }) => [via, endpoint, kind, server, item, outcome]),
    [
      ['rest', '/api/v0', 'tool', 'alpha', 'echo', 'ok'],
      ['legacy', '/mcp', 'tool', 'alpha', 'echo', 'ok'],
      ['modern', '/mcp', 'tool', 'alpha', 'fail', 'tool_error'],
      ['legacy', '/mcp', 'prompt', undefined, 'alpha__nope', 'refused']
    ]
  )
  for (const row of rows) {
    assert.deepEqual([row.caller_kind, row.caller], ['development', 'development'])
    assert.ok(Date.parse(row.at) >= before - 1 && Date.parse(row.at) <= Date.now())
    assert.ok(row.total_ms >= row.upstream_ms)
    assert.match(row.request_id!, /^[\w-]{8}-[0-9a-z]+$/)
    assert.equal(row.arguments ?? row.result, undefined)
  }
  const [rest] = rows as [CallEntry]
  assert.equal(rest.request_bytes, '"name":"echo","arguments":{"text":"hi"}'.length)
  assert.ok(rest.response_bytes > 10 && rest.upstream_ms > 0)
  assert.equal(new Set(rows.map(({ request_id }) => request_id)).size, 4)
  assert.deepEqual(await get(app, `/calls/${rest.id}`), rest)
})

test('the row of a failed call says why, on one line, and the answer names the row', async (t) => {
  const mcp = await startMcp(t)
  const { app } = mcp
  const faulty = await addFaulty(t, mcp, 'beta')
  faulty.mode = 'bad_gateway'
  const answer = await invoke(app, { name: 'beta__echo' })
  assert.equal(answer.statusCode, 502)
  const [row] = (await waitForCalls(app, 1)) as [CallEntry]
  assert.equal(row.outcome, 'failed')
  assert.match(row.error!, /HTTP 502/)
  assert.equal(answer.headers['x-request-id'], row.request_id)

  const forged = `nope\r\n\0${'x'.repeat(8_000)}\u{1f600}`
  const { body } = await mcp.legacy('tools/call', { name: `${forged}${'x'.repeat(8_192)}` })
  assert.deepEqual(body.error, { code: -32602, message: 'Invalid params: "name" is longer than 8192 bytes' })
  await mcp.legacy('tools/call', { name: forged })
  const [unknown] = (await waitForCalls(app, 2)) as [CallEntry]
  assert.equal(unknown.item, `nope\\u{d}\\u{a}\\u{0}${'x'.repeat(193)}…`)
  assert.ok(unknown.error!.length < 300)
})

test('charts are drawn from what was called', async (t) => {
  const mcp = await startMcp(t)
  const { app } = mcp
  await addRecorder(t, mcp, 'alpha')
  await invoke(app, { name: 'alpha__echo' })
  await invoke(app, { name: 'alpha__fail' })
  await waitForCalls(app, 2)
  let stats: Stats | undefined
  await until('the charts know them', async () => {
    stats = await get<Stats>(app, '/stats?range=1h')
    return stats.total.calls === 2
  })
  assert.deepEqual([stats!.total.failed, stats!.buckets.length], [1, 60])
  assert.deepEqual(
    stats!.top_tools.map(({ tool, calls }) => [tool, calls]),
    [
      ['echo', 1],
      ['fail', 1]
    ]
  )
  assert.deepEqual(
    stats!.servers.map(({ server, half_hours }) => [server, half_hours.at(-1)!.calls]).flat()[0],
    'alpha'
  )
  assert.equal((await get<Stats>(app, '/stats')).range, '24h')
})

test('switched off, nothing is written', async (t) => {
  const app = await startApp(t, { env: { TOWPATH_CALL_LOG: 'off' } })
  await invoke(app, { name: 'nope__nope' })
  assert.equal(app.registry.calls.queued, 0)
  assert.deepEqual(await get(app, '/calls'), { calls: [] })
})

const contents = { TOWPATH_CALL_LOG_CONTENTS: 'on' }

/** Starts an upstream with one tool whose result `answer` computes from its arguments. */
async function startAnswering(t: TestContext, env: Record<string, string>) {
  const mcp = await startMcp(t, env)
  await addRecorder(t, mcp, 'alpha')
  return mcp
}

test('switched on, arguments and results are kept, without what looks like a secret', async (t) => {
  const { app } = await startAnswering(t, contents)
  const text = JSON.stringify({ note: 'fine', password: 'SENT-in-text' })
  await invoke(app, { name: 'alpha__echo', text, api_key: 'SENT-key', deep: [{ accessToken: { a: 'SENT-deep' } }] })
  await invoke(app, { name: 'alpha__echo', header: 'Authorization: Bearer SENT-bearer' })
  const [second, first] = (await waitForCalls(app, 2)) as [CallEntry, CallEntry]
  assert.equal(first.arguments, undefined, 'not in a list')
  const one = await get<CallEntry>(app, `/calls/${first.id}`)
  assert.deepEqual(JSON.parse(one.arguments!), {
    text: '{"note":"fine","password":"***"}',
    api_key: '***',
    deep: [{ accessToken: '***' }]
  })
  assert.match(one.result!, /"content"/)
  const other = await get<CallEntry>(app, `/calls/${second.id}`)
  assert.match(other.arguments!, /Authorization: Bearer \*\*\*/)
  assert.equal(JSON.stringify([one, other]).includes('SENT'), false)
})

test('a secret of the server is in no content, wherever it comes up', async (t) => {
  const app = await startApp(t, { env: contents })
  const upstream = await startUpstream(t, 'alpha', { tools: [echoTool] })
  const server = { ...registrationOf('alpha', upstream), bearer_token: 'SENT-bearer-of-alpha' }
  const answer = await app.inject({ method: 'POST', url: '/api/v0/servers', payload: server })
  assert.equal(answer.statusCode, 201, answer.body)
  await invoke(app, { name: 'alpha__echo', text: 'it is SENT-bearer-of-alpha' })
  const [row] = (await waitForCalls(app, 1)) as [CallEntry]
  const call = await get<CallEntry>(app, `/calls/${row.id}`)
  assert.equal(call.arguments, '{"text":"it is ***"}')
  assert.equal(JSON.stringify(call).includes('SENT'), false)
})

test('contents are cut, and what is large is not kept at all', async (t) => {
  const { app } = await startAnswering(t, contents)
  await invoke(app, { name: 'alpha__echo', text: 'a'.repeat(10_000) })
  await invoke(app, { name: 'alpha__echo', text: 'b'.repeat(100_000) })
  const [large, long] = (await waitForCalls(app, 2)) as [CallEntry, CallEntry]
  const cut = await get<CallEntry>(app, `/calls/${long.id}`)
  assert.equal(cut.arguments, `{"text":"${'a'.repeat(4_096 - 9)}…`)
  const none = await get<CallEntry>(app, `/calls/${large.id}`)
  assert.equal(none.arguments, undefined)
  assert.ok(none.request_bytes > 100_000)
})

test('a call tells in which terms it went, on both sides', async (t) => {
  const mcp = await startMcp(t)
  const { app } = mcp
  await addRecorder(t, mcp, 'alpha', {}, { session_mode: 'stateful' })
  const session = await mcp.initialize('2025-06-18')
  await mcp.legacy('tools/call', { name: 'alpha__echo', arguments: {} }, session)
  await mcp.modern('tools/call', {
    name: 'alpha__echo',
    _meta: { [`${META}clientInfo`]: { name: 'c\u202e', version: '1' } }
  })
  await invoke(app, { name: 'alpha__echo' })
  await mcp.legacy('tools/call', { name: 'nobody__echo' })
  const rows = (await waitForCalls(app, 4)).toReversed()
  assert.deepEqual(
    rows.map((row) => [row.client, row.client_protocol, row.server_protocol, row.session_mode]),
    [
      ['test', '2025-06-18', '2025-11-25', 'stateful'],
      ['c\\u{202e}', MODERN, '2025-11-25', 'stateful'],
      [undefined, undefined, '2025-11-25', 'stateful'],
      [undefined, undefined, undefined, undefined]
    ]
  )
  assert.ok(rows[0]!.initialize_ms! >= 0)
  assert.deepEqual([rows[0]!.queue_ms, rows[0]!.start_ms, rows[0]!.ended_in], [undefined, undefined, undefined])
})

test('a call of a process tells what it waited for, and what the process wrote where it failed', async (t) => {
  const app = await startApp(t)
  const reports = await makeBreakable(t, 'FATAL: no entry for \u202euser "reports", key SENT-key-of-reports')
  await register(app, { ...reports.registration('reports'), env: { REPORTS_KEY: 'SENT-key-of-reports' } })
  await invoke(app, { name: 'reports__echo', text: 'hi' })
  await reports.break()
  await invoke(app, { name: 'reports__echo', text: 'hi' })
  const [failed, good] = (await waitForCalls(app, 2)) as [CallEntry, CallEntry]
  assert.equal(good.outcome, 'ok')
  assert.ok(good.initialize_ms! > 0 && good.queue_ms! >= 0 && good.start_ms! >= 0)
  assert.ok(good.queue_ms! + good.start_ms! + good.initialize_ms! <= good.upstream_ms + 2)
  assert.deepEqual([good.ended_in, good.session_mode, good.server_protocol], [undefined, 'stateless', '2025-11-25'])
  assert.deepEqual([failed.outcome, failed.ended_in, failed.server_protocol], ['failed', 'initialize', undefined])
  assert.equal(failed.stderr, undefined, 'not in a list')
  const one = await get<CallEntry>(app, `/calls/${failed.id}`)
  assert.equal(one.stderr, 'FATAL: no entry for \\u{202e}user "reports", key ***')
  assert.equal(JSON.stringify(one).includes('SENT'), false)
  assert.equal((await get<CallEntry>(app, `/calls/${good.id}`)).stderr, undefined)
})

test('why calls fail is told by cause, and how many are in progress is told with the charts', async (t) => {
  const mcp = await startMcp(t)
  const { app } = mcp
  const faulty = await addFaulty(t, mcp, 'beta')
  faulty.mode = 'bad_gateway'
  await invoke(app, { name: 'beta__echo' })
  await mcp.legacy('tools/call', { name: 'beta__echo', arguments: {} })
  await waitForCalls(app, 2)
  const { causes } = await get<{ causes: { server: string; cause: string; calls: number }[] }>(app, '/calls/causes')
  assert.deepEqual(
    causes.map(({ server, calls }) => [server, calls]),
    [['beta', 2]]
  )
  const found = await get<{ calls: unknown[] }>(app, `/calls?cause=${encodeURIComponent(causes[0]!.cause)}`)
  assert.equal(found.calls.length, 2)

  faulty.mode = 'silent'
  const leaving = new AbortController()
  const body = legacyBody('tools/call', { name: 'beta__echo', arguments: {} })
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  const running = fetch(mcp.url, { method: 'POST', headers, body, signal: leaving.signal }).catch(() => {})
  const underWay = async () => (await get<Stats>(app, '/stats')).in_flight
  await until('the call is under way', async () => (await underWay()) === 1)
  leaving.abort()
  await running
  await until('it is over', async () => (await underWay()) === 0)
})
