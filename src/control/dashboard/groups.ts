import { missingNames, selects } from '../../domain/groups.ts'
import { splitName } from '../../domain/names.ts'
import type { GroupConfig } from '../../registry/model/model.ts'
import type { GroupTool, LeftOutTool, ToolGroupPreview } from '../../schemas/dashboard/tool-groups.ts'
import { AppError } from '../../lib/errors.ts'
import { partsOf } from '../../catalog/group-parts.ts'
import { budgetOf, listTokensOf } from '../../catalog/token-budget.ts'
import { checkOverrides } from '../group-tools.ts'
import { resolveGroupConfig, type Catalog, type Item, type ResolvedGroup } from '../../catalog/catalog.ts'
import { checkBare, checkSearchNames, namesIn } from '../groups.ts'
import { globalScope, scopeFor } from '../../catalog/scope.ts'
import type { Permit } from '../../domain/policy/permit.ts'
import { factsOf } from './items.ts'

/** Tools that a group serves or leaves out, with reasons, computed with the scope that calls use. */
export interface EffectiveTools {
  readonly tool_count: number
  readonly tokens: number
  readonly tokens_before: number
  /** Of the tools that the endpoint lists. */
  readonly list_tokens: number
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
export function effectiveOf(
  catalog: Catalog,
  config: GroupConfig,
  group: ResolvedGroup,
  permit?: Permit
): EffectiveTools {
  const scope = scopeFor(catalog, group, permit)
  const budget = budgetOf(scope)
  const parts = partsOf(catalog, group)
  const tools = budget.tools.map(({ item, name, tokens, before }): GroupTool => {
    const { publicName, alias, server } = item
    const reason = group.selections.get(server.name)!.isWhole ? 'server' : 'picked'
    const isUsual = name === (group.isBare ? alias : publicName)
    return {
      name: publicName,
      server: server.name,
      reason,
      tokens,
      tokens_before: before,
      ...(!isUsual && { shown_as: name })
    }
  })
  const left = catalog.servers.flatMap((server) => {
    const part = group.selections.get(server.name)
    if (!part) return []
    const chosen = server.items('tool').filter((item) => selects(part, item.name, item.alias) && !scope.includes(item))
    return chosen.map((item): LeftOutTool => ({
      name: item.publicName,
      reason: parts.isWithheld(item) ? 'withheld' : whyLeftOut(item)
    }))
  })
  const { hasTool } = namesIn(catalog)
  const exists = (name: string) => {
    const split = splitName(name)
    return split !== undefined && hasTool(split.server, split.name)
  }
  const excluded = config.excluded_tools.filter(exists).map((name) => ({ name, reason: 'excluded' as const }))
  const missing = config.included_tools
    .filter((name) => !exists(name))
    .map((name) => ({ name, reason: 'missing' as const }))
  const { tokens, before } = budget
  const left_out = [...left, ...excluded, ...missing]
  return { tool_count: tools.length, tokens, tokens_before: before, list_tokens: listTokensOf(scope), tools, left_out }
}

/** Counts the tools of the global endpoint and estimates their tokens. */
function countGlobalTools(catalog: Catalog): { count: number; tokens: number } {
  const items = globalScope(catalog).servers.flatMap((server) => server.items('tool').filter(({ enabled }) => enabled))
  return { count: items.length, tokens: tokensOf(items) }
}

/** Returns the message of the 400 that a check throws, if any. */
function problemOf(check: () => void): string | undefined {
  try {
    check()
    return undefined
  } catch (error) {
    if (error instanceof AppError) return error.message
    throw error
  }
}

/**
 * Returns the tools that a group would serve, and the names that do not exist. Throws 400 if the group could not be
 * stored for another reason.
 */
export function previewOf(catalog: Catalog, config: GroupConfig): ToolGroupPreview {
  checkBare(config)
  const { tools, servers } = missingNames(config, namesIn(catalog))
  const all = countGlobalTools(catalog)
  const problem = problemOf(() => {
    checkOverrides(catalog, config)
    checkSearchNames(catalog, config)
  })
  return {
    ...effectiveOf(catalog, config, resolveGroupConfig(config)),
    ...(problem === undefined ? {} : { problem }),
    search_tokens: listTokensOf(scopeFor(catalog, resolveGroupConfig({ ...config, tool_list: 'search' }))),
    missing: [...tools, ...servers],
    total_tool_count: all.count,
    total_tokens: all.tokens
  }
}
