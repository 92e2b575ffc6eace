import type { Kysely } from 'kysely'

/** Groups whose endpoints list the tools of search instead of their own. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('tool_groups')
    .addColumn('tool_list', 'text', (column) => column.notNull().defaultTo('full'))
    .addColumn('always_listed', 'text', (column) => column.notNull().defaultTo('[]'))
    .addColumn('search_limit', 'integer', (column) => column.notNull().defaultTo(10))
    .execute()
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('tool_groups')
    .dropColumn('tool_list')
    .dropColumn('always_listed')
    .dropColumn('search_limit')
    .execute()
}
