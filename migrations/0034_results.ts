import { sql, type Kysely } from 'kysely'

/** Long results of tools, of which callers have got a part, for an hour. */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`alter table tool_groups add column max_result_tokens integer`.execute(db)
  await sql`
    create table results (
      hash bytea primary key,
      caller text not null,
      sealed bytea not null,
      bytes integer not null,
      created_at timestamptz not null default now(),
      expires_at timestamptz not null
    )`.execute(db)
  await sql`create index results_caller on results (caller, created_at)`.execute(db)
  await sql`create index results_expiry on results (expires_at)`.execute(db)
}

export async function down(db: Kysely<never>): Promise<void> {
  await sql`drop table results`.execute(db)
  await sql`alter table tool_groups drop column max_result_tokens`.execute(db)
}
