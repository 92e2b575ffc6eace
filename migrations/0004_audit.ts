import { sql, type Kysely } from 'kysely'

/**
 * `changed` is a JSON array of names; `before` and `after` are JSON objects with the changed values, without secrets.
 */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`
    alter table audit_log
      add column actor_kind text not null default 'development',
      add column outcome text not null default 'ok',
      add column reason text,
      add column endpoint text,
      add column address text,
      add column request_id text,
      add column count integer not null default 1,
      add column changed text,
      add column before text,
      add column after text`.execute(db)
  await sql`alter table audit_log alter column actor_kind drop default, alter column outcome drop default`.execute(db)
  await sql`create index audit_log_actor on audit_log (actor, id)`.execute(db)
  await sql`create index audit_log_target on audit_log (target, id)`.execute(db)
}

export async function down(db: Kysely<never>): Promise<void> {
  await sql`drop index audit_log_actor, audit_log_target`.execute(db)
  await sql`
    alter table audit_log
      drop column actor_kind, drop column outcome, drop column reason, drop column endpoint, drop column address,
      drop column request_id, drop column count, drop column changed, drop column before, drop column after`.execute(db)
}
