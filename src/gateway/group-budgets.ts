import type { Catalog, CatalogGroup } from '../catalog/catalog.ts'
import { scopeFor } from '../catalog/scope.ts'
import { budgetOf, listTokensOf } from '../catalog/token-budget.ts'
import type { Log } from './base.ts'
import type { LiveCatalog } from './live-catalog.ts'

/** Estimated tokens of a group. */
export interface GroupTokens {
  readonly group: string
  /** Of all its tools */
  readonly tools: number
  /** Of the tools that its endpoint lists */
  readonly list: number
}

/** Returns the estimated tokens of each group's tools, and of those that its endpoint lists, for metrics. */
export const groupTokens = (catalog: Catalog): GroupTokens[] =>
  catalog.groups.map((group) => {
    const scope = scopeFor(catalog, group)
    return { group: group.stored.name, tools: budgetOf(scope).tokens, list: listTokensOf(scope) }
  })

/** Logs each group whose tools have grown beyond its limit of tokens, once until it fits again. */
export function watchGroupBudgets(live: Pick<LiveCatalog, 'onChange'>, log: Pick<Log, 'warn'>): void {
  let exceeding = new Set<string>()
  live.onChange('notify', ({ next }) => {
    const now = new Set<string>()
    for (const group of next.groups) {
      const { name, max_tokens: limit } = group.stored
      const tokens = tokensBeyond(next, group)
      if (tokens === undefined) continue
      now.add(name)
      if (!exceeding.has(name)) log.warn({ group: name, tokens, limit }, 'a group has more tokens than its limit')
    }
    exceeding = now
  })
}

/** Returns the tokens of a group that exceeds its limit; undefined for all others. */
function tokensBeyond(catalog: Catalog, group: CatalogGroup): number | undefined {
  const { max_tokens: limit } = group.stored
  if (limit === null) return undefined
  const tokens = listTokensOf(scopeFor(catalog, group))
  return tokens > limit ? tokens : undefined
}
