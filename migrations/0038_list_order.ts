import { sql, type Kysely } from 'kysely'

/** Orders the reads of upstreams' lists by all replicas: a number for each read, and that of the lists that are stored. */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`create sequence list_reads`.execute(db)
  await sql`alter table servers add column list_read bigint`.execute(db)
}

export async function down(db: Kysely<never>): Promise<void> {
  await sql`alter table servers drop column list_read`.execute(db)
  await sql`drop sequence list_reads`.execute(db)
}
