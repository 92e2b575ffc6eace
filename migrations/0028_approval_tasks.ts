import { sql, type Kysely } from 'kysely'

/**
 * `runner_seen`: when the replica that makes the call of a task was last alive. One pending request stands for all equal
 * calls that accept a task.
 */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`alter table approvals add column runner_seen timestamptz`.execute(db)
  await sql`create unique index approvals_pending_tasks on approvals (digest) where status = 'pending' and task`.execute(
    db
  )
  await sql`
    create index approvals_open on approvals (caller_kind, caller) where status in ('pending', 'approved')`.execute(db)
  await sql`create index approvals_running on approvals (runner_seen) where runner is not null and ended_at is null`.execute(
    db
  )
}

export async function down(db: Kysely<never>): Promise<void> {
  await sql`drop index approvals_running`.execute(db)
  await sql`drop index approvals_open`.execute(db)
  await sql`drop index approvals_pending_tasks`.execute(db)
  await sql`alter table approvals drop column runner_seen`.execute(db)
}
