import { sql, type Kysely } from 'kysely'

/** The three lists are JSON arrays of names, which may refer to tools and servers that no longer exist. */
export async function up(db: Kysely<never>): Promise<void> {
  await sql`
    create table tool_groups (
      name text primary key,
      description text,
      included_tools text not null,
      included_servers text not null,
      excluded_tools text not null,
      tool_names text not null,
      revision bigint not null,
      created_at timestamptz not null default now()
    )`.execute(db)
}

export async function down(db: Kysely<never>): Promise<void> {
  await sql`drop table tool_groups`.execute(db)
}
