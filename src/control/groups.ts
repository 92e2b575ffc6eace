import { isDeepStrictEqual } from 'node:util'
import { qualifiedName } from '../domain/names.ts'
import { canBeBare, missingNames, type NameLookup } from '../domain/groups.ts'
import { DEFAULT_SEARCH_LIMIT } from '../domain/search/limits.ts'
import { searchToolNames } from '../domain/search/names.ts'
import { AppError, invalid, notFound } from '../lib/errors.ts'
import type { GroupConfig, StoredGroup } from '../registry/model/model.ts'
import type { Registry } from '../registry/registry.ts'
import { maskLocks, secretsOfLocks, type ToolOverrides } from '../domain/overrides/tool-overrides.ts'
import { resolveGroupConfig, type Catalog, type CatalogGroup, type ResolvedGroup } from '../catalog/catalog.ts'
import { partsOf, type WithheldTool } from '../catalog/group-parts.ts'
import {
  bindTools,
  checkBudget,
  checkOverrides,
  definitionsText,
  staleTools,
  withStoredSecrets
} from './group-tools.ts'
import { auditChange } from './audit-change.ts'
import { refuseIfDenied } from './named-by-policies.ts'
import type { Caller } from '../catalog/caller.ts'
import { permitOf, scopeFor } from '../catalog/scope.ts'

/** A tool group in REST answers (http-contract.md#tool-groups). */
export interface GroupRecord {
  readonly name: string
  readonly description?: string
  readonly included_tools: readonly string[]
  readonly included_servers: readonly string[]
  readonly excluded_tools: readonly string[]
  readonly tool_names?: 'bare'
  /** Text for the model. */
  readonly instructions?: string
  /** Limit of the estimated tokens. */
  readonly max_tokens?: number
  /** Overrides with `***` for secrets; absent, like the two lists, if there are none. */
  readonly tools?: ToolOverrides
  /** Tools whose definitions have changed since their overrides were saved. */
  readonly stale?: readonly string[]
  /** Tools that are withheld because their overrides cannot be applied. */
  readonly broken?: readonly WithheldTool[]
  /** Present in search mode. */
  readonly tool_list?: 'search'
  readonly always_listed?: readonly string[]
  readonly search_limit?: number
  readonly max_result_tokens?: number
  /** Names in the lists and overrides that do not exist now. */
  readonly missing: readonly string[]
}

/** Operations on tool groups (http-contract.md#tool-groups). Methods throw or reject with AppError. */
export interface Groups {
  list(): GroupRecord[]
  /** Returns the names of the groups that the caller sees: of users those with something that they may use. */
  visible(caller: Caller): readonly string[]
  /** Returns one group. 404. */
  get(name: string): GroupRecord
  /** Tests if a group exists and, for a caller, if the group contains a server that the caller may use. */
  has(name: string, caller?: Caller): boolean
  /** Creates a group. 400 names every unknown tool and server, 409 also for too many tokens. */
  create(caller: Caller, config: GroupConfig): Promise<GroupRecord>
  /** Replaces a group's configuration. Names that it already had may be missing by now. 400, 404, 409 for too many tokens. */
  replace(caller: Caller, config: GroupConfig): Promise<{ before: GroupRecord; after: GroupRecord }>
  /** Removes a group and ends its sessions and streams. 404, 409 if a policy that denies names it. */
  remove(caller: Caller, name: string): Promise<void>
  /** Returns the qualified names of the tools that the group's endpoint lists now, in list order. 404. */
  effectiveTools(name: string): string[]
  /** Returns what the group's endpoint lists now, with estimated tokens, as JSON text of `EffectiveDefinitions`. 404. */
  definitions(name: string): string
  /** Returns the same for a group that need not be stored; `***` stands for secrets of the stored one. 400. */
  preview(config: GroupConfig): string
}

/** Returns look-ups of the servers and tools that exist in a catalog. */
export const namesIn = (catalog: Catalog): NameLookup => ({
  hasServer: (name) => catalog.server(name) !== undefined,
  hasTool: (server, name) => catalog.server(server)?.find('tool', name) !== undefined
})

const unknownNames = (kind: string, names: readonly string[]): string[] =>
  names.length === 0
    ? []
    : [`unknown ${kind}${names.length > 1 ? 's' : ''}: ${names.map((n) => JSON.stringify(n)).join(', ')}`]

/** Throws a 400 AppError for unknown names. Names that the group already had may have been removed since. */
function checkNames(catalog: Catalog, rules: GroupConfig, before?: GroupConfig): void {
  const { hasServer, hasTool } = namesIn(catalog)
  const tools = new Set([
    ...(before?.included_tools ?? []),
    ...(before?.excluded_tools ?? []),
    ...(before?.always_listed ?? []),
    ...Object.keys(before?.tools ?? {})
  ])
  const servers = new Set(before?.included_servers)
  const unknown = missingNames(rules, {
    hasServer: (name) => servers.has(name) || hasServer(name),
    hasTool: (server, name) => tools.has(qualifiedName(server, name)) || hasTool(server, name)
  })
  const problems = [...unknownNames('tool', unknown.tools), ...unknownNames('server', unknown.servers)]
  if (problems.length > 0) throw invalid(problems.join('; '))
}

/** Throws a 400 AppError if bare tool names could be ambiguous between servers. */
export function checkBare(config: GroupConfig): void {
  if (config.tool_names === 'qualified' || canBeBare(config)) return
  throw invalid(
    '"tool_names" can be bare only if "included_servers" names exactly one server and "included_tools" is empty'
  )
}

/** Returns the tools of a group in search mode that have the name of a tool of search. */
function namedLikeSearch(catalog: Catalog, config: GroupConfig) {
  if (config.tool_list !== 'search') return []
  const scope = scopeFor(catalog, resolveGroupConfig({ ...config, tool_list: 'full' }))
  return searchToolNames.flatMap((name) => {
    const item = scope.find('tool', name)
    return item ? [{ name, tool: item.publicName }] : []
  })
}

/** Throws a 409 AppError if a tool of a group in search mode has the name of a tool of search. */
export function checkSearchNames(catalog: Catalog, config: GroupConfig): void {
  const [taken] = namedLikeSearch(catalog, config)
  if (taken === undefined) return
  throw new AppError(
    409,
    `a tool of the group is named "${taken.name}", like a tool of search mode: give it another name`,
    {
      code: 'tool_name_taken'
    }
  )
}

function groupRecord(catalog: Catalog, config: GroupConfig, group: ResolvedGroup): GroupRecord {
  const { name, description, included_tools, included_servers, excluded_tools, tool_names } = config
  const { instructions, max_tokens, tools: overrides, always_listed, search_limit, max_result_tokens } = config
  const { tools, servers } = missingNames(config, namesIn(catalog))
  const taken = namedLikeSearch(catalog, config).map(({ name: public_name, tool }) => ({
    tool,
    reason: `its name "${public_name}" is that of a tool of search mode`
  }))
  const views = {
    tools: maskLocks(overrides),
    stale: staleTools(catalog, group),
    broken: [...partsOf(catalog, group).withheld, ...taken]
  }
  return {
    name,
    ...(description === null ? {} : { description }),
    included_tools,
    included_servers,
    excluded_tools,
    ...(tool_names === 'bare' ? { tool_names } : {}),
    ...(instructions === null ? {} : { instructions }),
    ...(max_tokens === null ? {} : { max_tokens }),
    ...(Object.keys(overrides).length === 0 && taken.length === 0 ? {} : views),
    ...(config.tool_list === 'search' ? { tool_list: 'search' } : {}),
    ...(always_listed.length === 0 ? {} : { always_listed }),
    ...(search_limit === DEFAULT_SEARCH_LIMIT ? {} : { search_limit }),
    ...(max_result_tokens === null ? {} : { max_result_tokens }),
    missing: [...tools, ...servers]
  }
}

export function createGroups(registry: Pick<Registry, 'write' | 'decryptLocks'>, catalog: () => Catalog): Groups {
  const find = (name: string): CatalogGroup => {
    const group = catalog().group(name)
    if (!group) throw notFound('tool group', name)
    return group
  }
  const record = (config: GroupConfig, group = resolveGroupConfig(config)): GroupRecord =>
    groupRecord(catalog(), config, group)
  const storedRecord = (group: CatalogGroup) => record(group.stored, group)
  /** Returns the configuration with its secrets. Throws AppError unless it can be stored. */
  const check = (given: GroupConfig, before?: StoredGroup): GroupConfig => {
    checkBare(given)
    checkNames(catalog(), given, before)
    const config = withStoredSecrets(given, () => (before ? registry.decryptLocks(before) : {}))
    checkOverrides(catalog(), config)
    checkSearchNames(catalog(), config)
    return config
  }

  const has = (name: string, caller?: Caller): boolean => {
    const found = catalog().group(name)
    if (!found || !caller) return found !== undefined
    const permit = permitOf(catalog(), caller)
    // where each item has to be decided, a group without an item for the caller looks like one that does not exist
    return (
      permit.isAll ||
      [...found.selections.keys()].some((server) => permit.reach(server) === 'all') ||
      scopeFor(catalog(), found, permit).servers.length > 0
    )
  }

  return {
    list: () => catalog().groups.map(storedRecord),
    visible(caller) {
      const names = catalog().groups.map(({ stored }) => stored.name)
      return caller.kind === 'user' ? names.filter((name) => has(name, caller)) : names
    },
    get: (name) => storedRecord(find(name)),
    has,

    async create(caller, given) {
      const config = check(given)
      checkBudget(catalog(), config)
      const bindings = bindTools(catalog(), config)
      const by = auditChange(caller, 'tool_group.create', config.name)
      await registry.write(by, (tx) => tx.groups.create(config, bindings))
      return record(config)
    },

    async replace(caller, given) {
      const group = find(given.name)
      const config = check(given, group.stored)
      checkBudget(catalog(), config)
      const old = storedRecord(group)
      const bindings = bindTools(catalog(), config, group.stored)
      const by = auditChange(caller, 'tool_group.replace', config.name)
      const before = await registry.write(by, (tx) => tx.groups.replace(config, bindings))
      // those two lists are known of the group in the catalog alone
      const { stale, broken } = old
      return { before: { ...record(before), ...(stale && { stale, broken }) }, after: record(config) }
    },

    async remove(caller, name) {
      const { group, policies } = catalog()
      // one that could not be read is not in the catalog, and can be removed all the same
      if (group(name)) refuseIfDenied(policies, 'tool group', name, ({ targets }) => targets.groups)
      await registry.write(auditChange(caller, 'tool_group.remove', name), (tx) => tx.groups.remove(name))
    },

    effectiveTools(name) {
      const scope = scopeFor(catalog(), find(name))
      const tools = scope.servers.flatMap((server) => server.items('tool').filter((item) => scope.includes(item)))
      return tools.map(({ publicName }) => publicName)
    },

    definitions: (name) => definitionsText(catalog(), find(name)),

    preview(given) {
      const before = catalog().group(given.name)?.stored
      const config = check(given, before)
      const secrets = secretsOfLocks(config.tools)
      const changes = before && !isDeepStrictEqual(registry.decryptLocks(before), secrets)
      return definitionsText(
        catalog(),
        resolveGroupConfig(config),
        changes === undefined ? {} : { changes_secrets: changes }
      )
    }
  }
}
