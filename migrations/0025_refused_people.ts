import { sql, type Kysely } from 'kysely'

/** `refused_at`: time of the last sign-in that was refused; null while the person is admitted. */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`alter table users add column refused_at timestamptz`.execute(db)
}

/** Older versions would accept the personal access tokens of refused people. */
export async function down(db: Kysely<never>): Promise<void> {
  await sql`
    delete from access_tokens
    where kind = 'personal' and user_id in (select id from users where refused_at is not null)`.execute(db)
  await sql`alter table users drop column refused_at`.execute(db)
}
