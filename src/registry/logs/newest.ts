import { sql } from 'kysely'
import type { Db } from '../model/tables.ts'

/** Marks that change when any replica adds something. */
export interface NewestRows {
  readonly calls: string | null
  readonly audit: string | null
  readonly approvals: string | null
  /** Of counts of observed policies */
  readonly policies: string | null
}

/** Reads the marks, each at the end of an index or of a small table. */
export async function readNewest(db: Db): Promise<NewestRows> {
  const { rows } = await sql<NewestRows>`
    select
      (select max(id)::text from calls) as calls,
      (select max(id)::text from audit_log) as audit,
      (select max(at)::text from approvals) as approvals,
      (select max(last_at)::text from policy_counts) as policies`.execute(db)
  return rows[0]!
}
