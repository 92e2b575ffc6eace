import { sql, type Kysely } from 'kysely'

/** Vectors of tools for search, by the text that they stand for. */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`
    create table embeddings (
      model text not null,
      fingerprint text not null,
      vector bytea,
      claimed_at timestamptz not null default now(),
      used_at timestamptz not null default now(),
      primary key (model, fingerprint)
    )`.execute(db)
  await sql`create index embeddings_use on embeddings (used_at)`.execute(db)
}

export async function down(db: Kysely<never>): Promise<void> {
  await sql`drop table embeddings`.execute(db)
}
