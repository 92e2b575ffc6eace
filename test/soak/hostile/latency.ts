/** Response times of each kind of request, in milliseconds. */
export interface Latency {
  record(kind: string, ms: number): void
  recordFailure(kind: string, why: string): void
  /** Returns a percentile of a kind, 0 to 100; NaN without measurements. */
  percentile(kind: string, part: number): number
  kinds(): readonly string[]
  count(kind: string): number
  failures(kind: string): readonly string[]
}

const KEPT = 5

export function createLatency(): Latency {
  const times = new Map<string, number[]>()
  const problems = new Map<string, string[]>()
  const of = <T>(map: Map<string, T[]>, kind: string): T[] => {
    const known = map.get(kind) ?? []
    map.set(kind, known)
    return known
  }
  return {
    record: (kind, ms) => void of(times, kind).push(ms),
    recordFailure(kind, why) {
      const known = of(problems, kind)
      known.push(known.length < KEPT ? why.slice(0, 300) : '')
    },
    percentile(kind, part) {
      const sorted = [...(times.get(kind) ?? [])].sort((a, b) => a - b)
      return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * part) / 100))] ?? NaN
    },
    kinds: () => [...new Set([...times.keys(), ...problems.keys()])].sort(),
    count: (kind) => times.get(kind)?.length ?? 0,
    failures: (kind) => problems.get(kind) ?? []
  }
}
