import type { ServerView } from '../../../src/schemas/dashboard/servers.ts'
import { TRANSPORTS } from '../../../src/domain/transports.ts'
import { needsAttention } from './server-state.ts'

export const sortKeys = ['name', 'status', 'transport', 'tools', 'recent', 'calls', 'p95', 'failed', 'enabled'] as const
const ascendingFirst: readonly SortKey[] = ['name', 'status', 'transport', 'enabled']
export type SortKey = (typeof sortKeys)[number]

export interface Sort {
  readonly key: SortKey
  readonly isDescending: boolean
}

/** Parses the query member `sort`: the key, after `-` if descending; undefined for the default order. */
export function parseSort(text = ''): Sort | undefined {
  const isDescending = text.startsWith('-')
  const key = sortKeys.find((each) => each === text.slice(isDescending ? 1 : 0))
  return key && { key, isDescending }
}

/** Returns the query member after a click on a column: its useful direction, then the other, then the default order. */
export function nextSort(current: Sort | undefined, key: SortKey): string | undefined {
  const startsDescending = !ascendingFirst.includes(key)
  if (current?.key !== key) return startsDescending ? `-${key}` : key
  if (current.isDescending !== startsDescending) return undefined
  return startsDescending ? key : `-${key}`
}

const severity: Readonly<Record<ServerView['status'], number>> = {
  failing: 0,
  sign_in_needed: 1,
  connecting: 2,
  unknown: 3,
  connected: 4,
  disabled: 5
}

const values: Readonly<Record<Exclude<SortKey, 'name'>, (server: ServerView) => number | undefined>> = {
  transport: ({ transport }) => TRANSPORTS.indexOf(transport),
  enabled: ({ enabled }) => Number(enabled),
  // the bars next to the total
  recent: ({ stats_24h }) => stats_24h?.calls,
  status: ({ status }) => severity[status],
  tools: ({ tool_count }) => tool_count,
  calls: ({ stats_24h }) => stats_24h?.calls,
  p95: ({ stats_24h }) => stats_24h?.p95_ms,
  failed: ({ stats_24h }) => (stats_24h && stats_24h.calls > 0 ? stats_24h.failed / stats_24h.calls : undefined)
}

/** Returns the servers in order; by default those that need attention first. Unknown values are last, ties by name. */
export function sortServers(servers: readonly ServerView[], sort: Sort | undefined): ServerView[] {
  const byName = servers.toSorted((a, b) => a.name.localeCompare(b.name))
  if (!sort) return byName.toSorted((a, b) => Number(needsAttention(b)) - Number(needsAttention(a)))
  const { key, isDescending } = sort
  if (key === 'name') return isDescending ? byName.toReversed() : byName
  const valueOf = values[key]
  return byName.toSorted((a, b) => {
    const [first, second] = [valueOf(a), valueOf(b)]
    if (first === undefined || second === undefined) return Number(first === undefined) - Number(second === undefined)
    return isDescending ? second - first : first - second
  })
}
