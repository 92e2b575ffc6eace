import { sql, type Kysely } from 'kysely'

/** `sign_in_failures`: failed sign-ins with a password, by SHA-256 of the name and the network, or of the name alone. */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`
    create table sign_in_failures (
      hash bytea primary key,
      count integer not null,
      until timestamptz not null
    )`.execute(db)
  await sql`create index sign_in_failures_expiry on sign_in_failures (until)`.execute(db)
}

export async function down(db: Kysely<never>): Promise<void> {
  await sql`drop table sign_in_failures`.execute(db)
}
