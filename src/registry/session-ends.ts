import { sql } from 'kysely'
import type { Expiry } from './expiry.ts'
import { translating } from './failures.ts'
import { ANNOUNCEMENTS } from './listen.ts'
import type { Db } from './tables.ts'

/** An ended session, as its id and its principal tell. */
export interface EndedSession {
  /** Signature of the session's id, base64url. */
  readonly mark: string
  readonly principal: string
}

/** The end of an MCP session whose id would be good for longer. */
export interface SessionEnd extends EndedSession {
  /** When the id expires, milliseconds since 1970. */
  readonly expiresAt: number
}

/** Ended sessions, for every replica and for those that start later. */
export interface SessionEnds {
  /** Stores and announces it, both or neither. */
  add(end: SessionEnd): Promise<void>
  /** All whose ids have not expired, the oldest first; past 100,000 each principal loses its oldest. */
  load(): Promise<EndedSession[]>
}

/** An announcement of an end. */
const toAnnouncement = ({ mark, principal }: EndedSession): string => `${mark} ${principal}`

/** Undefined where the text is none. */
export function readAnnouncement(text: string): EndedSession | undefined {
  const at = text.indexOf(' ')
  return at < 0 ? undefined : { mark: text.slice(0, at), principal: text.slice(at + 1) }
}

/** Of one principal, past which its oldest go: more than it may have sessions in a day of ordinary use. */
const KEPT_PER_PRINCIPAL = 10_000
const LOADED = 100_000

export const createSessionEnds = (db: Db, announces: boolean): SessionEnds => ({
  add: ({ mark, principal, expiresAt }) =>
    translating(() =>
      db.transaction().execute(async (trx) => {
        const row = { mark: Buffer.from(mark, 'base64url'), principal, expires_at: new Date(expiresAt) }
        await trx
          .insertInto('session_ends')
          .values(row)
          .onConflict((conflict) => conflict.doNothing())
          .execute()
        if (announces)
          await sql`select pg_notify(${ANNOUNCEMENTS}, ${toAnnouncement({ mark, principal })})`.execute(trx)
      })
    ),
  load: () =>
    translating(async () => {
      const { rows } = await sql<{ mark: Uint8Array; principal: string }>`
        select mark, principal from (
          select mark, principal, ended_at, row_number() over (partition by principal order by ended_at desc) as place
          from session_ends where expires_at > now() order by place limit ${LOADED}
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

/** The oldest of one principal past its share, found by the index. */
async function deleteOldest(db: Db, principal: string, limit: number): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    delete from session_ends where mark in (
      select mark from session_ends where principal = ${principal}
      order by ended_at desc offset ${KEPT_PER_PRINCIPAL} limit ${limit}
    )`.execute(db)
  return Number(numAffectedRows)
}

/** Rows whose ids have expired, and those past a principal's share. Counted in the order of an index: nothing is sorted. */
export const sessionEndExpiry: Expiry = {
  lock: 7_203_403,
  rounds: 20,
  async deleteSome(db, limit) {
    let deleted = await deleteExpired(db, limit)
    const { rows } = await sql<{ principal: string }>`
      select principal from session_ends group by principal having count(*) > ${KEPT_PER_PRINCIPAL}`.execute(db)
    for (const { principal } of rows) {
      if (deleted < limit) deleted += await deleteOldest(db, principal, limit - deleted)
    }
    return deleted
  }
}
