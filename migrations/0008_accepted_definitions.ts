import { sql, type Kysely } from 'kysely'

/** `accepted`: the definition that somebody has looked at, where the present one differs from it. */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`alter table items add column accepted text`.execute(db)
  await sql`alter table servers add column updated_at timestamptz not null default now()`.execute(db)
}

export async function down(db: Kysely<never>): Promise<void> {
  await sql`alter table items drop column accepted`.execute(db)
  await sql`alter table servers drop column updated_at`.execute(db)
}
