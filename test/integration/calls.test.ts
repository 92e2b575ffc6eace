import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { FastifyInstance } from 'fastify'
import { sql } from 'kysely'
import { startApp } from '../app.ts'
import { recordCalls } from '../call-lines.ts'
import { createCallStats } from '../../src/registry/logs/call-stats.ts'
import { readTallies } from '../../src/registry/logs/call-tallies.ts'
import { readCauses } from '../../src/registry/logs/call-causes.ts'
import { callExpiry, findCall, readCalls, defaultValues, type CallRow } from '../../src/registry/logs/calls.ts'
import { deleteExpired } from '../../src/registry/logs/expiry.ts'
import { openStore, type Store } from '../../src/registry/store/store.ts'
import type { CallFilter } from '../../src/schemas/call.ts'
import { anyEngine, engines, freshPlace, addCleanup, startRegistry, type Engine } from '../store.ts'
import { limits, quiet } from '../templates.ts'
import { until } from '../until.ts'

async function openFresh(t: TestContext, engine: Engine): Promise<Store> {
  const store = await openStore({ ...limits, ...quiet, ...(await freshPlace(t, engine)) })
  addCleanup(t, () => store.close())
  return store
}

/** The middle of a half-hour, so that a test knows its bucket. */
const NOW = Date.parse('2026-11-20T10:15:00Z')
const MINUTE = 60_000
const HOUR = 60 * MINUTE

const call = (more: Partial<CallRow> = {}): CallRow => ({
  at: NOW,
  kind: 'tool',
  caller_kind: 'client',
  caller: 'cli-a',
  endpoint: '/mcp',
  via: 'legacy',
  server: 'alpha',
  item: 'echo',
  outcome: 'ok',
  total_ms: 5,
  upstream_ms: 4,
  request_bytes: 20,
  response_bytes: 30,
  error: undefined,
  request_id: 'r-1',
  ...more
})

for (const engine of engines) {
  test(`what is recorded is read as it was, the newest first (${engine})`, async (t) => {
    const { db } = await openFresh(t, engine)
    const full = call({
      error: '"quoted" \\ é 日 \u{1f600}',
      arguments: '{"a":1}',
      result: '{"b":[2]}',
      total_ms: 1.25,
      client: 'claude-code',
      client_protocol: '2025-06-18',
      server_protocol: '2025-11-25',
      session_mode: 'stateful',
      queue_ms: 0,
      start_ms: 1,
      initialize_ms: 2,
      stderr: 'one\ntwo'
    })
    const { server: _server, item: _item, request_id: _id, error: _error, ...bare } = call({ at: NOW + 2 })
    await recordCalls(db, [full, bare as CallRow])
    const implied = { session_mode: 'stateless' as const }
    const [second, first] = await readCalls(db, { limit: 10 })
    assert.deepEqual(await findCall(db, first!.id), { ...full, id: first!.id, at: '2026-11-20T10:15:00.000Z' })
    assert.deepEqual(second, { ...bare, ...implied, id: second!.id, at: '2026-11-20T10:15:00.002Z' })
    for (const member of ['arguments', 'result', 'stderr']) assert.equal(member in first!, false)
    assert.equal(await findCall(db, '999999'), undefined)
  })

  test(`calls that failed alike are told as one cause, and found by it (${engine})`, async (t) => {
    const { db } = await openFresh(t, engine)
    const failed = (error: string | undefined, more: Partial<CallRow> = {}) =>
      call({ outcome: 'failed', error, ...more })
    await recordCalls(db, [
      failed('no user "ann" at port 5432'),
      failed('server "alpha": no user "bob" at port 1', { outcome: 'timeout' }),
      failed("no user 'cy' at port 77", { at: NOW - HOUR }),
      failed('no user "ann" at port 5432', { server: 'beta' }),
      failed('job 0f3a9c2e-11aa-4bcd is gone', { endpoint: '/v0/groups/g/mcp' }),
      failed(undefined, { outcome: 'tool_error' }),
      call({ error: 'no user "ann" at port 5432' }),
      call({ outcome: 'refused', error: 'no user "ann" at port 5432' })
    ])
    const cause = 'no user … at port n'
    assert.deepEqual(await readCauses(db, {}), [
      { server: 'alpha', cause, calls: 3, outcome: 'failed', error: "no user 'cy' at port 77" },
      { server: 'alpha', cause: 'tool_error', calls: 1, outcome: 'tool_error' },
      { server: 'alpha', cause: 'job … is gone', calls: 1, outcome: 'failed', error: 'job 0f3a9c2e-11aa-4bcd is gone' },
      { server: 'beta', cause, calls: 1, outcome: 'failed', error: 'no user "ann" at port 5432' }
    ])
    const some = await readCauses(db, { from: new Date(NOW).toISOString(), endpoint: '/v0/groups/g/mcp' })
    assert.deepEqual(
      some.map(({ calls }) => calls),
      [1]
    )
    const found = async (query: CallFilter) => (await readCalls(db, { ...query, limit: 10 })).map(({ error }) => error)
    assert.equal((await found({ server: 'alpha', cause })).length, 3)
    assert.equal((await found({ cause })).length, 4)
    assert.deepEqual(await found({ cause: 'tool_error' }), [undefined])
  })

  test(`a text is found in the item, the caller, the client and the error (${engine})`, async (t) => {
    const { db } = await openFresh(t, engine)
    await recordCalls(db, [
      call({ item: 'create_ISSUE', client: 'cursor' }),
      call({ item: 'x', error: '100% _wrong_' }),
      call({ item: 'y', caller: 'Ann', server: undefined })
    ])
    const found = async (text: string) =>
      (await readCalls(db, { text, limit: 10 })).map(({ item }) => item).toReversed()
    assert.deepEqual(await found('alpha__create_i'), ['create_ISSUE'])
    assert.deepEqual(await found('CURS'), ['create_ISSUE'])
    assert.deepEqual(await found('0% _'), ['x'])
    assert.deepEqual(await found('ann'), ['y'])
    assert.deepEqual(await found('%'), ['x'])
    assert.deepEqual(await found('nothing'), [])
  })

  test(`what a row has in common with most may be left out (${engine})`, async (t) => {
    const { db } = await openFresh(t, engine)
    const { kind: _k, caller_kind: _c, caller: _n, endpoint: _e, outcome: _o, ...brief } = call({ via: 'rest' })
    await recordCalls(db, [brief as CallRow, call({ via: 'rest', ...defaultValues })])
    const [second, first] = await readCalls(db, { limit: 10 })
    assert.deepEqual({ ...first, id: '' }, { ...second, id: '' })
    assert.deepEqual([first!.kind, first!.caller, first!.outcome], ['tool', 'development', 'ok'])
  })

  test(`what a row leaves out because it goes without saying is read (${engine})`, async (t) => {
    const { db } = await openFresh(t, engine)
    await recordCalls(db, [
      call({ via: 'modern' }),
      call({ client_protocol: '2025-06-18' }),
      call({ via: 'modern', ended_in: 'start' }),
      call({ via: 'modern', upstream_ms: 0, outcome: 'refused' })
    ])
    const rows = (await readCalls(db, { limit: 10 })).toReversed()
    assert.deepEqual(
      rows.map(({ client_protocol, server_protocol, session_mode }) => [
        client_protocol,
        server_protocol,
        session_mode
      ]),
      [
        ['2026-07-28', '2026-07-28', 'stateless'],
        ['2025-06-18', '2025-06-18', 'stateless'],
        ['2026-07-28', undefined, 'stateless'],
        ['2026-07-28', undefined, undefined]
      ]
    )
  })

  test(`each filter holds back what it should, and they work together (${engine})`, async (t) => {
    const { db } = await openFresh(t, engine)
    await recordCalls(db, [
      call({ item: '1' }),
      call({ item: '2', server: 'beta' }),
      call({ item: '3', kind: 'prompt' }),
      call({ item: '4', outcome: 'tool_error' }),
      call({ item: '5', outcome: 'failed' }),
      call({ item: '6', outcome: 'timeout' }),
      call({ item: '7', outcome: 'cancelled' }),
      call({ item: '8', outcome: 'refused' }),
      call({ item: '9', caller: 'cli-b' }),
      call({ item: '10', endpoint: '/v0/groups/g/mcp' }),
      call({ item: '11', total_ms: 500 }),
      call({ item: '12', at: NOW - HOUR }),
      call({ item: 'alpha__nope', server: undefined }),
      call({ item: '13', server: 'gamma' })
    ])
    const items = async (query: Omit<Parameters<typeof readCalls>[1], 'limit'>) =>
      (await readCalls(db, { ...query, limit: 100 })).map(({ item }) => item).toReversed()
    assert.deepEqual(await items({ server: 'beta' }), ['2'])
    assert.deepEqual(await items({ kind: 'prompt' }), ['3'])
    assert.deepEqual(await items({ tool: 'alpha__4' }), ['4'])
    assert.deepEqual(await items({ tool: 'alpha__3' }), [], 'a prompt is no tool')
    assert.deepEqual(await items({ tool: 'alpha__nope' }), ['alpha__nope'])
    assert.deepEqual(await items({ tool: 'nothing' }), [])
    assert.deepEqual(await items({ outcome: 'failed' }), ['5'])
    assert.deepEqual(await items({ failed: true }), ['4', '5', '6'])
    assert.deepEqual(await items({ failed: false, server: 'gamma' }), ['13'])
    assert.deepEqual(await items({ caller: 'cli-b' }), ['9'])
    assert.deepEqual(await items({ endpoint: '/v0/groups/g/mcp' }), ['10'])
    assert.deepEqual(await items({ min_ms: 500 }), ['11'])
    assert.deepEqual(await items({ to: '2026-11-20T10:00:00Z' }), ['12'])
    assert.equal((await items({ from: '2026-11-20T11:15:00+01:00' })).length, 13)
    assert.deepEqual(await items({ failed: true, outcome: 'ok' }), [])
  })

  test(`calls beyond the days or the number that are kept are deleted, and no others (${engine})`, async (t) => {
    const { db } = await openFresh(t, engine)
    const DAY = 24 * HOUR
    const now = Date.now()
    const aged = (item: string, days: number) => call({ item, at: now - days * DAY })
    await recordCalls(db, [aged('a', 1), aged('old', 8), aged('b', 2), aged('c', 3), aged('older', 400), aged('d', 0)])
    const left = async () => (await readCalls(db, { limit: 100 })).map(({ item }) => item)
    const byDays = callExpiry({ days: 7, rows: 1_000 })
    assert.equal(await deleteExpired(db, byDays), 2)
    assert.deepEqual(await left(), ['d', 'c', 'b', 'a'])
    assert.equal(await deleteExpired(db, byDays), 0)
    // by number: numbers of deleted rows count too
    assert.equal(await deleteExpired(db, callExpiry({ days: 7, rows: 3 })), 2)
    assert.deepEqual(await left(), ['d', 'c'])
    assert.equal(await deleteExpired(db, callExpiry({ days: 7, rows: 1 })), 1)
    assert.deepEqual(await left(), ['d'])
  })

  test(`more than one statement deletes are deleted, in as many statements (${engine})`, async (t) => {
    const { db } = await openFresh(t, engine)
    await recordCalls(
      db,
      Array.from({ length: 12_000 }, () => call({ at: Date.now() }))
    )
    assert.equal(await deleteExpired(db, callExpiry({ days: 7, rows: 500 })), 11_500)
    assert.equal((await readCalls(db, { limit: 1_000 })).length, 500)
  })

  test(`charts count calls and failures by time, and leave out of percentiles what took no time (${engine})`, async (t) => {
    const { db } = await openFresh(t, engine)
    const spread = (n: number, more: Partial<CallRow>) =>
      Array.from({ length: n }, (_, i) => call({ total_ms: i + 1, ...more }))
    await recordCalls(db, [
      ...spread(100, { at: NOW - 5 * MINUTE }),
      ...spread(10, { at: NOW - 5 * MINUTE, outcome: 'refused', total_ms: 0, server: undefined }),
      call({ at: NOW - 30 * MINUTE, outcome: 'failed', item: 'slow', total_ms: 9_000 }),
      call({ at: NOW - 2 * HOUR, server: 'beta', outcome: 'tool_error', total_ms: 7 }),
      call({ at: NOW - 30 * HOUR, server: 'gamma', total_ms: 3 }),
      call({ at: NOW - 10 * MINUTE, kind: 'prompt', item: 'greet', outcome: 'cancelled', total_ms: 60_000 })
    ])
    const { stats, strips } = createCallStats(
      (from, seconds) => readTallies(db, from, seconds),
      undefined,
      () => NOW
    )
    const hour = await stats('1h')
    assert.deepEqual([hour.range, hour.bucket_s, hour.buckets.length], ['1h', 60, 60])
    assert.equal(hour.from, '2026-11-20T09:16:00.000Z')
    assert.deepEqual(hour.total, { calls: 112, failed: 1, p50_ms: 52.4, p95_ms: 93.8, p99_ms: 102 })
    assert.deepEqual(hour.buckets[54], { calls: 110, failed: 0, p50_ms: 48.2, p95_ms: 93.8 })
    assert.deepEqual(hour.buckets[29], { calls: 1, failed: 1, p50_ms: 9_180, p95_ms: 9_180 })
    assert.deepEqual(hour.buckets[49], { calls: 1, failed: 0 }, 'only cancelled: no percentile')
    assert.deepEqual(hour.buckets[0], { calls: 0, failed: 0 })
    assert.deepEqual(hour.top_tools, [
      { server: 'alpha', tool: 'echo', calls: 100, failed: 0, p50_ms: 48.2, p95_ms: 93.8 },
      { server: 'alpha', tool: 'slow', calls: 1, failed: 1, p50_ms: 9_180, p95_ms: 9_180 }
    ])
    assert.deepEqual(
      hour.slowest_tools.map(({ tool }) => tool),
      ['slow', 'echo']
    )

    const day = await stats('24h')
    assert.deepEqual([day.bucket_s, day.buckets.length, day.total.calls], [900, 96, 113])
    const week = await stats('7d')
    assert.deepEqual([week.bucket_s, week.buckets.length, week.total.calls], [7_200, 84, 114])
    assert.equal(
      week.buckets.reduce((sum, { calls }) => sum + calls, 0),
      114
    )

    // the strip covers one day, whatever the range
    assert.equal(week.strip_from, '2026-11-19T10:30:00.000Z')
    assert.deepEqual(hour.servers, week.servers)
    assert.deepEqual(await strips(), { from: week.strip_from, servers: week.servers })
    assert.deepEqual(
      week.servers.map(({ server, calls, failed, half_hours: { length } }) => [server, calls, failed, length]),
      [
        ['alpha', 102, 1, 48],
        ['beta', 1, 1, 48]
      ]
    )
    assert.deepEqual(week.servers[0]!.half_hours.at(-1), { calls: 101, failed: 0, p95_ms: 93.8 })
    assert.deepEqual(week.servers[0]!.half_hours.at(-2), { calls: 1, failed: 1, p95_ms: 9_180 })
    assert.deepEqual(week.servers[1]!.half_hours.at(-5), { calls: 1, failed: 1, p95_ms: 7.09 })
  })

  test(`without calls charts are empty, not missing (${engine})`, async (t) => {
    const { db } = await openFresh(t, engine)
    const { stats: read } = createCallStats((from, seconds) => readTallies(db, from, seconds))
    const stats = await read('24h')
    assert.deepEqual(stats.total, { calls: 0, failed: 0 })
    assert.ok(stats.buckets.every(({ calls }) => calls === 0))
    assert.deepEqual([stats.top_tools, stats.slowest_tools, stats.servers], [[], [], []])
  })

  test(`what is queued when the registry closes is stored (${engine})`, async (t) => {
    const place = await freshPlace(t, engine)
    const registry = await startRegistry(t, place)
    for (let n = 0; n < 600; n++) registry.calls.record(call({ item: `tool-${n}` }))
    await registry.close()
    const again = await startRegistry(t, place)
    const stored = await again.calls.list({ limit: 1_000 })
    assert.deepEqual([stored.length, stored[0]!.item, stored.at(-1)!.item], [600, 'tool-599', 'tool-0'])
    assert.equal((await again.calls.find(stored[0]!.id))?.item, 'tool-599')
    assert.equal(again.calls.queued, 0)
  })

  test(`a call that was answered in the turn in which the registry closes is stored (${engine})`, async (t) => {
    const place = await freshPlace(t, engine)
    const registry = await startRegistry(t, place)
    // the call log records calls with contents after their answers
    setImmediate(() => registry.calls.record(call({ item: 'last' })))
    await registry.close()
    const again = await startRegistry(t, place)
    assert.deepEqual(
      (await again.calls.list({ limit: 10 })).map(({ item }) => item),
      ['last']
    )
  })

  test(`what the queue has no place for is told in the audit log (${engine})`, async (t) => {
    const place = await freshPlace(t, engine)
    const registry = await startRegistry(t, place)
    for (let n = 0; n < 10_007; n++) registry.calls.record(call())
    await registry.close()
    const again = await startRegistry(t, place)
    const [row] = await again.audit({ action: 'calls.dropped', limit: 10 })
    assert.deepEqual([row?.actor_kind, row?.outcome, row?.count], ['system', 'failed', 7])
  })
}

test('what fits is found over the borders of pieces and gaps between numbers, and paged through', async (t) => {
  const { db } = await openFresh(t, anyEngine)
  const isOdd = (n: number) => n % 700 === 0 || (n > 2_000 && n < 2_300)
  const error = 'no "50%" of c:\\new_1 on node 7'
  const rows = Array.from({ length: 4_000 }, (_, n) =>
    isOdd(n)
      ? call({ item: `odd-${n}`, outcome: 'failed', error })
      : call({ outcome: 'failed', error: 'no 50% at all' })
  )
  await recordCalls(db, rows.slice(0, 1_000))
  await sql`select setval(pg_get_serial_sequence('calls', 'id'), 5000000000)`.execute(db)
  await recordCalls(db, rows.slice(1_000))
  const odd = rows.flatMap(({ item }) => (item?.startsWith('odd') ? [item] : [])).reverse()
  const [{ cause } = {}] = (await readCauses(db, {})).filter((each) => each.cause.includes('new_'))
  assert.equal(cause, 'no … of c:\\new_n on node n')
  for (const filter of [{ cause }, { text: 'ODD-' }, { cause, text: 'odd' }] as CallFilter[]) {
    const items = (calls: readonly { item?: string }[]) => calls.map(({ item }) => item)
    assert.deepEqual(items(await readCalls(db, { ...filter, limit: 500 })), odd)
    const paged: typeof odd = []
    for (let before: string | undefined; ;) {
      const page = await readCalls(db, { ...filter, limit: 99, ...(before === undefined ? {} : { before }) })
      paged.push(...page.map(({ item }) => item!))
      if (page.length < 99) break
      before = page.at(-1)!.id
    }
    assert.deepEqual(paged, odd)
  }
  assert.deepEqual(await readCalls(db, { text: 'nowhere', limit: 1 }), [])
  const counts = (await readCauses(db, {})).map(({ calls }) => calls)
  assert.equal(counts[0]! + counts[1]!, 1_000, 'of the newest 1,000')
})

const get = async (app: FastifyInstance, path: string) => {
  const answer = await app.inject(`/api/v0${path}`)
  assert.equal(answer.statusCode, 200, answer.body)
  return answer.json()
}

test('pages follow one another by the cursor, until there are none', async (t) => {
  const app = await startApp(t)
  for (let n = 0; n < 5; n++) app.registry.calls.record(call({ item: `tool-${n}` }))
  await until('all are stored', () => app.registry.calls.queued === 0)
  const first = await get(app, '/calls?limit=3')
  const second = await get(app, `/calls?limit=3&before=${first.next_before}`)
  const names = [...first.calls, ...second.calls].map(({ item }: { item: string }) => item)
  assert.deepEqual(names, ['tool-4', 'tool-3', 'tool-2', 'tool-1', 'tool-0'])
  assert.equal(second.next_before, undefined)
  const { id } = first.calls[0]
  assert.deepEqual(await get(app, `/calls/${id}`), first.calls[0])
})

test('an id of no call is a 404, whatever it looks like', async (t) => {
  const app = await startApp(t)
  for (const id of ['1', 'x', '-1', '1e3', '9'.repeat(90)]) {
    const answer = await app.inject(`/api/v0/calls/${id}`)
    assert.deepEqual([answer.statusCode, answer.json()], [404, { error: `call "${id}" does not exist` }])
  }
})

const bad: readonly [query: string, error: string][] = [
  ['/calls?limit=501', '"limit" must be <= 500'],
  ['/calls?before=x', '"before" must be the id of a row'],
  ['/calls?from=yesterday', '"from" must be an ISO 8601 date, or date and time with zone'],
  ['/calls?outcome=bad', '"outcome" must be one of ok, task, tool_error, failed, timeout, cancelled, refused'],
  ['/calls?failed=perhaps', '"failed" must be a boolean'],
  ['/calls?min_ms=-1', '"min_ms" must be >= 0'],
  ['/stats?range=1y', '"range" must be one of 1h, 24h, 7d']
]
for (const [query, error] of bad) {
  test(`${query} is refused: ${error}`, async (t) => {
    const app = await startApp(t)
    const answer = await app.inject(`/api/v0${query}`)
    assert.deepEqual([answer.statusCode, answer.json()], [400, { error }])
  })
}
