import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { sql } from 'kysely'
import { callExpiry, type CallRow } from '../../src/registry/logs/calls.ts'
import { deleteExpired } from '../../src/registry/logs/expiry.ts'
import type { Db } from '../../src/registry/model/tables.ts'
import { openStore } from '../../src/registry/store/store.ts'
import { vacuumTables } from '../../src/registry/store/vacuum.ts'
import { recordCalls } from '../call-lines.ts'
import { addCleanup, freshPlace } from '../store.ts'
import { limits, quiet } from '../templates.ts'
import { until } from '../until.ts'

async function openEmbedded(t: TestContext): Promise<Db> {
  const store = await openStore({ ...limits, ...quiet, ...(await freshPlace(t, 'pglite')) })
  addCleanup(t, () => store.close())
  return store.db
}

async function bytesOf(db: Db, table: string): Promise<number> {
  const { rows } = await sql<{ bytes: string }>`select pg_total_relation_size(${table}::regclass) as bytes`.execute(db)
  return Number(rows[0]!.bytes)
}

/** The statistics of a statement are there a second after it. */
const waitForVacuum = (db: Db, table: string) =>
  until(`${table} to need VACUUM`, async () => (await vacuumTables(db)).includes(table))

const call = { at: Date.now(), via: 'legacy', total_ms: 5, upstream_ms: 4, request_bytes: 20, response_bytes: 30 }

/** Asserts that `fill`, which deletes as much as it adds, makes the table of calls no longer after two rounds. */
async function assertNoGrowth(db: Db, fill: () => Promise<void>, rounds: number): Promise<void> {
  await fill()
  await fill()
  const before = await bytesOf(db, 'calls')
  for (let round = 0; round < rounds; round++) await fill()
  const after = await bytesOf(db, 'calls')
  assert.ok(after < 1.3 * before, `${before} bytes, then ${after}`)
}

test('a log that few calls come to does not grow with those that it has forgotten', async (t) => {
  const db = await openEmbedded(t)
  const fill = async () => {
    // fewer than one statement of the expiry deletes
    for (let n = 0; n < 6; n++) await recordCalls(db, new Array<CallRow>(250).fill(call as CallRow))
    await deleteExpired(db, callExpiry({ days: 7, rows: 500 }))
    await waitForVacuum(db, 'calls')
  }
  await assertNoGrowth(db, fill, 6)
})

test('space of long texts is used again, although their rows are few', async (t) => {
  const db = await openEmbedded(t)
  const text = Buffer.from(Array.from({ length: 100_000 }, (_, n) => (n * n) % 251)).toString('base64')
  const fill = async () => {
    for (let n = 0; n < 20; n++) await recordCalls(db, [{ ...call, result: text + String(n) } as CallRow])
    await sql`delete from calls`.execute(db)
    await waitForVacuum(db, 'calls')
  }
  await assertNoGrowth(db, fill, 4)
})

test('tables in which little changes are left alone', async (t) => {
  const db = await openEmbedded(t)
  await recordCalls(db, [call as CallRow])
  await sql`delete from calls`.execute(db)
  await vacuumTables(db)
  assert.deepEqual(await vacuumTables(db), [])
})
