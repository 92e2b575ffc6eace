import { sql } from 'kysely'
import type { Expiry } from './expiry.ts'
import { translating } from './failures.ts'
import { ANNOUNCEMENTS } from './listen.ts'
import type { Db } from './tables.ts'

/** The end of an MCP session whose id would be good for longer. */
export interface SessionEnd {
  /** Signature of the session's id, base64url. */
  readonly mark: string
  readonly principal: string
  /** When the id expires, milliseconds since 1970. */
  readonly expiresAt: number
}

/** Ended sessions, for every replica and for those that start later. */
export interface SessionEnds {
  /** Stores it and announces its mark, both or neither. */
  add(end: SessionEnd): Promise<void>
  /** Marks of all whose ids have not expired, the oldest first; at most 100,000. */
  load(): Promise<string[]>
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
        if (announces) await sql`select pg_notify(${ANNOUNCEMENTS}, ${mark})`.execute(trx)
      })
    ),
  load: () =>
    translating(async () => {
      const rows = await db
        .selectFrom('session_ends')
        .select('mark')
        .where(sql<boolean>`expires_at > now()`)
        .orderBy('ended_at', 'desc')
        .limit(LOADED)
        .execute()
      return rows.map(({ mark }) => Buffer.from(mark).toString('base64url')).toReversed()
    })
})

/** Rows whose ids have expired, and those past a principal's share. */
export const sessionEndExpiry: Expiry = {
  lock: 7_203_403,
  rounds: 20,
  async deleteSome(db, limit) {
    const { numAffectedRows = 0n } = await sql`
      delete from session_ends where mark in (
        select mark from (
          select mark, expires_at, row_number() over (partition by principal order by ended_at desc) as place
          from session_ends
        ) ends where expires_at <= now() or place > ${KEPT_PER_PRINCIPAL} limit ${limit}
      )`.execute(db)
    return Number(numAffectedRows)
  }
}
