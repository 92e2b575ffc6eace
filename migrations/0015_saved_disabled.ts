import { sql, type Kysely } from 'kysely'

/**
 * `save_failure`: why the lists of a server that was saved disabled have not been read; null once they have. `recorded_until`:
 * end of the time in which the contents of its calls are recorded.
 */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`alter table servers add column save_failure text, add column recorded_until timestamptz`.execute(db)
}

export async function down(db: Kysely<never>): Promise<void> {
  await sql`alter table servers drop column save_failure, drop column recorded_until`.execute(db)
}
