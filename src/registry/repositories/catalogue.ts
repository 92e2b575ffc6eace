import { sql } from 'kysely'
import { withErrorTranslation } from '../store/failures.ts'
import type { Db } from '../model/tables.ts'

export interface StoredCatalogue {
  /** Gzip of one entry per line */
  readonly entries: Uint8Array
  readonly readAt: Date
}

/** State of the catalogue of a registry, without its entries */
export interface CatalogueState {
  /** Null until the registry was read for the first time */
  readonly readAt: Date | null
  /** Failure of the last attempt */
  readonly problem: string | null
}

/** Catalogues read from MCP registries, shared by all replicas and kept over restarts. `source`: URL of the registry. */
export interface CatalogueStore {
  state(source: string): Promise<CatalogueState | undefined>
  load(source: string): Promise<StoredCatalogue | undefined>
  /**
   * Returns true if it is time to read the registry, and no replica has begun to: the last success is `freshMs` ago and
   * the last attempt `retryMs`. The caller then reads it.
   */
  tryStart(source: string, freshMs: number, retryMs: number): Promise<boolean>
  /** Stores the entries and deletes those of other registries. */
  save(source: string, entries: Uint8Array): Promise<void>
  /** Stores the failure of an attempt and keeps the entries. */
  fail(source: string, problem: string): Promise<void>
}

const now = sql<Date>`clock_timestamp()`
const isPast = (column: string, ms: number) =>
  sql<boolean>`(${sql.ref(column)} is null or ${sql.ref(column)} <= clock_timestamp() - ${ms}::float8 * interval '1 millisecond')`

export const createCatalogueStore = (db: Db): CatalogueStore => ({
  state: (source) =>
    withErrorTranslation(async () => {
      const row = await db
        .selectFrom('catalogue')
        .select(['read_at', 'problem'])
        .where('source', '=', source)
        .executeTakeFirst()
      return row && { readAt: row.read_at, problem: row.problem }
    }),
  load: (source) =>
    withErrorTranslation(async () => {
      const row = await db
        .selectFrom('catalogue')
        .select(['entries', 'read_at'])
        .where('source', '=', source)
        .executeTakeFirst()
      return row?.entries && row.read_at ? { entries: row.entries, readAt: row.read_at } : undefined
    }),
  tryStart: (source, freshMs, retryMs) =>
    withErrorTranslation(async () => {
      const row = await db
        .insertInto('catalogue')
        .values({ source, entries: null, tried_at: now, problem: null })
        .onConflict((conflict) =>
          conflict
            .column('source')
            .doUpdateSet({ tried_at: now })
            .where(isPast('catalogue.read_at', freshMs))
            .where(isPast('catalogue.tried_at', retryMs))
        )
        .returning('source')
        .executeTakeFirst()
      return row !== undefined
    }),
  save: (source, entries) =>
    withErrorTranslation(() =>
      db.transaction().execute(async (trx) => {
        await trx.deleteFrom('catalogue').where('source', '<>', source).execute()
        await trx
          .updateTable('catalogue')
          .set({ entries, read_at: now, problem: null })
          .where('source', '=', source)
          .execute()
      })
    ),
  fail: (source, problem) =>
    withErrorTranslation(async () => {
      await db.updateTable('catalogue').set({ problem }).where('source', '=', source).execute()
    })
})
