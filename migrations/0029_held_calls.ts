import { sql, type Kysely } from 'kysely'

/** `held_since`: since when the server's definition of the item had been held when the call failed. */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`alter table calls add column held_since timestamptz`.execute(db)
}

export async function down(db: Kysely<never>): Promise<void> {
  await sql`alter table calls drop column held_since`.execute(db)
}
