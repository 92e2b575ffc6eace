import { sql, type Kysely } from 'kysely'

/** `left_out`: JSON of the listed items that the gateway does not serve, null if there are none. */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`alter table servers add column left_out text`.execute(db)
}

export async function down(db: Kysely<never>): Promise<void> {
  await sql`alter table servers drop column left_out`.execute(db)
}
