export interface PoolTarget {
  /** Number of spare sessions to keep; 0 without repeated calls. */
  readonly target: number
  /** Recent load: the number of calls, halved every 15 seconds. */
  readonly load: number
}

/**
 * Computes the number of spare sessions for one kind of caller from its calls. All times are milliseconds of one clock.
 */
export interface PoolSizer {
  /**
   * Records a call that needed a session of its own. `replaceMs`: time until a session taken from the pool is replaced.
   */
  recordCall(now: number, replaceMs: number): void
  targetAt(now: number): PoolTarget
  /** Time at which the target drops to 0 unless another call arrives. */
  readonly expiresAt: number
}

const HALF_LIFE_MS = 15_000

/**
 * The target is the largest number of calls, within the last `spareIdleMs`, that arrived in the time it takes to replace a
 * session. A single call within `spareIdleMs` gets none, and the target drops to 0 `spareIdleMs` after the last call.
 */
export function createPoolSizer(maxSize: number, spareIdleMs: number): PoolSizer {
  /** Times of recent calls, none older than `replaceMs` at the latest call; at most `maxSize` of them. */
  const recent: number[] = []
  let peak = { calls: 0, at: 0 }
  let lastAt = -Infinity
  let isRepeated = false
  let load = 0

  const loadAt = (now: number) => (load === 0 ? 0 : load * 0.5 ** ((now - lastAt) / HALF_LIFE_MS))
  return {
    recordCall(now, replaceMs) {
      isRepeated = now - lastAt < spareIdleMs
      load = loadAt(now) + 1
      lastAt = now
      recent.push(now)
      while (recent.length > maxSize || now - recent[0]! > replaceMs) recent.shift()
      if (recent.length >= peak.calls || now - peak.at >= spareIdleMs) peak = { calls: recent.length, at: now }
    },
    targetAt: (now) => ({
      target: isRepeated && now - lastAt < spareIdleMs ? peak.calls : 0,
      load: loadAt(now)
    }),
    get expiresAt() {
      return lastAt + spareIdleMs
    }
  }
}

/** The target of one kind of caller, and the number of its sessions that are open or being opened. */
export interface PoolClaim extends PoolTarget {
  readonly count: number
}

/**
 * Divides `maxSize` spare sessions among `claims`, in the order of `claims`: each claim with a target gets one before any
 * gets a second, the busiest first. A claim that already holds sessions counts double, so two equally busy claims do
 * not take sessions from each other with every call.
 */
export function allocateSessions(claims: readonly PoolClaim[], maxSize: number): number[] {
  const rank = ({ load, count }: PoolClaim) => load * (count > 0 ? 2 : 1)
  const allocation = claims.map(() => 0)
  const order = claims.map((claim, at) => ({ claim, at })).sort((a, b) => rank(b.claim) - rank(a.claim))
  let remaining = maxSize
  for (let round = 1; remaining > 0; round++) {
    const takers = order.filter(({ claim }) => claim.target >= round).slice(0, remaining)
    if (takers.length === 0) break
    for (const { at } of takers) allocation[at] = round
    remaining -= takers.length
  }
  return allocation
}
