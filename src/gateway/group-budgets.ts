import type { Catalog, CatalogGroup } from '../catalog/catalog.ts'
import { scopeFor } from '../catalog/scope.ts'
import { budgetOf } from '../catalog/token-budget.ts'
import type { Log } from './base.ts'
import type { LiveCatalog } from './live-catalog.ts'

/** Returns the estimated tokens of each group, for metrics. */
export const groupTokens = (catalog: Catalog): (readonly [group: string, tokens: number])[] =>
  catalog.groups.map((group) => [group.stored.name, budgetOf(scopeFor(catalog, group)).tokens])

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
  const { tokens } = budgetOf(scopeFor(catalog, group))
  return tokens > limit ? tokens : undefined
}
