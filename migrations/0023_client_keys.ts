import { sql, type Kysely } from 'kysely'

/**
 * Public keys of MCP clients: `jwks` is the JSON of a key set, `jwks_uri` the address of one. `used_assertions`: SHA-256
 * of the ids of signed assertions that count once, until they expire.
 */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`
    alter table clients
      add column jwks text,
      add column jwks_uri text,
      add constraint clients_keys check (jwks is null or jwks_uri is null)`.execute(db)
  await sql`create table used_assertions (hash bytea primary key, expires_at timestamptz not null)`.execute(db)
  await sql`create index used_assertions_expiry on used_assertions (expires_at)`.execute(db)
}

export async function down(db: Kysely<never>): Promise<void> {
  await sql`drop table used_assertions`.execute(db)
  await sql`alter table clients drop constraint clients_keys, drop column jwks, drop column jwks_uri`.execute(db)
}
