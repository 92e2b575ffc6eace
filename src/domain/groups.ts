import { splitName } from './names.ts'

/** Which tools a group holds (http-contract.md#tool-groups). Names are exact; tools in `<server>__<tool>` form. */
export interface GroupRules {
  readonly included_tools: readonly string[]
  readonly included_servers: readonly string[]
  readonly excluded_tools: readonly string[]
}

/** What a group takes of one server. */
export interface Selection {
  /** The server is included as a whole, so that its prompts and resources are too. */
  readonly isWhole: boolean
  /** Names of tools behind `<server>__`: those that a whole server lacks, else those that were picked. */
  readonly names: ReadonlySet<string>
  /** Names that are excluded from those that were picked: a renamed tool may be picked by one name and excluded by the other. */
  readonly without?: ReadonlySet<string>
}

export const everything: Selection = { isWhole: true, names: new Set() }

/** True if a tool is part of the selection; `name` and `alias`: both names of a tool that was renamed. */
export function takes({ isWhole, names, without }: Selection, name: string, alias = name): boolean {
  const isNamed = names.has(name) || names.has(alias)
  if (isWhole || without === undefined) return isWhole !== isNamed
  return isNamed && !without.has(name) && !without.has(alias)
}

/** Own names by server. What is no qualified name is nobody's. */
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

/** A group's part of each server of which it takes something. Exclusion always wins, however a tool came in. */
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

/** What there is, for telling which names of a group lead nowhere. */
export interface Known {
  hasServer(name: string): boolean
  hasTool(server: string, name: string): boolean
}

/** Names that lead to nothing, each once, as they stand in the rules. */
export function missingNames(rules: GroupRules, known: Known): { tools: string[]; servers: string[] } {
  const isMissing = (qualified: string) => {
    const split = splitName(qualified)
    return !split || !known.hasTool(split.server, split.name)
  }
  const tools = new Set([...rules.included_tools, ...rules.excluded_tools])
  const servers = new Set(rules.included_servers)
  return {
    tools: [...tools].filter(isMissing),
    servers: [...servers].filter((name) => !known.hasServer(name))
  }
}

/** Bare names are those of one server; two could have the same (mcp-proxy.md#bare-names). */
export const canBeBare = ({ included_tools, included_servers }: GroupRules): boolean =>
  included_servers.length === 1 && included_tools.length === 0
