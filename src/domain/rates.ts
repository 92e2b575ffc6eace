/** Events beyond their limit within one window. */
export interface Surplus {
  /** undefined: of keys that came once the limit for all was reached. */
  readonly key: string | undefined
  readonly count: number
}

export interface RateOptions {
  /** Events of one key that are admitted in a window. */
  readonly perKey: number
  /** The same of all keys together; also bounds how many keys are kept. */
  readonly inAll: number
  /** Milliseconds; a minute where absent. */
  readonly windowMs?: number
  readonly now?: () => number
}

/** A limit of events by key, in windows that begin one after the other. Memory is bounded by `inAll`. */
export interface Rates {
  /** True if this event is within both limits; one that is not is counted. */
  admits(key: string): boolean
  /** Milliseconds until the window is over; not above 0 when it is. */
  remaining(): number
  /** Begins the next window and tells what was beyond the limits of the last one. */
  settle(): Surplus[]
}

/** The one rate limiter: rows about refusals, log lines and failed authentications are held to it. */
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
