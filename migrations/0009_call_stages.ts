import { sql, type Kysely } from 'kysely'

/**
 * What a call waited for before it was with its server, and in which terms. Most of it is null for most calls, which costs
 * nothing: a wait that did not happen, a server that is spoken to as the client speaks, a session mode that is the default.
 */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`
    alter table calls
      add column client text,
      add column client_protocol text,
      add column server_protocol text,
      add column session_mode text,
      add column queue_ms integer,
      add column start_ms integer,
      add column initialize_ms integer,
      add column ended_in text,
      add column stderr text`.execute(db)
}

export async function down(db: Kysely<never>): Promise<void> {
  await sql`
    alter table calls
      drop column client, drop column client_protocol, drop column server_protocol, drop column session_mode,
      drop column queue_ms, drop column start_ms, drop column initialize_ms, drop column ended_in, drop column stderr
  `.execute(db)
}
