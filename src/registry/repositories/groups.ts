import { sql } from 'kysely'
import { conflict, notFound } from '../../lib/errors.ts'
import type { WriteContext } from './context.ts'
import { isUniqueViolation } from '../store/failures.ts'
import type { GroupConfig, StoredGroup } from '../model/model.ts'
import type { Db } from '../model/tables.ts'

/** Groups read by one statement, so that no query is unbounded */
const CHUNK_SIZE = 1_000

const configColumns = ['description', 'included_tools', 'included_servers', 'excluded_tools', 'tool_names'] as const

const toColumns = ({ description, included_tools, included_servers, excluded_tools, tool_names }: GroupConfig) => ({
  description,
  included_tools: JSON.stringify(included_tools),
  included_servers: JSON.stringify(included_servers),
  excluded_tools: JSON.stringify(excluded_tools),
  tool_names
})

type Columns = ReturnType<typeof toColumns>

const fromColumns = ({ description, included_tools, included_servers, excluded_tools, tool_names }: Columns) => ({
  description,
  included_tools: JSON.parse(included_tools) as string[],
  included_servers: JSON.parse(included_servers) as string[],
  excluded_tools: JSON.parse(excluded_tools) as string[],
  tool_names
})

const withoutName = ({ name: _name, ...members }: GroupConfig) => members

/**
 * Creates the repository of tool groups for a write. Names are exact; methods throw a 404 AppError for an unknown name.
 */
export function createGroupRepository({ db, version, recordEffect }: WriteContext) {
  return {
    /**
     * Inserts a group. Throws a 409 AppError if the name is taken; the transaction is then aborted, so the error must
     * propagate.
     */
    async create(config: GroupConfig): Promise<void> {
      try {
        await db
          .insertInto('tool_groups')
          .values({ name: config.name, ...toColumns(config), revision: version })
          .execute()
      } catch (error) {
        throw isUniqueViolation(error, 'tool_groups_pkey') ? conflict('tool group', config.name) : error
      }
      recordEffect({ after: withoutName(config) })
    },

    /**
     * Replaces the configuration of the group with that name, and returns the previous one. Writes nothing if nothing
     * differs.
     */
    async replace(config: GroupConfig): Promise<GroupConfig> {
      const { name } = config
      const before = await db
        .selectFrom('tool_groups')
        .select(configColumns)
        .where('name', '=', name)
        .executeTakeFirst()
      if (!before) throw notFound('tool group', name)
      const columns = toColumns(config)
      const replaced = { name, ...fromColumns(before) }
      if (configColumns.every((column) => before[column] === columns[column])) return replaced
      await db
        .updateTable('tool_groups')
        .set({ ...columns, revision: version })
        .where('name', '=', name)
        .execute()
      recordEffect({ before: fromColumns(before), after: withoutName(config) })
      return replaced
    },

    async remove(name: string): Promise<void> {
      const before = await db
        .deleteFrom('tool_groups')
        .where('name', '=', name)
        .returning(configColumns)
        .executeTakeFirst()
      if (!before) throw notFound('tool group', name)
      recordEffect({ before: fromColumns(before) })
    }
  }
}

/** Returns all groups ordered by name; groups in `known` with an unchanged revision are not read again. */
export async function readGroups(db: Db, known: readonly StoredGroup[] = []): Promise<StoredGroup[]> {
  const groups = new Map(known.map((group) => [group.name, group]))
  const revisions = await db.selectFrom('tool_groups').select(['name', 'revision']).execute()
  const stale = revisions
    .filter(({ name, revision }) => groups.get(name)?.revision !== revision)
    .map(({ name }) => name)
  for (let at = 0; at < stale.length; at += CHUNK_SIZE) {
    for (const group of await readChunk(db, stale.slice(at, at + CHUNK_SIZE))) groups.set(group.name, group)
  }
  return revisions.map(({ name }) => groups.get(name)!).toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

async function readChunk(db: Db, names: readonly string[]): Promise<StoredGroup[]> {
  const rows = await db
    .selectFrom('tool_groups')
    .select(['name', 'revision', 'created_at', ...configColumns])
    .where(sql<boolean>`name = any(${names}::text[])`)
    .execute()
  return rows.map(({ name, revision, created_at, ...row }) => ({
    name,
    revision,
    ...fromColumns(row),
    createdAt: created_at.toISOString()
  }))
}
