import { sql } from 'kysely'
import type { Db } from './tables.ts'

/** Rows that one statement deletes: it must not hold up others. */
const DELETED_AT_ONCE = 5_000

export interface Expiry {
  /** Any number that nothing else locks: one process at a time deletes. */
  readonly lock: number
  /** Statements that one run makes at most. */
  readonly rounds: number
  /** Deletes at most so many rows; how many it were. */
  deleteSome(db: Db, limit: number): Promise<number>
}

/** Deletes what is no longer kept, a bounded number of rows; one process at a time does. How many it were. */
export async function expire(db: Db, { lock, rounds, deleteSome }: Expiry): Promise<number> {
  let deleted = 0
  for (let round = 0; round < rounds; round++) {
    const count = await db.transaction().execute(async (trx) => {
      const { rows } = await sql<{ free: boolean }>`select pg_try_advisory_xact_lock(${lock}) as free`.execute(trx)
      return rows[0]!.free ? deleteSome(trx, DELETED_AT_ONCE) : 0
    })
    deleted += count
    if (count < DELETED_AT_ONCE) break
  }
  return deleted
}

export interface Schedule {
  readonly everyMs: number
  readonly onError: (error: unknown) => void
}

const FIRST_MS = 60_000

/** The first time soon, for a process that never lives long; not at once, for one that must start quickly. */
export function expireRegularly(db: Db, expiry: Expiry, { everyMs, onError }: Schedule): { stop(): void } {
  let isRunning = false
  const run = () => {
    if (isRunning) return
    isRunning = true
    void expire(db, expiry)
      .catch(onError)
      .finally(() => {
        isRunning = false
      })
  }
  const first = setTimeout(run, FIRST_MS).unref()
  const later = setInterval(run, everyMs).unref()
  return {
    stop() {
      clearTimeout(first)
      clearInterval(later)
    }
  }
}
