import { sql } from 'kysely'
import { SERVER_PREFIX, withoutServer } from '../domain/server-error.ts'
import type { CallCause, CausesQuery } from '../schemas/call.ts'
import type { Db } from './tables.ts'

/** Calls of which charts and filters say that they failed (design of the dashboard, 3.3). */
export const failedOutcomes = ['tool_error', 'failed', 'timeout'] as const

/** Of so many failed calls, the newest. In the embedded store a query stops the process. */
const MOST_CALLS = 1_000
const MOST_CAUSES = 20

const QUOTED = `"[^"]*"|'[^']*'`
const IDS = '\\y[0-9a-f]{8,}(-[0-9a-f]{4,})*\\y'

/** What calls that failed alike have in common: their error but for what is quoted, ids and numbers, or their outcome. */
export const causeOf = sql<string>`
  coalesce(
    regexp_replace(
      regexp_replace(
        regexp_replace(
          regexp_replace(error, ${sql.lit(SERVER_PREFIX)}, ''),
          ${sql.lit(QUOTED)}, '…', 'g'),
        ${sql.lit(IDS)}, '…', 'gi'),
      '[0-9]+', 'n', 'g'),
    outcome)`

/** Why calls fail: by server and cause, the most frequent first. */
export async function readCauses(db: Db, { from, endpoint }: CausesQuery): Promise<CallCause[]> {
  let failed = db.selectFrom('calls').select(['id', 'server', 'outcome', 'error', causeOf.as('cause')])
  failed = failed.where('outcome', 'in', failedOutcomes)
  if (from !== undefined) failed = failed.where('at', '>=', new Date(from))
  if (endpoint !== undefined) failed = failed.where('endpoint', '=', endpoint)
  const newest = failed.orderBy('id', 'desc').limit(MOST_CALLS).as('newest')
  const rows = await db
    .selectFrom(newest)
    .select([
      'server',
      'cause',
      sql<number>`count(*)::integer`.as('calls'),
      sql<CallCause['outcome']>`(array_agg(outcome order by id desc))[1]`.as('outcome'),
      sql<string | null>`(array_agg(error order by id desc))[1]`.as('error')
    ])
    .groupBy(['server', 'cause'])
    .orderBy('calls', 'desc')
    .orderBy(sql`max(id)`, 'desc')
    .limit(MOST_CAUSES)
    .execute()
  return rows.map(({ server, error, ...row }) => ({
    ...row,
    ...(server === null ? {} : { server }),
    ...(error === null ? {} : { error: withoutServer(error) })
  }))
}
