import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { unavailable } from '../../src/lib/errors.ts'
import type { AuditRow } from '../../src/registry/logs/audit.ts'
import type { Refusal } from '../../src/registry/model/model.ts'
import { createRefusalLog } from '../../src/registry/logs/refusals.ts'
import { until } from '../until.ts'

/** Returns the queue with a database that can become unavailable. */
function start(t: TestContext) {
  const batches: AuditRow[][] = []
  const errors: unknown[] = []
  const database = { failure: undefined as unknown, isStuck: false, now: 0, attempts: 0 }
  const refusals = createRefusalLog({
    async write(rows) {
      database.attempts++
      if (database.isStuck) await new Promise(() => {})
      if (database.failure) throw database.failure
      batches.push([...rows])
    },
    onError: (error) => errors.push(error),
    now: () => database.now
  })
  t.after(() => refusals.close())
  const rows = () => batches.flat()
  return { refusals, database, batches, rows, errors }
}

let sent = 0
/** Returns a refusal from a new address each time, so that no rate limit applies. */
const refusal = (more: Partial<Refusal> = {}): Refusal => ({
  actor: { kind: 'anonymous', name: 'anonymous' },
  action: 'request.refused',
  target: 'GET /api/v0/servers',
  reason: 'no token',
  address: `host-${sent++}`,
  ...more
})

test('a refusal becomes a row with the time at which it happened', async (t) => {
  const { refusals, rows } = start(t)
  const before = Date.now()
  refusals.record(refusal({ address: '192.0.2.1', requestId: 'r1', endpoint: 'global' }))
  assert.deepEqual(rows(), [])
  await refusals.close()
  const [{ at, ...row }] = rows() as [AuditRow]
  assert.ok((at as Date).getTime() >= before && (at as Date).getTime() <= Date.now())
  assert.deepEqual(row, {
    actor_kind: 'anonymous',
    actor: 'anonymous',
    action: 'request.refused',
    target: 'GET /api/v0/servers',
    outcome: 'refused',
    address: '192.0.2.1',
    request_id: 'r1',
    reason: 'no token',
    endpoint: 'global',
    policy: null,
    decision: null
  })
})

test('rows are written by themselves, many at a time', async (t) => {
  const { refusals, batches, rows } = start(t)
  for (let n = 0; n < 600; n++) refusals.record(refusal())
  await until('all are written', () => rows().length === 600)
  assert.deepEqual(
    batches.map((batch) => batch.length),
    [500, 100]
  )
})

test('texts from outside are cut, and hold nothing that is not seen', async (t) => {
  const { refusals, rows } = start(t)
  const forged = 'x\r\n{"level":60}\0'
  refusals.record(
    refusal({ target: forged, reason: 'y'.repeat(1_000), actor: { kind: 'client', name: forged }, requestId: forged })
  )
  await refusals.close()
  const [row] = rows() as [AuditRow]
  const shown = 'x\\u{d}\\u{a}{"level":60}\\u{0}'
  assert.deepEqual([row.target, row.actor, row.request_id], [shown, shown, shown])
  assert.equal(row.reason, `${'y'.repeat(200)}…`)
})

test('what one address was refused beyond its rate is one row with a number', async (t) => {
  const { refusals, database, rows } = start(t)
  for (let n = 0; n < 200; n++) refusals.record(refusal({ address: '192.0.2.1' }))
  database.now = 60_001
  refusals.record(refusal({ address: '192.0.2.1', reason: 'next minute' }))
  await refusals.close()
  assert.equal(rows().length, 62)
  const { actor_kind, address, count, outcome } = rows()[60]!
  assert.deepEqual([actor_kind, address, count, outcome], ['system', '192.0.2.1', 140, 'refused'])
  assert.equal(rows()[61]!.reason, 'next minute')
})

test('an outage of the database is told once, and loses nothing that the queue holds', async (t) => {
  const { refusals, database, rows, errors } = start(t)
  database.failure = unavailable('not reachable')
  refusals.record(refusal())
  await until('the failure is told', () => errors.length > 0)
  refusals.record(refusal())
  const { attempts } = database
  await until('another attempt has failed', () => database.attempts > attempts)
  assert.deepEqual([rows().length, errors.length], [0, 1])
  database.failure = undefined
  await until('both are written', () => rows().length === 2)
  assert.equal(errors.length, 1)
})

test('what the queue cannot hold is counted, and the count is a row', async (t) => {
  const { refusals, database, rows, errors } = start(t)
  database.failure = unavailable('not reachable')
  for (let n = 0; n < 10_500; n++) refusals.recordFailure('secrets.unreadable', `s${n}`, 'does not open')
  await until('the failure is told', () => errors.length > 0)
  database.failure = undefined
  await refusals.close()
  assert.equal(rows().length, 10_001)
  const confession = rows().find(({ action }) => action === 'audit.dropped')
  assert.deepEqual([confession?.count, confession?.outcome], [500, 'failed'])
})

test('rows that can never be written hold up no others', async (t) => {
  const { refusals, database, rows, errors } = start(t)
  database.failure = new Error('relation does not exist')
  refusals.record(refusal())
  await until('the failure is told', () => errors.length > 0)
  database.failure = undefined
  refusals.record(refusal({ reason: 'later' }))
  await refusals.close()
  assert.deepEqual(
    rows().map(({ action, reason, count }) => [action, reason ?? count]),
    [
      ['request.refused', 'later'],
      ['audit.dropped', 1]
    ]
  )
})

test('a frozen database holds up the end for two seconds at most', async (t) => {
  const { refusals, database } = start(t)
  database.isStuck = true
  refusals.record(refusal())
  const start_ = performance.now()
  await refusals.close()
  assert.ok(performance.now() - start_ < 10_000)
  refusals.record(refusal())
})

const principals = [
  { kind: 'client', name: 'cli-a' },
  { kind: 'user', name: 'bob' },
  { kind: 'admin', name: 'root' },
  { kind: 'development', name: 'development' }
] as const
for (const actor of principals) {
  test(`SR-M2 however many unknown callers are refused, a ${actor.kind} that is refused has its rows`, async (t) => {
    const { refusals, rows } = start(t)
    for (let n = 0; n < 70; n++) refusals.record(refusal({ address: '192.0.2.1' }))
    for (let n = 0; n < 5_000; n++) refusals.record(refusal())
    for (let n = 0; n < 10; n++) refusals.record(refusal({ actor, address: '192.0.2.1' }))
    await refusals.close()
    assert.equal(rows().filter((row) => row.actor === actor.name).length, 10)
    assert.equal(rows().filter((row) => row.actor === 'anonymous').length, 600)
    const suppressed = rows().filter((row) => row.reason === 'more refusals within the same minute')
    assert.equal(
      suppressed.reduce((sum, { count = 1 }) => sum + count, 0),
      5_070 - 600
    )
  })

  test(`SR-M2 what a ${actor.kind} was refused beyond its own rate is a row with its name and a number`, async (t) => {
    const { refusals, rows } = start(t)
    for (let n = 0; n < 100; n++) refusals.record(refusal({ actor }))
    for (const other of principals) if (other !== actor) refusals.record(refusal({ actor: other }))
    await refusals.close()
    const own = rows().filter((row) => row.actor === actor.name)
    assert.deepEqual([own.length, own.at(-1)?.count], [61, 40])
    assert.equal(rows().length, 61 + principals.length - 1)
  })
}

test('SR-M2 while the database is away unknown callers leave room for the rows of principals', async (t) => {
  const { refusals, database, rows } = start(t)
  database.failure = unavailable('not reachable')
  for (let minute = 0; minute < 20; minute++) {
    database.now = minute * 60_001
    for (let n = 0; n < 700; n++) refusals.record(refusal())
    refusals.record(refusal({ actor: principals[0] }))
  }
  database.failure = undefined
  await refusals.close()
  assert.equal(rows().filter((row) => row.actor === 'cli-a').length, 20)
  assert.equal(
    rows()
      .filter((row) => row.outcome === 'refused')
      .reduce((sum, { count = 1 }) => sum + count, 0),
    20 * 701
  )
})
