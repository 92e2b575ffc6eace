import { sql, type Kysely } from 'kysely'

/** `subjects` and `targets` are JSON objects. `policy` and `decision` of the audit log name what refused a call. */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`
    create table policies (
      name text primary key,
      position integer not null,
      enabled boolean not null,
      mode text not null,
      effect text not null,
      everyone boolean not null,
      subjects text not null,
      targets text not null,
      condition text,
      reason text,
      revision bigint not null
    )`.execute(db)
  await sql`alter table audit_log add column policy text, add column decision text`.execute(db)
}

export async function down(db: Kysely<never>): Promise<void> {
  await sql`alter table audit_log drop column policy, drop column decision`.execute(db)
  await sql`drop table policies`.execute(db)
}
