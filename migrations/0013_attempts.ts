import { sql, type Kysely } from 'kysely'

/**
 * Rows about contacting servers: `purpose` is the action that required it, `fingerprint` a keyed hash of the
 * configuration used; the row with the result refers to that of the attempt.
 */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`
    alter table audit_log
      add column purpose text,
      add column fingerprint text,
      add column failure text,
      add column duration_ms integer,
      add column attempt bigint`.execute(db)
}

export async function down(db: Kysely<never>): Promise<void> {
  await sql`
    alter table audit_log
      drop column purpose, drop column fingerprint, drop column failure, drop column duration_ms,
      drop column attempt`.execute(db)
}
