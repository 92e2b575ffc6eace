import { sql, type Kysely } from 'kysely'

/** `require_scopes` is a JSON array. */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`alter table policies add column require_scopes text not null default '[]'`.execute(db)
}

export async function down(db: Kysely<never>): Promise<void> {
  await sql`alter table policies drop column require_scopes`.execute(db)
}
