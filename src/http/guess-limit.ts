import { LRUCache } from 'lru-cache'

const MAX_KEYS = 10_000

/** Locks out those who guess: after some wrong values even right ones are refused for a while. */
export interface GuessLimit {
  /**
   * Counts a value for each key before it is looked up, so that many at once are no way around. Returns undefined, or
   * the seconds until all keys may try again; nothing is counted then.
   */
  begin(keys: readonly string[]): number | undefined
  /** Takes a count back: the value was right. */
  forgive(keys: readonly string[]): void
}

export interface GuessLimitOptions {
  /** Wrong values that a key may give. */
  readonly allowed: number
  /** Milliseconds since the last wrong value after which a key starts anew. */
  readonly pauseMs: number
  readonly now?: () => number
}

export function createGuessLimit({ allowed, pauseMs, now = () => performance.now() }: GuessLimitOptions): GuessLimit {
  const counts = new LRUCache<string, { readonly count: number; readonly at: number }>({ max: MAX_KEYS })
  const current = (key: string) => {
    const found = counts.get(key)
    return found && now() - found.at < pauseMs ? found : undefined
  }
  return {
    begin(keys) {
      const waits = keys.flatMap((key) => {
        const found = current(key)
        return found && found.count >= allowed ? [found.at + pauseMs - now()] : []
      })
      if (waits.length > 0) return Math.max(1, Math.ceil(Math.max(...waits) / 1_000))
      for (const key of keys) counts.set(key, { count: (current(key)?.count ?? 0) + 1, at: now() })
      return undefined
    },
    forgive(keys) {
      for (const key of keys) {
        const found = current(key)
        if (found) counts.set(key, { ...found, count: Math.max(0, found.count - 1) })
      }
    }
  }
}
