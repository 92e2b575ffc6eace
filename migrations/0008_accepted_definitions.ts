import { sql, type Kysely } from 'kysely'

/** `accepted`: the last accepted definition if it differs from the current one. */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`alter table items add column accepted text`.execute(db)
  await sql`alter table servers add column updated_at timestamptz not null default now()`.execute(db)
}

export async function down(db: Kysely<never>): Promise<void> {
  await sql`alter table items drop column accepted`.execute(db)
  await sql`alter table servers drop column updated_at`.execute(db)
}
