/** Number of rejected events of one key within a window */
export interface Surplus {
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
export interface Rates {
  /** Counts an event and returns true if it is within both limits. */
  admits(key: string): boolean
  /** Returns the milliseconds until the window ends; 0 or less if it has ended. */
  remaining(): number
  /** Starts the next window and returns the rejected events of the last one. */
  settle(): Surplus[]
}

/** Creates a rate limiter; used for audit rows of rejected requests, log lines and failed authentications. */
export function createRates({ perKey, inAll, windowMs = 60_000, now = () => performance.now() }: RateOptions): Rates {
  let start = now()
  let total = 0
  let beyond = 0
  const keys = new Map<string, { admitted: number; surplus: number }>()

  return {
    admits(key) {
      const known = keys.get(key)
      if (known && known.admitted >= perKey) {
        known.surplus++
        return false
      }
      if (total >= inAll) {
        beyond++
        return false
      }
      total++
      if (known) known.admitted++
      else keys.set(key, { admitted: 1, surplus: 0 })
      return true
    },
    remaining: () => start + windowMs - now(),
    settle() {
      const surplus: Surplus[] = [...keys]
        .filter(([, one]) => one.surplus > 0)
        .map(([key, one]) => ({ key, count: one.surplus }))
      if (beyond > 0) surplus.push({ key: undefined, count: beyond })
      keys.clear()
      start = now()
      total = 0
      beyond = 0
      return surplus
    }
  }
}
