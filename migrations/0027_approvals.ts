import { sql, type Kysely } from 'kysely'

/**
 * `approval` of a policy is JSON. `digest` is that of a call; `rule_hash` that of the rule that asked for a yes.
 * `caller_credential` is the SHA-256 of the token or sign-in that made the call. `sealed` holds the arguments,
 * `task_result` the answer of a call that was made for a task; `runner` marks the replica that makes it.
 */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`alter table policies add column approval text not null default '{}'`.execute(db)
  await sql`
    create table approvals (
      id uuid primary key,
      at timestamptz not null,
      expires_at timestamptz not null,
      status text not null,
      rule text not null,
      rule_hash text not null,
      caller_kind text not null,
      caller text not null,
      caller_key text not null,
      caller_credential bytea,
      endpoint text not null,
      server text not null,
      item text not null,
      digest bytea not null,
      definition text not null,
      sealed bytea not null,
      decided_by text,
      decided_at timestamptz,
      reason text,
      uses_left integer not null,
      task boolean not null default false,
      runner text,
      task_result bytea,
      ended_at timestamptz
    )`.execute(db)
  await sql`create index approvals_by_digest on approvals (digest, status)`.execute(db)
  await sql`create index approvals_by_time on approvals (at)`.execute(db)
  await sql`create unique index approvals_pending on approvals (digest) where status = 'pending' and not task`.execute(
    db
  )
}

export async function down(db: Kysely<never>): Promise<void> {
  await sql`drop table approvals`.execute(db)
  await sql`alter table policies drop column approval`.execute(db)
}
