import { sql } from 'kysely'
import { SERVER_PREFIX, withoutServerPrefix } from '../../domain/server-error.ts'
import type { CallCause, CausesQuery } from '../../schemas/call.ts'
import { filterInOrder, selectRange, scanNewest, type IdRange } from './call-scan.ts'
import type { Db } from '../model/tables.ts'

/** Outcomes that charts and filters count as failures (dashboard.md#status-and-outcomes) */
export const failedOutcomes = ['tool_error', 'failed', 'timeout'] as const

/** Number of most recent failed calls that are analysed */
const MAX_CALLS = 1_000
const MAX_CAUSES = 20

const QUOTED = `"[^"]*"|'[^']*'`
const IDS = '\\y[0-9a-f]{8,}(-[0-9a-f]{4,})*\\y'

/**
 * Cause of a failed call: its error with quoted texts, ids and numbers replaced by placeholders, or its outcome if it
 * has no error
 */
const causeOf = sql<string>`
  coalesce(
    regexp_replace(
      regexp_replace(
        regexp_replace(
          regexp_replace(error, ${sql.lit(SERVER_PREFIX)}, ''),
          ${sql.lit(QUOTED)}, '…', 'g'),
        ${sql.lit(IDS)}, '…', 'gi'),
      '[0-9]+', 'n', 'g'),
    outcome)`

/**
 * Matches failed calls with the given cause. The LIKE pattern of its fixed parts is tested first, at a tenth of the
 * cost.
 */
export function matchesCause(cause: string) {
  const pattern = `%${cause.replace(/[\\%_]/g, '\\$&').replace(/[n…]+/g, '%')}`
  return sql<boolean>`
    case when error is null or error like ${pattern}::text then ${causeOf} = ${cause}::text else false end`
}

/** Returns failed calls grouped by server and cause, most frequent first. */
export async function readCauses(db: Db, { from, endpoint }: CausesQuery): Promise<CallCause[]> {
  const read = (range: IdRange, max: number) => {
    let failed = selectRange(db, range).where('outcome', 'in', failedOutcomes)
    if (endpoint !== undefined) failed = failed.where('endpoint', '=', endpoint)
    let fitting = filterInOrder(db, failed).select(['id', 'server', 'outcome', 'error', causeOf.as('cause')])
    if (from !== undefined) fitting = fitting.where('at', '>=', new Date(from))
    return fitting.orderBy('id', 'desc').limit(max).execute()
  }
  const causes = new Map<string, CallCause>()
  for (const { server, outcome, error, cause } of await scanNewest(db, { limit: MAX_CALLS, read })) {
    const key = JSON.stringify([server, cause])
    const known = causes.get(key)
    if (known) known.calls++
    else causes.set(key, { ...withServer(server), cause, calls: 1, outcome, ...withError(error) })
  }
  // Rows arrive newest first, and the stable sort keeps that order among equally frequent causes.
  return [...causes.values()].sort((a, b) => b.calls - a.calls).slice(0, MAX_CAUSES)
}

const withServer = (server: string | null) => (server === null ? {} : { server })
const withError = (error: string | null) => (error === null ? {} : { error: withoutServerPrefix(error) })
