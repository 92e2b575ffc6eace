import { allows } from '../domain/allow-list.ts'
import { canBeBare, missingNames, type GroupRules, type NameLookup } from '../domain/groups.ts'
import { invalid, notFound } from '../lib/errors.ts'
import type { GroupConfig } from '../registry/model/model.ts'
import type { Registry } from '../registry/registry.ts'
import type { Catalog, CatalogGroup } from '../catalog/catalog.ts'
import { auditChange } from './audit-change.ts'
import type { Gateway, GroupRecord } from './gateway.ts'
import { groupRecord } from './records.ts'
import { allowedTo, scopeFor } from '../catalog/scope.ts'

type Groups = Pick<
  Gateway,
  'groups' | 'group' | 'hasGroup' | 'createGroup' | 'replaceGroup' | 'removeGroup' | 'effectiveTools'
>

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
function checkNames(catalog: Catalog, rules: GroupRules, before?: GroupRules): void {
  const { hasServer, hasTool } = namesIn(catalog)
  const tools = new Set([...(before?.included_tools ?? []), ...(before?.excluded_tools ?? [])])
  const servers = new Set(before?.included_servers)
  const unknown = missingNames(rules, {
    hasServer: (name) => servers.has(name) || hasServer(name),
    hasTool: (server, name) => tools.has(`${server}__${name}`) || hasTool(server, name)
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

/** Creates the operations on tool groups (http-contract.md#tool-groups). */
export function createGroups(registry: Pick<Registry, 'write'>, catalog: () => Catalog): Groups {
  const find = (name: string): CatalogGroup => {
    const group = catalog().group(name)
    if (!group) throw notFound('tool group', name)
    return group
  }
  const record = (config: GroupConfig): GroupRecord => groupRecord(config, namesIn(catalog()))

  return {
    groups: () => catalog().groups.map(({ stored }) => record(stored)),
    group: (_caller, name) => record(find(name).stored),
    hasGroup(name, caller) {
      const found = catalog().group(name)
      if (!found || !caller) return found !== undefined
      const allowed = allowedTo(catalog(), caller)
      return allowed.isAll || [...found.selections.keys()].some((server) => allows(allowed, server))
    },

    async createGroup(caller, config) {
      checkBare(config)
      checkNames(catalog(), config)
      await registry.write(auditChange(caller, 'tool_group.create', config.name), (tx) => tx.groups.create(config))
      return record(config)
    },

    async replaceGroup(caller, config) {
      const { stored } = find(config.name)
      checkBare(config)
      checkNames(catalog(), config, stored)
      const by = auditChange(caller, 'tool_group.replace', config.name)
      const before = await registry.write(by, (tx) => tx.groups.replace(config))
      return { before: record(before), after: record(config) }
    },

    async removeGroup(caller, name) {
      await registry.write(auditChange(caller, 'tool_group.remove', name), (tx) => tx.groups.remove(name))
    },

    effectiveTools(_caller, name) {
      const scope = scopeFor(catalog(), find(name))
      const tools = scope.servers.flatMap((server) => server.items('tool').filter((item) => scope.includes(item)))
      return tools.map(({ publicName }) => publicName)
    }
  }
}
