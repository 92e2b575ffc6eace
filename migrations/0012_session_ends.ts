import { sql, type Kysely } from 'kysely'

/**
 * MCP sessions that ended before their ids expire. `mark`: the signature of the id, which grants no access by itself.
 */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`
    create table session_ends (
      mark bytea primary key,
      principal text not null,
      ended_at timestamptz not null default now(),
      expires_at timestamptz not null
    )`.execute(db)
  await sql`create index session_ends_principal on session_ends (principal, ended_at)`.execute(db)
}

export async function down(db: Kysely<never>): Promise<void> {
  await sql`drop table session_ends`.execute(db)
}
