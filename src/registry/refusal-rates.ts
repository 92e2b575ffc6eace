import { networkOf } from '../domain/client-address.ts'

const WINDOW_MS = 60_000
const PER_ADDRESS = 60
const IN_ALL = 600

/** Refusals that left no row of their own. */
export interface Surplus {
  /** Undefined: of all addresses that came once the limit for all was reached. */
  readonly address: string | undefined
  readonly count: number
}

/**
 * Whoever is refused often must not fill the log: 60 rows a minute of one address, 600 of all. An IPv6 network of 64 bits
 * counts as one address, because whoever has one has all of it.
 */
export function createRefusalRates(now: () => number = () => performance.now()) {
  let start = now()
  let total = 0
  let beyond = 0
  const addresses = new Map<string, { recorded: number; surplus: number }>()

  return {
    /** Whether this one gets a row. */
    admits(address: string | undefined): boolean {
      const key = networkOf(address ?? '')
      const known = addresses.get(key)
      if (known && known.recorded >= PER_ADDRESS) {
        known.surplus++
        return false
      }
      if (total >= IN_ALL) {
        beyond++
        return false
      }
      total++
      if (known) known.recorded++
      else addresses.set(key, { recorded: 1, surplus: 0 })
      return true
    },
    /** Milliseconds until the minute is over; not above 0 when it is. */
    remaining: () => start + WINDOW_MS - now(),
    /** Begins the next minute. */
    settle(): Surplus[] {
      const surplus: Surplus[] = [...addresses]
        .filter(([, one]) => one.surplus > 0)
        .map(([address, one]) => ({ address: address || undefined, count: one.surplus }))
      if (beyond > 0) surplus.push({ address: undefined, count: beyond })
      addresses.clear()
      start = now()
      total = 0
      beyond = 0
      return surplus
    }
  }
}
