import { splitName } from './names.ts'

/**
 * Rules that select a group's tools (http-contract.md#tool-groups). Names are exact; tools are in `<server>__<tool>`
 * form.
 */
export interface GroupRules {
  readonly included_tools: readonly string[]
  readonly included_servers: readonly string[]
  readonly excluded_tools: readonly string[]
  readonly always_listed?: readonly string[]
}

/** Part of one server that a group includes */
export interface Selection {
  /** True if the whole server is included, with its prompts and resources */
  readonly isWhole: boolean
  /** Tool names without `<server>__`: the excluded ones of a whole server, otherwise the included ones */
  readonly names: ReadonlySet<string>
  /**
   * Excluded names, if tools were included by name: a renamed tool may be included by one name and excluded by the
   * other
   */
  readonly without?: ReadonlySet<string>
}

export const wholeServer: Selection = { isWhole: true, names: new Set() }

/** Returns true if the selection includes a tool; `name` and `alias` are both names of a renamed tool. */
export function selects({ isWhole, names, without }: Selection, name: string, alias = name): boolean {
  const isNamed = names.has(name) || names.has(alias)
  if (isWhole || without === undefined) return isWhole !== isNamed
  return isNamed && !without.has(name) && !without.has(alias)
}

/** Groups the upstreams' tool names by server; names without `__` are ignored. */
function byServer(qualified: readonly string[]): Map<string, Set<string>> {
  const servers = new Map<string, Set<string>>()
  for (const each of qualified) {
    const split = splitName(each)
    if (!split) continue
    const names = servers.get(split.server) ?? new Set()
    servers.set(split.server, names.add(split.name))
  }
  return servers
}

/** Resolves a group's rules to a selection per server. Exclusion always wins over inclusion. */
export function resolveGroup(rules: GroupRules): ReadonlyMap<string, Selection> {
  const picked = byServer(rules.included_tools)
  const excluded = byServer(rules.excluded_tools)
  const selections = new Map<string, Selection>()
  for (const [server, names] of picked) {
    const without = excluded.get(server)
    for (const name of without ?? []) names.delete(name)
    if (names.size > 0) selections.set(server, { isWhole: false, names, ...(without ? { without } : {}) })
  }
  for (const server of rules.included_servers) {
    selections.set(server, { isWhole: true, names: excluded.get(server) ?? new Set() })
  }
  return selections
}

/** Lookup of existing servers and tools */
export interface NameLookup {
  hasServer(name: string): boolean
  hasTool(server: string, name: string): boolean
}

/** Returns the names in the rules and overrides that no longer exist, each once. */
export function missingNames(
  rules: GroupRules & { readonly tools?: Readonly<Record<string, unknown>> },
  known: NameLookup
): { tools: string[]; servers: string[] } {
  const isMissing = (qualified: string) => {
    const split = splitName(qualified)
    return !split || !known.hasTool(split.server, split.name)
  }
  const { included_tools, excluded_tools, always_listed = [], tools: overrides = {} } = rules
  const tools = new Set([...included_tools, ...excluded_tools, ...always_listed, ...Object.keys(overrides)])
  const servers = new Set(rules.included_servers)
  return {
    tools: [...tools].filter(isMissing),
    servers: [...servers].filter((name) => !known.hasServer(name))
  }
}

/**
 * Returns true if the group can use bare names: it includes exactly one server, so that no two names can be equal
 * (mcp-proxy.md#bare-names).
 */
export const canBeBare = ({ included_tools, included_servers }: GroupRules): boolean =>
  included_servers.length === 1 && included_tools.length === 0
