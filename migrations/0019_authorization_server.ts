import { sql, type Kysely } from 'kysely'

/**
 * Authorization server. `oauth_records`: codes, tokens, grants, sessions and clients, by model and SHA-256 of the id;
 * ids that lead to them are hashed as well. `signing_keys`: keys of access tokens; the public ones verify them.
 */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`
    create table oauth_records (
      id text primary key,
      model text not null,
      sealed bytea not null,
      grant_hash bytea,
      uid_hash bytea,
      user_code_hash bytea,
      user_id uuid references users on delete cascade,
      created_at timestamptz not null default now(),
      expires_at timestamptz,
      consumed_at timestamptz
    )`.execute(db)
  await sql`create index oauth_records_grant on oauth_records (grant_hash) where grant_hash is not null`.execute(db)
  await sql`create index oauth_records_uid on oauth_records (uid_hash) where uid_hash is not null`.execute(db)
  await sql`create index oauth_records_code on oauth_records (user_code_hash) where user_code_hash is not null`.execute(
    db
  )
  await sql`create index oauth_records_user on oauth_records (user_id) where user_id is not null`.execute(db)
  await sql`create index oauth_records_expiry on oauth_records (expires_at)`.execute(db)
  await sql`create index oauth_records_model on oauth_records (model, created_at)`.execute(db)
  await sql`
    create table signing_keys (
      kid text primary key,
      sealed bytea not null,
      public_jwk text not null,
      created_at timestamptz not null default now(),
      signs_from timestamptz not null,
      verifies_until timestamptz not null
    )`.execute(db)
}

export async function down(db: Kysely<never>): Promise<void> {
  await sql`drop table oauth_records, signing_keys`.execute(db)
}
