import { sql, type Kysely } from 'kysely'

/** How much of each file of calls beside the embedded store has become rows of `calls`, in bytes. */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`
    create table call_files (
      number bigint primary key,
      settled bigint not null
    )`.execute(db)
}

export async function down(db: Kysely<never>): Promise<void> {
  await sql`drop table call_files`.execute(db)
}
