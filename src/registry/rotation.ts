import { sql } from 'kysely'
import { recordRows, rowOf } from './audit.ts'
import { canaryPlace } from './claim.ts'
import type { Change } from './model.ts'
import { sealedColumns, type SealedColumn } from './sealed-columns.ts'
import { keyId, rewrap, SealError, sealedKeyId, type Keyring, type Place } from './sealed.ts'
import type { Db } from './tables.ts'

const BATCH = 100
/** One request does not take longer; the next goes on where it ended. */
const BUDGET_MS = 20_000

/** How far the change to the current key has come. */
export interface Rotation {
  /** Values that were moved to the current key now. */
  readonly rewrapped: number
  /** Values that still need another key. */
  readonly remaining: number
  /** Values that no key at hand opens; they stay as they are. */
  readonly unreadable: number
  readonly key_id: string
}

/**
 * Wraps the data keys of all that is sealed with the current key, in batches of their own transactions: it may be cut off
 * and repeated at any point. The canary goes last, and with it what replicas seal with from then on: what they had sealed
 * meanwhile is looked for again until it is little, and that is moved together with the canary.
 */
export async function rotateKeys(db: Db, keys: Keyring, change: Change): Promise<Rotation> {
  const end = performance.now() + BUDGET_MS
  const inTurn: Transact = (work) => db.transaction().execute(work)
  for (let total = 0; ;) {
    const pass = await rewrapAll(inTurn, keys, change, end)
    const last = await inTurn((trx) => finish(trx, keys, change, pass.unreadable))
    total += pass.rewrapped + last.rewrapped
    if (last.remaining === 0 || performance.now() >= end) {
      const { remaining, unreadable } = last
      return { rewrapped: total, remaining, unreadable, key_id: keyId(keys.current) }
    }
  }
}

type Transact = <T>(work: (trx: Db) => Promise<T>) => Promise<T>

async function rewrapAll(transact: Transact, keys: Keyring, change: Change, end: number) {
  let rewrapped = 0
  let unreadable = 0
  for (const place of sealedColumns) {
    for (let last: string | undefined = ''; last !== undefined && performance.now() < end;) {
      const batch = await transact((trx) => rewrapSome(trx, keys, change, place, last!))
      rewrapped += batch.rewrapped
      unreadable += batch.unreadable
      last = batch.last
    }
  }
  return { rewrapped, unreadable }
}

/** Sealed with another key: the key's id stands behind the first byte (sealed.ts). */
const isOther = (column: string, { current }: Keyring) =>
  sql<boolean>`substring(${sql.ref(column)} from 2 for 8) <> ${Buffer.from(keyId(current), 'hex')}`

async function rewrapSome(db: Db, keys: Keyring, change: Change, place: SealedColumn, after: string) {
  const { table, id, column } = place
  const { rows } = await sql<{ id: string; sealed: Uint8Array }>`
    select ${sql.ref(id)}::text as id, ${sql.ref(column)} as sealed from ${sql.table(table)}
    where ${isOther(column, keys)} and ${sql.ref(id)}::text > ${after}
    order by ${sql.ref(id)}::text limit ${BATCH} for update`.execute(db)
  let rewrapped = 0
  for (const { id: row, sealed } of rows) {
    const moved = rewrapIfPossible(keys, sealed, { table, row, column })
    if (!moved) continue
    await sql`
      update ${sql.table(table)} set ${sql.ref(column)} = ${moved} where ${sql.ref(id)}::text = ${row}`.execute(db)
    rewrapped++
  }
  if (rewrapped > 0) await record(db, { ...change, target: `${table}.${column}` }, rewrapped, keys)
  return { rewrapped, unreadable: rows.length - rewrapped, last: rows.length < BATCH ? undefined : rows.at(-1)!.id }
}

function rewrapIfPossible(keys: Keyring, sealed: Uint8Array, place: Place): Buffer | undefined {
  try {
    return rewrap(keys, sealed, place)
  } catch (error) {
    if (error instanceof SealError) return undefined
    throw error
  }
}

async function countOthers(db: Db, keys: Keyring): Promise<number> {
  let count = 0
  for (const { table, column } of sealedColumns) {
    const { rows } = await sql<{ count: string }>`
      select count(*)::text as count from ${sql.table(table)} where ${isOther(column, keys)}`.execute(db)
    count += Number(rows[0]!.count)
  }
  return count
}

/**
 * Moves the canary where nothing is left to do. The row lock keeps everybody from sealing meanwhile, and what came in since
 * is moved under it: others who never stop sealing could hold this up for ever.
 */
async function finish(db: Db, keys: Keyring, change: Change, unreadable: number) {
  const { canary } = await db.selectFrom('gateway').select('canary').forUpdate().executeTakeFirstOrThrow()
  const remaining = (await countOthers(db, keys)) - unreadable
  if (remaining > BATCH) return { rewrapped: 0, unreadable, remaining }
  const last = await rewrapAll((work) => work(db), keys, change, Infinity)
  if (sealedKeyId(canary) !== keyId(keys.current)) {
    const moved = rewrap(keys, canary, canaryPlace)
    await db.updateTable('gateway').set({ canary: moved }).execute()
    await record(db, { ...change, target: 'gateway.canary' }, 1, keys)
  }
  return { ...last, remaining: 0 }
}

const record = (db: Db, change: Change, count: number, { current }: Keyring) =>
  recordRows(db, [{ ...rowOf(change, 'ok'), count, after: JSON.stringify({ key_id: keyId(current) }) }])
