import { sql, type Kysely } from 'kysely'

/**
 * Waiting times of a call before it reached its server, protocol revisions and session mode. Most are null for most
 * calls, which costs nothing: no wait, the server's revision is the client's, the session mode is the default.
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
