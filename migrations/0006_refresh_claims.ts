import { sql, type Kysely } from 'kysely'

export async function up(db: Kysely<never>): Promise<void> {
  await sql`alter table servers add column refresh_begun_at timestamptz`.execute(db)
}

export async function down(db: Kysely<never>): Promise<void> {
  await sql`alter table servers drop column refresh_begun_at`.execute(db)
}
