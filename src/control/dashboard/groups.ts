import { missingNames, selects } from '../../domain/groups.ts'
import { splitName } from '../../domain/names.ts'
import type { GroupConfig } from '../../registry/model/model.ts'
import type { GroupTool, LeftOutTool, ToolGroupPreview } from '../../schemas/dashboard/tool-groups.ts'
import { resolveSelections, type Catalog, type Item } from '../../catalog/catalog.ts'
import { checkBare, namesIn } from '../groups.ts'
import { globalScope, scopeFor } from '../../catalog/scope.ts'
import type { Permit } from '../../domain/policy/permit.ts'
import { factsOf } from './items.ts'

/** Tools that a group serves or leaves out, with reasons, computed with the scope that calls use. */
export interface EffectiveTools {
  readonly tool_count: number
  readonly tokens: number
  readonly tools: GroupTool[]
  readonly left_out: LeftOutTool[]
}

const sumOf = (tools: readonly { tokens: number }[]) => tools.reduce((sum, { tokens }) => sum + tokens, 0)

/** Estimates the tokens of the definitions of tools. */
export const tokensOf = (tools: readonly Item[]): number => sumOf(tools.map(factsOf))

function whyLeftOut({ server, stored }: Item): LeftOutTool['reason'] {
  if (!server.enabled) return 'server_disabled'
  return stored.enabled ? 'unusable' : 'disabled'
}

/** Returns what the endpoint of a group serves to callers with the permit; without one, to all. */
export function effectiveOf(catalog: Catalog, config: GroupConfig, permit?: Permit): EffectiveTools {
  const group = resolveSelections(config)
  const scope = scopeFor(catalog, group, permit)
  const tools: GroupTool[] = []
  const left: LeftOutTool[] = []
  for (const server of catalog.servers) {
    const part = group.selections.get(server.name)
    if (!part) continue
    const reason = part.isWhole ? 'server' : 'picked'
    for (const item of server.items('tool').filter(({ name, alias }) => selects(part, name, alias))) {
      const name = item.publicName
      if (scope.includes(item)) tools.push({ name, server: server.name, reason, tokens: factsOf(item).tokens })
      else left.push({ name, reason: whyLeftOut(item) })
    }
  }
  const { hasTool } = namesIn(catalog)
  const exists = (name: string) => {
    const split = splitName(name)
    return split !== undefined && hasTool(split.server, split.name)
  }
  const excluded = config.excluded_tools.filter(exists).map((name) => ({ name, reason: 'excluded' as const }))
  const missing = config.included_tools
    .filter((name) => !exists(name))
    .map((name) => ({ name, reason: 'missing' as const }))
  return { tool_count: tools.length, tokens: sumOf(tools), tools, left_out: [...left, ...excluded, ...missing] }
}

/** Counts the tools of the global endpoint and estimates their tokens. */
function countGlobalTools(catalog: Catalog): { count: number; tokens: number } {
  const items = globalScope(catalog).servers.flatMap((server) => server.items('tool').filter(({ enabled }) => enabled))
  return { count: items.length, tokens: tokensOf(items) }
}

/**
 * Returns the tools that a group would serve, and the names that do not exist. Throws 400 if the group could not be
 * stored for another reason.
 */
export function previewOf(catalog: Catalog, config: GroupConfig): ToolGroupPreview {
  checkBare(config)
  const { tools, servers } = missingNames(config, namesIn(catalog))
  const all = countGlobalTools(catalog)
  return {
    ...effectiveOf(catalog, config),
    missing: [...tools, ...servers],
    total_tool_count: all.count,
    total_tokens: all.tokens
  }
}
