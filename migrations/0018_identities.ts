import { sql, type Kysely } from 'kysely'

/**
 * People who sign in. `identities`: subjects of identity providers, never given to another user. `groups`: JSON array
 * of groups of the identity provider. `tombstones`: grants and browser sessions that ended before they expired.
 */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`
    alter table users
      add column display_name text,
      add column email text,
      add column source text not null default 'static' check (source in ('static', 'local', 'jit', 'scim')),
      add column external_id text,
      add column sessions_valid_from timestamptz,
      add column claims_at timestamptz,
      add column groups text not null default '[]'`.execute(db)
  await sql`
    create table identities (
      issuer text not null,
      subject text not null,
      user_id uuid not null references users on delete cascade,
      created_at timestamptz not null default now(),
      primary key (issuer, subject)
    )`.execute(db)
  await sql`create index identities_user on identities (user_id)`.execute(db)
  await sql`
    create table local_credentials (
      user_id uuid primary key references users on delete cascade,
      hash text not null,
      changed_at timestamptz not null default now()
    )`.execute(db)
  await sql`
    create table invites (
      hash bytea primary key,
      user_id uuid not null unique references users on delete cascade,
      expires_at timestamptz not null
    )`.execute(db)
  await sql`create table teams (id uuid primary key, name text not null unique, revision bigint not null)`.execute(db)
  await sql`
    create table team_members (
      team_id uuid not null references teams on delete cascade,
      user_id uuid not null references users on delete cascade,
      role text not null check (role in ('member', 'manager')),
      primary key (team_id, user_id)
    )`.execute(db)
  await sql`
    create table team_groups (
      team_id uuid not null references teams on delete cascade,
      idp_group text not null,
      primary key (team_id, idp_group)
    )`.execute(db)
  await sql`
    create table tombstones (
      kind text not null check (kind in ('grant', 'session', 'idp_sid', 'jti')),
      hash bytea not null,
      until timestamptz not null,
      primary key (kind, hash)
    )`.execute(db)
}

export async function down(db: Kysely<never>): Promise<void> {
  await sql`drop table tombstones, team_groups, team_members, teams, invites, local_credentials, identities`.execute(db)
  await sql`
    alter table users
      drop column display_name, drop column email, drop column source, drop column external_id,
      drop column sessions_valid_from, drop column claims_at, drop column groups`.execute(db)
}
