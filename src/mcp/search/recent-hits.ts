import { LRUCache } from 'lru-cache'

const MAX_CALLERS = 1_000
const MAX_AGE_MS = 600_000

/** Remembers what callers found last, to count the position of the tool that they call next. */
export interface RecentHits {
  /** Notes the names that a caller found, best first. */
  found(caller: string, endpoint: string, names: readonly string[]): void
  /** Notes the next call of a caller, if it has found something since its last one. */
  called(caller: string, endpoint: string, name: string): void
}

/** Creates an empty memory. `onCall`: position of the tool among the hits, from 1; 0 if it was not among them. */
export function createRecentHits(onCall: (rank: number) => void): RecentHits {
  const recent = new LRUCache<string, readonly string[]>({ max: MAX_CALLERS, ttl: MAX_AGE_MS })
  const keyOf = (caller: string, endpoint: string) => `${endpoint} ${caller}`
  return {
    found: (caller, endpoint, names) => void recent.set(keyOf(caller, endpoint), names),
    called(caller, endpoint, name) {
      const key = keyOf(caller, endpoint)
      const names = recent.get(key)
      if (!names) return
      recent.delete(key)
      onCall(names.indexOf(name) + 1)
    }
  }
}
