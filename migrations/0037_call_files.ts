import { sql, type Kysely } from 'kysely'

/** Position in each file of calls beside the embedded store, in bytes: the calls before it are rows of `calls`. */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`
    create table call_files (
      number bigint primary key,
      position bigint not null
    )`.execute(db)
}

export async function down(db: Kysely<never>): Promise<void> {
  await sql`drop table call_files`.execute(db)
}
