import { sql } from 'kysely'
import type { Expiry } from './logs/expiry.ts'

/** Deletes the pins of servers that were removed longer ago than the audit log reaches. */
export const retiredPinExpiry = (days: number): Expiry => ({
  advisoryLock: 7_203_415,
  maxStatements: 20,
  async deleteSome(db, limit) {
    const { numAffectedRows } = await sql`
      delete from retired_servers where (name, kind, item) in (
        select name, kind, item from retired_servers
        where at < now() - make_interval(days => ${days}) order by at limit ${limit}
      )`.execute(db)
    return Number(numAffectedRows ?? 0n)
  }
})
