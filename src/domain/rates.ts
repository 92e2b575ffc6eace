/** Number of rejected events of one key within a window */
export interface RejectedEvents {
  /** undefined: keys that appeared after the total limit was reached */
  readonly key: string | undefined
  readonly count: number
}

export interface RateOptions {
  /** Maximum number of events of one key per window */
  readonly perKey: number
  /** Maximum number of events of all keys per window; also limits the number of stored keys */
  readonly inAll: number
  /** Milliseconds, default one minute */
  readonly windowMs?: number
  readonly now?: () => number
}

/** Fixed-window rate limiter by key. `inAll` bounds its memory. */
export interface RateLimiter {
  /** Counts an event and returns true if it is within both limits. */
  admit(key: string): boolean
  /** Returns the milliseconds until the window ends; 0 or less if it has ended. */
  remainingMs(): number
  /** Starts the next window and returns the rejected events of the last one. */
  startWindow(): RejectedEvents[]
}

/** Creates a rate limiter; used for audit rows of rejected requests, log lines and failed authentications. */
export function createRateLimiter({
  perKey,
  inAll,
  windowMs = 60_000,
  now = () => performance.now()
}: RateOptions): RateLimiter {
  let start = now()
  let total = 0
  let rejectedOverall = 0
  const keys = new Map<string, { admitted: number; surplus: number }>()

  return {
    admit(key) {
      const known = keys.get(key)
      if (known && known.admitted >= perKey) {
        known.surplus++
        return false
      }
      if (total >= inAll) {
        rejectedOverall++
        return false
      }
      total++
      if (known) known.admitted++
      else keys.set(key, { admitted: 1, surplus: 0 })
      return true
    },
    remainingMs: () => start + windowMs - now(),
    startWindow() {
      const surplus: RejectedEvents[] = [...keys]
        .filter(([, one]) => one.surplus > 0)
        .map(([key, one]) => ({ key, count: one.surplus }))
      if (rejectedOverall > 0) surplus.push({ key: undefined, count: rejectedOverall })
      keys.clear()
      start = now()
      total = 0
      rejectedOverall = 0
      return surplus
    }
  }
}
