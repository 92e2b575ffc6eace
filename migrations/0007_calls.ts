import { sql, type Kysely } from 'kysely'

/** Few indexes: each adds a cost to every call, and the number of rows is bounded. */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`
    create table calls (
      id bigint generated always as identity primary key,
      at timestamptz not null,
      kind text not null,
      caller_kind text not null,
      caller text not null,
      endpoint text not null,
      via text not null,
      server text,
      item text,
      outcome text not null,
      total_ms real not null,
      upstream_ms real not null,
      request_bytes integer not null,
      response_bytes integer not null,
      error text,
      request_id text,
      arguments text,
      result text
    )`.execute(db)
  await sql`create index calls_at on calls (at)`.execute(db)
}

export async function down(db: Kysely<never>): Promise<void> {
  await sql`drop table calls`.execute(db)
}
