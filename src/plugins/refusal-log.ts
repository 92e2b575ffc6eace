const WINDOW_MS = 60_000
const LINES = 10
/** Addresses that are remembered; past it the oldest is forgotten. */
const MAX_ADDRESSES = 10_000

/** True while an address has lines left: whoever guesses tokens must not fill the log (security page 7.2). */
export function createLineLimit(now: () => number = () => performance.now()): (address: string) => boolean {
  const seen = new Map<string, { since: number; lines: number }>()
  return (address) => {
    const known = seen.get(address)
    if (known && now() - known.since < WINDOW_MS) return ++known.lines <= LINES
    seen.delete(address)
    seen.set(address, { since: now(), lines: 1 })
    if (seen.size > MAX_ADDRESSES) seen.delete(seen.keys().next().value!)
    return true
  }
}
