import { sql, type Kysely } from 'kysely'

/** Items with a null `position` are not listed at present; the row keeps their enabled flag. */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`
    create table gateway (
      id integer primary key check (id = 1),
      mode text not null,
      version bigint not null default 0,
      canary bytea not null
    )`.execute(db)
  await sql`
    create table servers (
      id uuid primary key,
      name text not null unique,
      transport text not null,
      description text,
      session_mode text not null,
      settings text not null,
      sealed bytea,
      enabled boolean not null default true,
      revision bigint not null,
      negotiation text,
      registered_at timestamptz not null default now()
    )`.execute(db)
  await sql`
    create table items (
      server_id uuid not null references servers (id) on delete cascade,
      kind text not null,
      name text not null,
      position integer,
      enabled boolean not null default true,
      definition text not null,
      fingerprint text not null,
      first_seen timestamptz not null default now(),
      changed_at timestamptz not null default now(),
      primary key (server_id, kind, name)
    )`.execute(db)
  await sql`
    create table audit_log (
      id bigint generated always as identity primary key,
      at timestamptz not null default now(),
      actor text not null,
      action text not null,
      target text not null,
      version bigint
    )`.execute(db)
  await sql`create index audit_log_at on audit_log (at)`.execute(db)
}

export async function down(db: Kysely<never>): Promise<void> {
  await sql`drop table audit_log, items, servers, gateway`.execute(db)
}
