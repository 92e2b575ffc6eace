import { sql, type Kysely } from 'kysely'

/**
 * Sessions are pending sign-ins; `sealed` holds their encrypted data, and is null once they are over. Tokens: `claim`
 * identifies the renewal in progress, until `claimed_until` at the latest; `problem` says why they can no longer be
 * renewed.
 */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`
    create table upstream_oauth_sessions (
      id uuid primary key,
      state_hash bytea not null unique,
      server_name text not null,
      issuer text not null,
      status text not null default 'pending',
      error text,
      sealed bytea,
      created_at timestamptz not null default now(),
      expires_at timestamptz not null
    )`.execute(db)
  await sql`create index upstream_oauth_sessions_expires_at on upstream_oauth_sessions (expires_at)`.execute(db)
  await sql`
    create table upstream_tokens (
      server_id uuid primary key references servers (id) on delete cascade,
      issuer text not null,
      sealed bytea not null,
      problem text,
      issued_at timestamptz not null default now(),
      expires_at timestamptz,
      claim uuid,
      claimed_until timestamptz
    )`.execute(db)
}

export async function down(db: Kysely<never>): Promise<void> {
  await sql`drop table upstream_tokens, upstream_oauth_sessions`.execute(db)
}
