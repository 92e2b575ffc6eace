import type { Kysely } from 'kysely'

/** What groups show of their tools: overrides with the definitions that they were written for, and limits. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('tool_groups')
    .addColumn('overrides', 'text', (column) => column.notNull().defaultTo('{}'))
    .addColumn('bindings', 'text', (column) => column.notNull().defaultTo('{}'))
    .addColumn('sealed', 'bytea')
    .addColumn('instructions', 'text')
    .addColumn('max_tokens', 'integer')
    .execute()
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('tool_groups')
    .dropColumn('overrides')
    .dropColumn('bindings')
    .dropColumn('sealed')
    .dropColumn('instructions')
    .dropColumn('max_tokens')
    .execute()
}
