import { sql } from 'kysely'
import type { Expiry } from './logs/expiry.ts'
import { withErrorTranslation } from './store/failures.ts'
import { SESSION_ENDS_CHANNEL } from './store/listen.ts'
import type { Db } from './model/tables.ts'

/** Ended MCP session, identified by its id and principal */
export interface EndedSession {
  /** Signature of the session id, base64url */
  readonly mark: string
  readonly principal: string
}

/** Ended MCP session whose id has not expired yet */
export interface SessionEnd extends EndedSession {
  /** Expiry of the session id, in milliseconds since 1970 */
  readonly expiresAt: number
}

/** Store of ended sessions, shared by all replicas and later processes */
export interface SessionEnds {
  /** Stores and announces an ended session in one transaction. */
  add(end: SessionEnd): Promise<void>
  /** Returns ended sessions with unexpired ids, oldest first; beyond 100,000 each principal loses its oldest. */
  load(): Promise<EndedSession[]>
}

/** Formats the announcement of an ended session. */
const formatAnnouncement = ({ mark, principal }: EndedSession): string => `${mark} ${principal}`

/** Parses an announcement; undefined if the text is not one. */
export function parseAnnouncement(text: string): EndedSession | undefined {
  const at = text.indexOf(' ')
  return at < 0 ? undefined : { mark: text.slice(0, at), principal: text.slice(at + 1) }
}

/** Maximum per principal, beyond which the oldest are deleted; more than the sessions of a day in ordinary use */
const MAX_PER_PRINCIPAL = 10_000
const MAX_LOADED = 100_000

export const createSessionEnds = (db: Db, shouldAnnounce: boolean): SessionEnds => ({
  add: ({ mark, principal, expiresAt }) =>
    withErrorTranslation(() =>
      db.transaction().execute(async (trx) => {
        const row = { mark: Buffer.from(mark, 'base64url'), principal, expires_at: new Date(expiresAt) }
        await trx
          .insertInto('session_ends')
          .values(row)
          .onConflict((conflict) => conflict.doNothing())
          .execute()
        if (shouldAnnounce)
          await sql`select pg_notify(${SESSION_ENDS_CHANNEL}, ${formatAnnouncement({ mark, principal })})`.execute(trx)
      })
    ),
  load: () =>
    withErrorTranslation(async () => {
      const { rows } = await sql<{ mark: Uint8Array; principal: string }>`
        select mark, principal from (
          select mark, principal, ended_at, row_number() over (partition by principal order by ended_at desc) as place
          from session_ends where expires_at > now() order by place limit ${MAX_LOADED}
        ) ends order by ended_at`.execute(db)
      return rows.map(({ mark, principal }) => ({ mark: Buffer.from(mark).toString('base64url'), principal }))
    })
})

async function deleteExpired(db: Db, limit: number): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    delete from session_ends where mark in (
      select mark from session_ends where expires_at <= now() limit ${limit}
    )`.execute(db)
  return Number(numAffectedRows)
}

/** Deletes the oldest rows of a principal beyond its limit, found by the index. */
async function deleteOldest(db: Db, principal: string, limit: number): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    delete from session_ends where mark in (
      select mark from session_ends where principal = ${principal}
      order by ended_at desc offset ${MAX_PER_PRINCIPAL} limit ${limit}
    )`.execute(db)
  return Number(numAffectedRows)
}

/** Deletes rows with expired ids and rows beyond a principal's limit. Counts in index order, without sorting. */
export const sessionEndExpiry: Expiry = {
  advisoryLock: 7_203_403,
  maxStatements: 20,
  async deleteSome(db, limit) {
    let deleted = await deleteExpired(db, limit)
    const { rows } = await sql<{ principal: string }>`
      select principal from session_ends group by principal having count(*) > ${MAX_PER_PRINCIPAL}`.execute(db)
    for (const { principal } of rows) {
      if (deleted < limit) deleted += await deleteOldest(db, principal, limit - deleted)
    }
    return deleted
  }
}
