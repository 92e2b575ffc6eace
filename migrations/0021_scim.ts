import { sql, type Kysely } from 'kysely'

/**
 * Users and groups that a SCIM client manages (RFC 7643). `resource`: JSON of the attributes that the client wrote and
 * that have no column. Groups of `users` are those of the last sign-in, with the groups here replaced by membership.
 */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`
    create table scim_users (
      user_id uuid primary key references users on delete cascade,
      user_name text not null,
      resource text not null,
      created_at timestamptz not null default now(),
      updated_at timestamptz not null default now()
    )`.execute(db)
  await sql`create unique index scim_users_user_name on scim_users (lower(user_name))`.execute(db)
  await sql`create index users_external_id on users (external_id) where external_id is not null`.execute(db)
  await sql`create index users_email on users (lower(email)) where email is not null`.execute(db)
  await sql`
    create table scim_groups (
      id uuid primary key,
      name text not null,
      external_id text,
      created_at timestamptz not null default now(),
      updated_at timestamptz not null default now(),
      constraint scim_groups_name unique (name)
    )`.execute(db)
  await sql`
    create table scim_group_members (
      group_id uuid not null references scim_groups on delete cascade,
      user_id uuid not null references scim_users on delete cascade,
      primary key (group_id, user_id)
    )`.execute(db)
  await sql`create index scim_group_members_user on scim_group_members (user_id)`.execute(db)
}

export async function down(db: Kysely<never>): Promise<void> {
  await sql`drop table scim_group_members, scim_groups, scim_users`.execute(db)
  await sql`drop index users_external_id, users_email`.execute(db)
}
