import { sql } from 'kysely'
import { insertRows, toAuditRow } from './logs/audit.ts'
import { canaryLocation } from './database-identity.ts'
import type { Change } from './model/model.ts'
import { encryptedColumns, type EncryptedColumn } from './crypto/encrypted-columns.ts'
import {
  keyId,
  rewrapDataKey,
  DecryptionError,
  envelopeKeyId,
  type MasterKeys,
  type ValueLocation
} from './crypto/envelope-encryption.ts'
import type { Db } from './model/tables.ts'

const BATCH_SIZE = 100
/** Maximum duration of one request; the next one continues */
const TIME_LIMIT_MS = 20_000

/** Progress of a key rotation */
export interface Rotation {
  /** Values re-encrypted with the current key by this call */
  readonly rewrapped: number
  /** Values that still use another key */
  readonly remaining: number
  /** Values that none of the available keys decrypts; they stay unchanged */
  readonly unreadable: number
  readonly key_id: string
}

/**
 * Wraps all data keys with the current master key, in batches with their own transactions, so that it can be
 * interrupted and repeated at any point. The canary is rewrapped last, and from then on replicas encrypt with the new
 * key. Passes are repeated until few values encrypted in the meantime are left, which are rewrapped together with the
 * canary.
 */
export async function rotateKeys(db: Db, keys: MasterKeys, change: Change): Promise<Rotation> {
  const end = performance.now() + TIME_LIMIT_MS
  const runTransaction: RunTransaction = (work) => db.transaction().execute(work)
  for (let total = 0; ;) {
    const pass = await rewrapAllColumns(runTransaction, keys, change, end)
    const last = await runTransaction((trx) => rewrapCanary(trx, keys, change, pass.unreadable))
    total += pass.rewrapped + last.rewrapped
    if (last.remaining === 0 || performance.now() >= end) {
      const { remaining, unreadable } = last
      return { rewrapped: total, remaining, unreadable, key_id: keyId(keys.current) }
    }
  }
}

type RunTransaction = <T>(work: (trx: Db) => Promise<T>) => Promise<T>

async function rewrapAllColumns(transact: RunTransaction, keys: MasterKeys, change: Change, end: number) {
  let rewrapped = 0
  let unreadable = 0
  for (const location of encryptedColumns) {
    for (let last: string | undefined = ''; last !== undefined && performance.now() < end;) {
      const batch = await transact((trx) => rewrapBatch(trx, keys, change, location, last!))
      rewrapped += batch.rewrapped
      unreadable += batch.unreadable
      last = batch.last
    }
  }
  return { rewrapped, unreadable }
}

/** Matches values wrapped with another key; the key id follows the first byte (registry/crypto/envelope-encryption.ts). */
const usesOtherKey = (column: string, { current }: MasterKeys) =>
  sql<boolean>`substring(${sql.ref(column)} from 2 for 8) <> ${Buffer.from(keyId(current), 'hex')}`

async function rewrapBatch(db: Db, keys: MasterKeys, change: Change, location: EncryptedColumn, after: string) {
  const { table, id, column } = location
  const { rows } = await sql<{ id: string; sealed: Uint8Array }>`
    select ${sql.ref(id)}::text as id, ${sql.ref(column)} as sealed from ${sql.table(table)}
    where ${usesOtherKey(column, keys)} and ${sql.ref(id)}::text > ${after}
    order by ${sql.ref(id)}::text limit ${BATCH_SIZE} for update`.execute(db)
  let rewrapped = 0
  for (const { id: row, sealed } of rows) {
    const moved = rewrapIfPossible(keys, sealed, { table, row, column })
    if (!moved) continue
    await sql`
      update ${sql.table(table)} set ${sql.ref(column)} = ${moved} where ${sql.ref(id)}::text = ${row}`.execute(db)
    rewrapped++
  }
  if (rewrapped > 0) await recordRotation(db, { ...change, target: `${table}.${column}` }, rewrapped, keys)
  return {
    rewrapped,
    unreadable: rows.length - rewrapped,
    last: rows.length < BATCH_SIZE ? undefined : rows.at(-1)!.id
  }
}

function rewrapIfPossible(keys: MasterKeys, sealed: Uint8Array, location: ValueLocation): Buffer | undefined {
  try {
    return rewrapDataKey(keys, sealed, location)
  } catch (error) {
    if (error instanceof DecryptionError) return undefined
    throw error
  }
}

async function countOtherKeys(db: Db, keys: MasterKeys): Promise<number> {
  let count = 0
  for (const { table, column } of encryptedColumns) {
    const { rows } = await sql<{ count: string }>`
      select count(*)::text as count from ${sql.table(table)} where ${usesOtherKey(column, keys)}`.execute(db)
    count += Number(rows[0]!.count)
  }
  return count
}

/**
 * Rewraps the canary if few values are left. The row lock keeps all replicas from encrypting in the meantime, and the
 * remaining values are rewrapped under it; otherwise constant encryption by others could delay completion forever.
 */
async function rewrapCanary(db: Db, keys: MasterKeys, change: Change, unreadable: number) {
  const { canary } = await db.selectFrom('gateway').select('canary').forUpdate().executeTakeFirstOrThrow()
  const remaining = (await countOtherKeys(db, keys)) - unreadable
  if (remaining > BATCH_SIZE) return { rewrapped: 0, unreadable, remaining }
  const last = await rewrapAllColumns((work) => work(db), keys, change, Infinity)
  if (envelopeKeyId(canary) !== keyId(keys.current)) {
    const moved = rewrapDataKey(keys, canary, canaryLocation)
    await db.updateTable('gateway').set({ canary: moved }).execute()
    await recordRotation(db, { ...change, target: 'gateway.canary' }, 1, keys)
  }
  return { ...last, remaining: 0 }
}

const recordRotation = (db: Db, change: Change, count: number, { current }: MasterKeys) =>
  insertRows(db, [{ ...toAuditRow(change, 'ok'), count, after: JSON.stringify({ key_id: keyId(current) }) }])
