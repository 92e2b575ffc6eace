import { sql, type Kysely } from 'kysely'

/** One table of tokens, so that the database itself ensures that a hash belongs to one user or client. */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`alter table gateway add column initialized_at timestamptz`.execute(db)
  await sql`
    create table users (
      id uuid primary key,
      name text not null unique,
      role text not null check (role in ('admin', 'user')),
      revision bigint not null,
      created_at timestamptz not null default now()
    )`.execute(db)
  await sql`
    create table clients (
      id uuid primary key,
      name text not null unique,
      description text,
      allowed_servers text not null,
      revision bigint not null,
      created_at timestamptz not null default now()
    )`.execute(db)
  await sql`
    create table access_tokens (
      hash bytea primary key,
      user_id uuid unique references users (id) on delete cascade,
      client_id uuid unique references clients (id) on delete cascade,
      created_at timestamptz not null default now(),
      check (num_nonnulls(user_id, client_id) = 1)
    )`.execute(db)
}

export async function down(db: Kysely<never>): Promise<void> {
  await sql`drop table access_tokens, clients, users`.execute(db)
  await sql`alter table gateway drop column initialized_at`.execute(db)
}
