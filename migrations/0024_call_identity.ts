import { sql, type Kysely } from 'kysely'

/** `oauth_client`: id of the client through which a person called; `scopes`: those of policies, separated by spaces. */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`alter table calls add column oauth_client text, add column scopes text`.execute(db)
}

export async function down(db: Kysely<never>): Promise<void> {
  await sql`alter table calls drop column oauth_client, drop column scopes`.execute(db)
}
