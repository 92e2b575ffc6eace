import { setImmediate } from 'node:timers/promises'
import type { Db } from '../model/tables.ts'

/** Columns for lists and filters: all except arguments, result and stderr */
export const listColumns = [
  'id',
  'at',
  'kind',
  'caller_kind',
  'caller',
  'client',
  'endpoint',
  'via',
  'client_protocol',
  'server',
  'server_protocol',
  'session_mode',
  'item',
  'outcome',
  'total_ms',
  'upstream_ms',
  'queue_ms',
  'start_ms',
  'initialize_ms',
  'ended_in',
  'request_bytes',
  'response_bytes',
  'error',
  'request_id',
  'oauth_client',
  'held_since',
  'scopes'
] as const

/** Ids scanned by one statement: few at first, since the newest rows usually match; 2,000 take some ms at worst */
const RANGE_SIZE = { first: 250, max: 2_000 }
/** Rows returned by one statement; returning a row may cost as much as scanning twenty */
const MAX_ROWS = 128

/** Range of call ids */
export interface IdRange {
  readonly newest: string
  /** Lower bound, exclusive */
  readonly end: string
}

export interface ScanOptions<T> {
  readonly before?: string | undefined
  readonly limit: number
  /** Returns the matching rows of a range, newest first, `max` at most. */
  readonly read: (range: IdRange, max: number) => Promise<readonly T[]>
}

/**
 * Returns the newest matching rows, scanning range by range until `limit` rows are found or the table ends. Most
 * filters have no index, and a query of the embedded store blocks the process: each statement therefore scans few rows,
 * and the event loop runs between statements.
 */
export async function scanNewest<T extends { readonly id: string }>(db: Db, { before, limit, read }: ScanOptions<T>) {
  const found: T[] = []
  let size = RANGE_SIZE.first
  let newest = await findNewest(db, before)
  while (newest !== undefined) {
    const end = String(BigInt(newest) - BigInt(size))
    const max = Math.min(limit - found.length, MAX_ROWS)
    const rows = await read({ newest, end }, max)
    found.push(...rows)
    if (found.length >= limit) break
    const isCut = rows.length === max
    // Ids may have wide gaps, so the start of the next range is looked up.
    newest = await findNewest(db, isCut ? rows.at(-1)!.id : String(BigInt(end) + 1n))
    if (!isCut) size = Math.min(2 * size, RANGE_SIZE.max)
    await setImmediate()
  }
  return found
}

async function findNewest(db: Db, before: string | undefined): Promise<string | undefined> {
  let ids = db.selectFrom('calls').select('id')
  if (before !== undefined) ids = ids.where('id', '<', before)
  return (await ids.orderBy('id', 'desc').limit(1).executeTakeFirst())?.id
}

/** Selects the rows of a range, for cheap filters. */
export const selectRange = (db: Db, { newest, end }: IdRange) =>
  db.selectFrom('calls').select(listColumns).where('id', '<=', newest).where('id', '>', end)

/**
 * Wraps `rows` for expensive filters, so that they are evaluated only for the rows needed. `offset 0` keeps the planner
 * from moving the filters into the subquery and from choosing another index than that of the ids.
 */
export const filterInOrder = (db: Db, rows: ReturnType<typeof selectRange>) =>
  db.selectFrom(rows.orderBy('id', 'desc').offset(0).as('piece'))
