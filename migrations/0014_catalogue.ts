import { sql, type Kysely } from 'kysely'

/**
 * Catalogue read from an MCP registry. `entries`: gzip of one JSON text per line; null until the registry was read.
 */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`
    create table catalogue (
      source text primary key,
      entries bytea,
      read_at timestamptz,
      tried_at timestamptz not null,
      problem text
    )`.execute(db)
}

export async function down(db: Kysely<never>): Promise<void> {
  await sql`drop table catalogue`.execute(db)
}
