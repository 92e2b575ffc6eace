/** Constant of reciprocal rank fusion: the smaller, the more the first places count */
const K = 10

/**
 * Merges two rankings, best first, by reciprocal rank fusion. Equal scores keep the order of the first. `pinned`: number
 * of items of the first ranking that come first in any case. `isUnranked`: items that the second ranking knows nothing
 * about; their places in the first count for both.
 */
export function fuseRankings<T>(
  first: readonly T[],
  second: readonly T[],
  { limit, pinned = 0, isUnranked }: { limit: number; pinned?: number; isUnranked: (item: T) => boolean }
): T[] {
  const scores = new Map<T, number>()
  const add = (item: T, rank: number, times = 1) => scores.set(item, (scores.get(item) ?? 0) + times / (K + rank + 1))
  for (const [rank, item] of first.entries()) add(item, rank, isUnranked(item) ? 2 : 1)
  for (const [rank, item] of second.entries()) add(item, rank)
  const head = first.slice(0, pinned)
  for (const item of head) scores.delete(item)
  const rest = [...scores].toSorted(([, a], [, b]) => b - a).map(([item]) => item)
  return [...head, ...rest].slice(0, limit)
}
