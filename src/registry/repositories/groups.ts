import { sql, type Selectable } from 'kysely'
import { conflict, notFound } from '../../lib/errors.ts'
import type { WriteContext } from './context.ts'
import { isUniqueViolation } from '../store/failures.ts'
import {
  maskLocks,
  secretsOfLocks,
  type LockSecrets,
  type OverrideBindings,
  type ToolOverrides
} from '../../domain/overrides/tool-overrides.ts'
import { decryptLocksIfPossible, sealOverrides, type SealedOverrides } from '../crypto/lock-secrets.ts'
import type { GroupConfig, StoredGroup } from '../model/model.ts'
import type { Db, Tables } from '../model/tables.ts'

/** Groups read by one statement, so that no query is unbounded */
const CHUNK_SIZE = 1_000

const configColumns = [
  ...(['description', 'included_tools', 'included_servers', 'excluded_tools', 'tool_names'] as const),
  ...(['overrides', 'bindings', 'sealed', 'instructions', 'max_tokens'] as const),
  ...(['tool_list', 'always_listed', 'search_limit', 'max_result_tokens'] as const)
]

type Columns = Pick<Selectable<Tables['tool_groups']>, (typeof configColumns)[number]>

const toColumns = (
  { included_tools, included_servers, excluded_tools, always_listed, ...config }: GroupConfig,
  bindings: OverrideBindings,
  sealed: SealedOverrides
): Columns => ({
  description: config.description,
  included_tools: JSON.stringify(included_tools),
  included_servers: JSON.stringify(included_servers),
  excluded_tools: JSON.stringify(excluded_tools),
  tool_names: config.tool_names,
  ...sealed,
  bindings: JSON.stringify(bindings),
  instructions: config.instructions,
  max_tokens: config.max_tokens,
  tool_list: config.tool_list,
  always_listed: JSON.stringify(always_listed),
  search_limit: config.search_limit,
  max_result_tokens: config.max_result_tokens
})

const fromColumns = ({ description, tool_names, overrides, instructions, max_tokens, ...more }: Columns) => ({
  description,
  included_tools: JSON.parse(more.included_tools) as string[],
  included_servers: JSON.parse(more.included_servers) as string[],
  excluded_tools: JSON.parse(more.excluded_tools) as string[],
  tool_names,
  tools: JSON.parse(overrides) as ToolOverrides,
  instructions,
  max_tokens,
  tool_list: more.tool_list,
  always_listed: JSON.parse(more.always_listed) as string[],
  search_limit: more.search_limit,
  max_result_tokens: more.max_result_tokens
})

/** Returns the members of a configuration for the audit log: of overrides the texts, their secrets apart. */
function auditMembers({ name: _name, tools, ...members }: GroupConfig, secrets: LockSecrets) {
  const texts = Object.entries(maskLocks(tools)).map(([tool, override]) => [tool, JSON.stringify(override)])
  const locks = Object.entries(secrets).flatMap(([tool, values]) =>
    Object.entries(values).map(([argument, value]) => [`${tool} ${argument}`, value])
  )
  return { ...members, tools: Object.fromEntries(texts) as object, locks: Object.fromEntries(locks) as object }
}

const isSameValue = (a: unknown, b: unknown) =>
  a instanceof Uint8Array && b instanceof Uint8Array ? Buffer.compare(a, b) === 0 : a === b

/**
 * Creates the repository of tool groups for a write. Names are exact; methods throw a 404 AppError for an unknown name.
 */
export function createGroupRepository({ db, keys, encryptionKeys, version, recordEffect }: WriteContext) {
  const sealing = { current: encryptionKeys, all: keys }
  const auditStored = (name: string, row: Columns) =>
    auditMembers({ name, ...fromColumns(row) }, decryptLocksIfPossible(keys, { name, sealed: row.sealed }))
  return {
    /**
     * Inserts a group. `bindings`: definitions that its overrides are written for. Throws a 409 AppError if the name is taken; the transaction is then aborted, so the error must
     * propagate.
     */
    async create(config: GroupConfig, bindings: OverrideBindings = {}): Promise<void> {
      const { name, tools } = config
      const columns = toColumns(config, bindings, sealOverrides(sealing, name, tools))
      try {
        await db
          .insertInto('tool_groups')
          .values({ name, ...columns, revision: version })
          .execute()
      } catch (error) {
        throw isUniqueViolation(error, 'tool_groups_pkey') ? conflict('tool group', name) : error
      }
      recordEffect({ after: auditMembers(config, secretsOfLocks(tools)) })
    },

    /**
     * Replaces the configuration of the group with that name, and returns the previous one with `***` for secrets.
     * Writes nothing if nothing differs.
     */
    async replace(config: GroupConfig, bindings: OverrideBindings = {}): Promise<GroupConfig> {
      const { name, tools } = config
      const before = await db
        .selectFrom('tool_groups')
        .select(configColumns)
        .where('name', '=', name)
        .executeTakeFirst()
      if (!before) throw notFound('tool group', name)
      const columns = toColumns(config, bindings, sealOverrides(sealing, name, tools, before.sealed))
      const replaced = { name, ...fromColumns(before) }
      if (configColumns.every((column) => isSameValue(before[column], columns[column]))) return replaced
      await db
        .updateTable('tool_groups')
        .set({ ...columns, revision: version })
        .where('name', '=', name)
        .execute()
      recordEffect({ before: auditStored(name, before), after: auditMembers(config, secretsOfLocks(tools)) })
      return replaced
    },

    async remove(name: string): Promise<void> {
      const before = await db
        .deleteFrom('tool_groups')
        .where('name', '=', name)
        .returning(configColumns)
        .executeTakeFirst()
      if (!before) throw notFound('tool group', name)
      recordEffect({ before: auditStored(name, before) })
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
    bindings: JSON.parse(row.bindings) as OverrideBindings,
    sealed: row.sealed,
    createdAt: created_at.toISOString()
  }))
}
