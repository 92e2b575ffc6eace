import { setImmediate } from 'node:timers/promises'
import type { Db } from './tables.ts'

/** Members of a call that lists show and filters look at: all but its contents. */
export const listed = [
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
  'request_id'
] as const

/** Numbers that one statement looks at: few at first, since mostly the newest fit; 2,000 take some ms at worst. */
const SIZE = { first: 250, most: 2_000 }
/** Rows of one statement's answer, of which each may cost as much as twenty that are only looked at. */
const ANSWER = 128

/** Calls whose numbers follow one another. */
export interface Piece {
  readonly newest: string
  /** Not in it any more. */
  readonly end: string
}

export interface Scan<T> {
  readonly before?: string | undefined
  readonly limit: number
  /** Of the rows of the piece those that fit, the newest first, `most` at most. */
  readonly read: (piece: Piece, most: number) => Promise<readonly T[]>
}

/**
 * The newest rows that fit, piece by piece until there are `limit` of them or no more. No index helps most filters, and
 * in the embedded store a query stops the process: so none looks at many rows, and there is a turn of the event loop
 * between two.
 */
export async function scanNewest<T extends { readonly id: string }>(db: Db, { before, limit, read }: Scan<T>) {
  const found: T[] = []
  let size = SIZE.first
  let newest = await findNewest(db, before)
  while (newest !== undefined) {
    const end = String(BigInt(newest) - BigInt(size))
    const most = Math.min(limit - found.length, ANSWER)
    const rows = await read({ newest, end }, most)
    found.push(...rows)
    if (found.length >= limit) break
    const isCut = rows.length === most
    // there are gaps, and they may be wide: where the next piece begins is looked up
    newest = await findNewest(db, isCut ? rows.at(-1)!.id : String(BigInt(end) + 1n))
    if (!isCut) size = Math.min(2 * size, SIZE.most)
    await setImmediate()
  }
  return found
}

async function findNewest(db: Db, before: string | undefined): Promise<string | undefined> {
  let ids = db.selectFrom('calls').select('id')
  if (before !== undefined) ids = ids.where('id', '<', before)
  return (await ids.orderBy('id', 'desc').limit(1).executeTakeFirst())?.id
}

/** The rows of a piece, for filters that cost little. */
export const rowsOf = (db: Db, { newest, end }: Piece) =>
  db.selectFrom('calls').select(listed).where('id', '<=', newest).where('id', '>', end)

/**
 * For filters that cost much, which then see no more rows than are asked for. `offset 0` keeps the planner from moving
 * them, and from reading by another index than that of the ids.
 */
export const inOrder = (db: Db, rows: ReturnType<typeof rowsOf>) =>
  db.selectFrom(rows.orderBy('id', 'desc').offset(0).as('piece'))
