import { sql, type Kysely } from 'kysely'

/** Calls that policies in mode `observe` match. */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`
    create table policy_counts (
      policy text primary key,
      rule_hash bytea not null,
      calls bigint not null,
      changed bigint not null,
      since timestamptz not null,
      last_at timestamptz not null
    )`.execute(db)
}

export async function down(db: Kysely<never>): Promise<void> {
  await sql`drop table policy_counts`.execute(db)
}
