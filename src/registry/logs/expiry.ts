import { sql } from 'kysely'
import { oneAtATime } from '../../lib/one-at-a-time.ts'
import type { Db } from '../model/tables.ts'

/** Rows deleted by one statement, limited so that it does not block other queries for long */
const DELETE_BATCH_SIZE = 5_000

export interface Expiry {
  /** Unique advisory lock number, so that one process at a time deletes */
  readonly advisoryLock: number
  /** Maximum number of statements in one run */
  readonly maxStatements: number
  /** Deletes at most `limit` rows and returns their number. */
  deleteSome(db: Db, limit: number): Promise<number>
}

/** Deletes expired rows, up to a limit, unless another process is doing so. Returns their number. */
export async function deleteExpired(db: Db, { advisoryLock, maxStatements, deleteSome }: Expiry): Promise<number> {
  let deleted = 0
  for (let round = 0; round < maxStatements; round++) {
    const count = await db.transaction().execute(async (trx) => {
      const { rows } = await sql<{ free: boolean }>`select pg_try_advisory_xact_lock(${advisoryLock}) as free`.execute(
        trx
      )
      return rows[0]!.free ? deleteSome(trx, DELETE_BATCH_SIZE) : 0
    })
    deleted += count
    if (count < DELETE_BATCH_SIZE) break
  }
  return deleted
}

export interface Schedule {
  readonly everyMs: number
  readonly onError: (error: unknown) => void
}

const FIRST_RUN_MS = 60_000

/**
 * Runs `deleteExpired` periodically. The first run is early, for processes that are restarted often, but not immediate,
 * so that it does not slow down the start.
 */
export function scheduleExpiry(db: Db, expiry: Expiry, { everyMs, onError }: Schedule): { stop(): void } {
  const run = oneAtATime(() => deleteExpired(db, expiry), onError)
  const first = setTimeout(run, FIRST_RUN_MS).unref()
  const timer = setInterval(run, everyMs).unref()
  return {
    stop() {
      clearTimeout(first)
      clearInterval(timer)
    }
  }
}
