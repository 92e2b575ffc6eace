import { sql } from 'kysely'
import type { Expiry } from './logs/expiry.ts'
import type { Db } from './model/tables.ts'
import { withErrorTranslation } from './store/failures.ts'

/** A text that is kept for its caller. */
export interface KeptResult {
  /** SHA-256 of the handle */
  readonly hash: Uint8Array
  /** Key of the caller */
  readonly caller: string
  readonly sealed: Uint8Array
}

/** Long results of tools, kept for an hour. Reject with AppError if the database is unreachable. */
export interface ResultStore {
  /** Keeps texts; those that a caller stored first go if it then has too much. */
  add(results: readonly KeptResult[]): Promise<void>
  /** Returns a text of this caller that has not expired. */
  find(hash: Uint8Array, caller: string): Promise<Uint8Array | undefined>
}

const MAX_AGE_SECONDS = 3_600
/** Bytes that are kept for one caller */
export const MAX_RESULT_BYTES = 67_108_864

export const createResultStore = (db: Db, maxBytes = MAX_RESULT_BYTES): ResultStore => ({
  add: (results) =>
    withErrorTranslation(async () => {
      const [first] = results
      if (!first) return
      const expires_at = sql<Date>`now() + make_interval(secs => ${MAX_AGE_SECONDS})`
      const rows = results.map(({ hash, caller, sealed }) => ({
        ...{ hash: Buffer.from(hash), caller, sealed: Buffer.from(sealed) },
        bytes: sealed.length,
        expires_at
      }))
      await db.insertInto('results').values(rows).execute()
      await sql`
        delete from results where hash in (
          select hash from (
            select hash, sum(bytes) over (order by created_at desc, hash) as kept from results where caller = ${first.caller}
          ) as own where kept > ${maxBytes})`.execute(db)
    }),
  find: (hash, caller) =>
    withErrorTranslation(async () => {
      const row = await db
        .selectFrom('results')
        .select('sealed')
        .where('hash', '=', Buffer.from(hash))
        .where('caller', '=', caller)
        .where('expires_at', '>', sql<Date>`now()`)
        .executeTakeFirst()
      return row?.sealed
    })
})

/** Deletes expired rows. */
export const resultExpiry: Expiry = {
  advisoryLock: 7_203_413,
  maxStatements: 20,
  async deleteSome(db, limit) {
    const { numAffectedRows } = await sql`
      delete from results where hash in (select hash from results where expires_at <= now() limit ${limit})`.execute(db)
    return Number(numAffectedRows ?? 0n)
  }
}
