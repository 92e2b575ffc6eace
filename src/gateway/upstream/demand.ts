export interface Wanted {
  /** How many should be ready; 0 where nobody calls again and again. */
  readonly wanted: number
  /** How busy it has been of late: calls, those of a quarter of a minute ago counting half. */
  readonly weight: number
}

/** What a way of calling an upstream needs in spare sessions, told from its calls. All times are of one clock, in ms. */
export interface Demand {
  /** A call that needed a session of its own. One that is taken from the spares has another in its place after `replaceMs`. */
  called(now: number, replaceMs: number): void
  at(now: number): Wanted
  /** When nothing is wanted any more, unless there is another call. */
  readonly endsAt: number
}

const HALF_LIFE_MS = 15_000

/**
 * A second call within `idleMs` deserves a spare, as many at a time deserve as many: the most calls that came, within the
 * last `idleMs`, in the time in which a spare is replaced. `idleMs` after the last call nothing is wanted.
 */
export function createDemand(most: number, idleMs: number): Demand {
  /** Times of the last calls, none older than `replaceMs` at the last of them; no more than matter. */
  const recent: number[] = []
  let peak = { calls: 0, at: 0 }
  let lastAt = -Infinity
  let isRepeated = false
  let weight = 0

  const weightAt = (now: number) => (weight === 0 ? 0 : weight * 0.5 ** ((now - lastAt) / HALF_LIFE_MS))
  return {
    called(now, replaceMs) {
      isRepeated = now - lastAt < idleMs
      weight = weightAt(now) + 1
      lastAt = now
      recent.push(now)
      while (recent.length > most || now - recent[0]! > replaceMs) recent.shift()
      if (recent.length >= peak.calls || now - peak.at >= idleMs) peak = { calls: recent.length, at: now }
    },
    at: (now) => ({
      wanted: isRepeated && now - lastAt < idleMs ? peak.calls : 0,
      weight: weightAt(now)
    }),
    get endsAt() {
      return lastAt + idleMs
    }
  }
}

/** One that wants spares, and how many it has. */
export interface Claim extends Wanted {
  readonly held: number
}

/**
 * Shares `most` spares, in the order of `claims`: each that wants any has one before any has a second, the busiest first.
 * Who has some counts double: where two are alike, a spare of one is not ended for a spare of the other with every call.
 */
export function share(claims: readonly Claim[], most: number): number[] {
  const rank = ({ weight, held }: Claim) => weight * (held > 0 ? 2 : 1)
  const shares = claims.map(() => 0)
  const order = claims.map((claim, at) => ({ claim, at })).sort((a, b) => rank(b.claim) - rank(a.claim))
  let left = most
  for (let round = 1; left > 0; round++) {
    const takers = order.filter(({ claim }) => claim.wanted >= round).slice(0, left)
    if (takers.length === 0) break
    for (const { at } of takers) shares[at] = round
    left -= takers.length
  }
  return shares
}
