import { sql } from 'kysely'
import { splitName } from '../domain/names.ts'
import type { CallEntry, CallFilter } from '../schemas/call.ts'
import { failedOutcomes, hasCause } from './call-causes.ts'
import { inOrder, listed, rowsOf, scanNewest, type Piece } from './call-scan.ts'
import type { Expiry } from './expiry.ts'
import type { Db } from './tables.ts'

type Stored = Omit<CallEntry, 'id' | 'at'>

/** Members that are not shown in lists. */
const contents = ['arguments', 'result', 'stderr'] as const

/** What most calls have in common in development mode. Where a row leaves it out it costs a fifth less to store. */
export const usual = {
  kind: 'tool',
  caller_kind: 'development',
  caller: 'development',
  endpoint: '/mcp',
  outcome: 'ok'
} as const

/** Revision that rows of modern callers leave out. It stays this one when there are newer ones: rows keep their meaning. */
export const UNSAID_REVISION = '2026-07-28'

type MayLack<K extends keyof Stored> = K extends keyof typeof usual
  ? true
  : object extends Pick<Stored, K>
    ? true
    : false

/** A call that is over, as it is stored: its texts are cut, and can be stored. `at`: milliseconds since 1970. */
export type CallRow = { readonly at: number } & {
  readonly [K in keyof Stored]: MayLack<K> extends true ? Stored[K] | undefined : Stored[K]
}

const orUsual = (column: keyof typeof usual) => sql`coalesce(${sql.ref(column)}, ${sql.lit(usual[column])})`

/** As one JSON text: a third of the CPU of an array for each column, which the driver writes by hand. */
export async function recordCalls(db: Db, rows: readonly CallRow[]): Promise<void> {
  await sql`
    insert into calls (
      at, kind, caller_kind, caller, client, endpoint, via, client_protocol, server, server_protocol, session_mode, item,
      outcome, total_ms, upstream_ms, queue_ms, start_ms, initialize_ms, ended_in, request_bytes, response_bytes, error,
      request_id, arguments, result, stderr
    )
    select
      to_timestamp(at / 1000), ${orUsual('kind')}, ${orUsual('caller_kind')}, ${orUsual('caller')}, client,
      ${orUsual('endpoint')}, via, client_protocol, server, server_protocol, session_mode, item,
      ${orUsual('outcome')}, total_ms, upstream_ms, queue_ms, start_ms, initialize_ms, ended_in,
      request_bytes, response_bytes, error, request_id, arguments, result, stderr
    from json_to_recordset(${JSON.stringify(rows)}::json) as r(
      at double precision, kind text, caller_kind text, caller text, client text, endpoint text, via text,
      client_protocol text, server text, server_protocol text, session_mode text, item text, outcome text,
      total_ms real, upstream_ms real, queue_ms integer, start_ms integer, initialize_ms integer, ended_in text,
      request_bytes integer, response_bytes integer, error text, request_id text, arguments text, result text,
      stderr text
    )`.execute(db)
}

/** The newest first, without `contents`. */
export async function readCalls(db: Db, query: CallFilter & { readonly limit: number }): Promise<CallEntry[]> {
  const { before, limit } = query
  const read = (piece: Piece, most: number) => filtered(db, piece, query).orderBy('id', 'desc').limit(most).execute()
  return (await scanNewest(db, { before, limit, read })).map(toEntry)
}

function filtered(db: Db, piece: Piece, query: CallFilter) {
  const { server, tool, kind, outcome, failed, cause, caller, endpoint, text, min_ms: least, from, to } = query
  let rows = rowsOf(db, piece)
  if (server !== undefined) rows = rows.where('server', '=', server)
  if (tool !== undefined) rows = rows.where(isTool(tool))
  if (kind !== undefined) rows = rows.where('kind', '=', kind)
  if (outcome !== undefined) rows = rows.where('outcome', '=', outcome)
  if (failed !== undefined) rows = rows.where('outcome', failed ? 'in' : 'not in', failedOutcomes)
  if (cause !== undefined) rows = rows.where('outcome', 'in', failedOutcomes)
  if (caller !== undefined) rows = rows.where('caller', '=', caller)
  if (endpoint !== undefined) rows = rows.where('endpoint', '=', endpoint)
  if (least !== undefined) rows = rows.where(sql<boolean>`total_ms >= ${least}::double precision`)
  let fitting = inOrder(db, rows).select(listed)
  // there is an index of times, which finds too many
  if (from !== undefined) fitting = fitting.where('at', '>=', new Date(from))
  if (to !== undefined) fitting = fitting.where('at', '<', new Date(to))
  // of those that PostgreSQL takes for equally dear the first is looked at first
  if (text !== undefined) fitting = fitting.where(holds(text))
  if (cause !== undefined) fitting = fitting.where(hasCause(cause))
  return fitting
}

/** Wherever a row of the list shows it. */
const holds = (text: string) => sql<boolean>`
  strpos(lower(concat_ws(' ', server || '__' || item, item, caller, client, error)), lower(${text}::text)) > 0`

/** Of what a caller does not have, the whole name is the item's. */
function isTool(qualified: string) {
  const { server, name } = splitName(qualified) ?? { server: null, name: null }
  return sql<boolean>`kind = 'tool' and (
    (server = ${server}::text and item = ${name}::text) or (server is null and item = ${qualified}))`
}

export async function findCall(db: Db, id: string): Promise<CallEntry | undefined> {
  const query = db.selectFrom('calls').select([...listed, ...contents])
  const row = await query.where('id', '=', id).executeTakeFirst()
  return row && toEntry(row)
}

type Nullable<T> = { [K in keyof T]: T[K] | null }

type Row = Nullable<Omit<CallEntry, 'at'>> & { readonly at: Date }

/** What a row leaves out because it goes without saying. */
function implied({ via, client_protocol, server_protocol, session_mode, upstream_ms, ended_in }: Row) {
  const spoken = client_protocol ?? (via === 'modern' ? UNSAID_REVISION : null)
  const wasMeantForServer = (upstream_ms ?? 0) > 0
  return {
    client_protocol: spoken,
    server_protocol: server_protocol ?? (wasMeantForServer && ended_in === null ? spoken : null),
    session_mode: session_mode ?? (wasMeantForServer ? 'stateless' : null)
  }
}

/** Members that a row does not have are absent, not null. */
function toEntry(row: Row): CallEntry {
  const members = { ...row, ...implied(row), at: row.at.toISOString() }
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null)) as unknown as CallEntry
}

export interface Retention {
  readonly days: number
  /** Of the newest calls; what failed to be stored has had a number too. */
  readonly rows: number
}

/** By number and by time apart: each finds its rows at one end of an index. */
export const callExpiry = ({ days, rows }: Retention): Expiry => ({
  lock: 7_203_402,
  rounds: 100,
  async deleteSome(db, limit) {
    const result = await sql`
      delete from calls where id = any(array(
        (select id from calls where id <= (select max(id) from calls) - ${rows}::bigint order by id limit ${limit})
        union
        (select id from calls where at < now() - make_interval(days => ${days}) order by at limit ${limit})
      ))`.execute(db)
    return Number(result.numAffectedRows ?? 0n)
  }
})
