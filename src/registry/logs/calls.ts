import { sql } from 'kysely'
import { splitName } from '../../domain/names.ts'
import type { CallEntry, CallFilter } from '../../schemas/call.ts'
import { failedOutcomes, matchesCause } from './call-causes.ts'
import { filterInOrder, listColumns, selectRange, scanNewest, type IdRange } from './call-scan.ts'
import type { Expiry } from './expiry.ts'
import type { Db } from '../model/tables.ts'

type StoredCall = Omit<CallEntry, 'id' | 'at'>

/** Columns that lists do not include */
const contentColumns = ['arguments', 'result', 'stderr'] as const

/** Most frequent values in development mode. A row that omits them costs a fifth less to store. */
export const defaultValues = {
  kind: 'tool',
  caller_kind: 'development',
  caller: 'development',
  endpoint: '/mcp',
  outcome: 'ok'
} as const

/**
 * Protocol revision implied if a row of a stateless caller omits it. Must not change when newer revisions appear, since
 * stored rows depend on it.
 */
export const IMPLIED_REVISION = '2026-07-28'

type IsOptional<K extends keyof StoredCall> = K extends keyof typeof defaultValues
  ? true
  : object extends Pick<StoredCall, K>
    ? true
    : false

/** Completed call to be stored; its texts are truncated and storable. `at`: milliseconds since 1970. */
export type CallRow = { readonly at: number } & {
  readonly [K in keyof StoredCall]: IsOptional<K> extends true ? StoredCall[K] | undefined : StoredCall[K]
}

const orDefault = (column: keyof typeof defaultValues) =>
  sql`coalesce(${sql.ref(column)}, ${sql.lit(defaultValues[column])})`

/**
 * Inserts the calls of a JSON array of `CallRow`, in its order, at a third of the CPU of one array per column, which the
 * driver serialises in JavaScript.
 */
export async function insertCalls(db: Db, json: string): Promise<void> {
  await sql`
    insert into calls (
      at, kind, caller_kind, caller, client, endpoint, via, client_protocol, server, server_protocol, session_mode, item,
      outcome, total_ms, upstream_ms, queue_ms, start_ms, initialize_ms, ended_in, request_bytes, response_bytes, error,
      request_id, arguments, result, stderr, oauth_client,
      scopes, held_since
    )
    select
      to_timestamp(at / 1000), ${orDefault('kind')}, ${orDefault('caller_kind')}, ${orDefault('caller')}, client,
      ${orDefault('endpoint')}, via, client_protocol, server, server_protocol, session_mode, item,
      ${orDefault('outcome')}, total_ms, upstream_ms, queue_ms, start_ms, initialize_ms, ended_in,
      request_bytes, response_bytes, error, request_id, arguments, result, stderr, oauth_client, scopes,
      held_since
    from json_to_recordset(${json}::json) as r(
      at double precision, kind text, caller_kind text, caller text, client text, endpoint text, via text,
      client_protocol text, server text, server_protocol text, session_mode text, item text, outcome text,
      total_ms real, upstream_ms real, queue_ms integer, start_ms integer, initialize_ms integer, ended_in text,
      request_bytes integer, response_bytes integer, error text, request_id text, arguments text, result text,
      stderr text, oauth_client text, scopes text, held_since timestamptz
    )`.execute(db)
}

/** `CallFilter` with the members that requests cannot set */
export type CallQuery = CallFilter & { readonly limit: number; readonly caller_kind?: CallEntry['caller_kind'] }

/** Returns matching calls, newest first, without arguments, result and stderr. */
export async function readCalls(db: Db, query: CallQuery): Promise<CallEntry[]> {
  const { before, limit } = query
  const read = (range: IdRange, max: number) =>
    selectMatching(db, range, query).orderBy('id', 'desc').limit(max).execute()
  return (await scanNewest(db, { before, limit, read })).map(toEntry)
}

function selectMatching(db: Db, range: IdRange, query: CallQuery) {
  const { server, tool, kind, outcome, failed, cause, caller, endpoint, text, min_ms: least, from, to } = query
  let rows = selectRange(db, range)
  if (server !== undefined) rows = rows.where('server', '=', server)
  if (tool !== undefined) rows = rows.where(matchesTool(tool))
  if (kind !== undefined) rows = rows.where('kind', '=', kind)
  if (outcome !== undefined) rows = rows.where('outcome', '=', outcome)
  if (failed !== undefined) rows = rows.where('outcome', failed ? 'in' : 'not in', failedOutcomes)
  if (cause !== undefined) rows = rows.where('outcome', 'in', failedOutcomes)
  if (caller !== undefined) rows = rows.where('caller', '=', caller)
  if (query.caller_kind !== undefined) rows = rows.where('caller_kind', '=', query.caller_kind)
  if (endpoint !== undefined) rows = rows.where('endpoint', '=', endpoint)
  if (least !== undefined) rows = rows.where(sql<boolean>`total_ms >= ${least}::double precision`)
  let matching = filterInOrder(db, rows).select(listColumns)
  // Filters by time after the id range: the index on time would match too many rows.
  if (from !== undefined) matching = matching.where('at', '>=', new Date(from))
  if (to !== undefined) matching = matching.where('at', '<', new Date(to))
  // PostgreSQL evaluates filters of equal cost in this order.
  if (text !== undefined) matching = matching.where(containsText(text))
  if (cause !== undefined) matching = matching.where(matchesCause(cause))
  return matching
}

/** Matches rows that contain the text in any column shown in lists. */
const containsText = (text: string) => sql<boolean>`
  strpos(lower(concat_ws(' ', server || '__' || item, item, caller, client, error)), lower(${text}::text)) > 0`

/**
 * Matches calls of a tool by its qualified name; calls of a tool unavailable to the caller store the whole name as
 * item.
 */
function matchesTool(qualified: string) {
  const { server, name } = splitName(qualified) ?? { server: null, name: null }
  return sql<boolean>`kind = 'tool' and (
    (server = ${server}::text and item = ${name}::text) or (server is null and item = ${qualified}))`
}

/** Part of a call on which policies decide; `arguments` is null if they were not recorded. */
export interface DecidedCall extends Pick<CallEntry, 'id' | 'kind' | 'caller_kind' | 'caller' | 'endpoint'> {
  readonly at: Date
  readonly server: string | null
  readonly item: string | null
  readonly oauth_client: string | null
  readonly scopes: string | null
  readonly arguments: string | null
}

/** Returns the `limit` newest calls below an id, newest first. */
export function readDecidedCalls(db: Db, before: string | undefined, limit: number): Promise<DecidedCall[]> {
  const read = (range: IdRange, max: number) =>
    selectRange(db, range).select('arguments').orderBy('id', 'desc').limit(max).execute()
  return scanNewest(db, { before, limit, read })
}

export async function findCall(db: Db, id: string): Promise<CallEntry | undefined> {
  const query = db.selectFrom('calls').select([...listColumns, ...contentColumns])
  const row = await query.where('id', '=', id).executeTakeFirst()
  return row && toEntry(row)
}

type Nullable<T> = { [K in keyof T]: T[K] | null }

type Row = Nullable<Omit<CallEntry, 'at' | 'held_since'>> & { readonly at: Date; readonly held_since: Date | null }

/** Restores the values that a row omits because they are implied. */
function impliedValues({ via, client_protocol, server_protocol, session_mode, upstream_ms, ended_in }: Row) {
  const clientProtocol = client_protocol ?? (via === 'modern' ? IMPLIED_REVISION : null)
  const reachedServer = (upstream_ms ?? 0) > 0
  return {
    client_protocol: clientProtocol,
    server_protocol: server_protocol ?? (reachedServer && ended_in === null ? clientProtocol : null),
    session_mode: session_mode ?? (reachedServer ? 'stateless' : null)
  }
}

/** Converts a row to an entry; null members are omitted. */
function toEntry(row: Row): CallEntry {
  const held_since = row.held_since?.toISOString() ?? null
  const members = { ...row, ...impliedValues(row), at: row.at.toISOString(), held_since }
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null)) as unknown as CallEntry
}

export interface Retention {
  readonly days: number
  /** Maximum number of calls, counted by id; ids of failed inserts count too */
  readonly rows: number
}

/**
 * Deletes calls by count and by age separately, so that each finds its rows at one end of an index. `newer` returns the
 * number of calls that are newer than all rows of the table (`call-store.ts`).
 */
export const callExpiry = ({ days, rows }: Retention, newer: () => number = () => 0): Expiry => ({
  advisoryLock: 7_203_402,
  maxStatements: 100,
  async deleteSome(db, limit) {
    const left = Math.max(0, rows - newer())
    const result = await sql`
      delete from calls where id = any(array(
        (select id from calls where id <= (select max(id) from calls) - ${left}::bigint order by id limit ${limit})
        union
        (select id from calls where at < now() - make_interval(days => ${days}) order by at limit ${limit})
      ))`.execute(db)
    return Number(result.numAffectedRows ?? 0n)
  }
})
