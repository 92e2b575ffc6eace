import { sql, type Kysely } from 'kysely'

/**
 * A user has any number of tokens: at most one `static`, and `personal` ones with unique names. `scopes`: JSON array;
 * null: all rights of the owner. `role_source`: `mapped` roles come from groups of an identity provider.
 */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`
    alter table users
      drop constraint users_role_check,
      add constraint users_role_check check (role in ('admin', 'auditor', 'user')),
      add column role_source text not null default 'manual' check (role_source in ('manual', 'mapped')),
      add column active boolean not null default true`.execute(db)
  await sql`
    alter table access_tokens
      drop constraint access_tokens_user_id_key,
      add column id uuid not null unique default gen_random_uuid(),
      add column kind text not null default 'static' check (kind in ('static', 'personal')),
      add column name text,
      add column scopes text,
      add column expires_at timestamptz,
      add column last_used_on date,
      add check ((kind = 'personal') = (name is not null)),
      add check (kind = 'static' or user_id is not null)`.execute(db)
  await sql`create unique index access_tokens_static on access_tokens (user_id) where kind = 'static'`.execute(db)
  await sql`create unique index access_tokens_name on access_tokens (user_id, name)`.execute(db)
}

export async function down(db: Kysely<never>): Promise<void> {
  await sql`delete from access_tokens where kind = 'personal'`.execute(db)
  await sql`drop index access_tokens_static, access_tokens_name`.execute(db)
  await sql`
    alter table access_tokens
      drop column id, drop column kind, drop column name, drop column scopes, drop column expires_at,
      drop column last_used_on, add constraint access_tokens_user_id_key unique (user_id)`.execute(db)
  await sql`update users set role = 'user' where role = 'auditor'`.execute(db)
  await sql`
    alter table users
      drop column role_source, drop column active, drop constraint users_role_check,
      add constraint users_role_check check (role in ('admin', 'user'))`.execute(db)
}
