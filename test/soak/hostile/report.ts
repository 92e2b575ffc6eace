import type { Latency } from './latency.ts'

const MOST_TIMES_QUIET = 3
/** Below this time a ratio depends more on the machine than on the gateway. */
const LEAST_QUIET_MS = 5

/** Prefix of the kinds of requests to the gateway that nobody attacks. */
export const BESIDE = 'not attacked: '

/** Results of one phase: response times of other callers, peak resident memory, and the count of each attack. */
export interface Phase {
  readonly latency: Latency
  readonly rssMb: number
  readonly bursts: ReadonlyMap<string, number>
}

const median = (numbers: readonly number[]) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? NaN
/** Returns the percentiles of the phases that have requests of this kind. */
const percentiles = (phases: readonly Phase[], kind: string, part: number) =>
  phases.map(({ latency }) => latency.percentile(kind, part)).filter((ms) => !Number.isNaN(ms))
const kindsOf = (phases: readonly Phase[]) => [...new Set(phases.flatMap(({ latency }) => latency.kinds()))].sort()
const failuresOf = (phases: readonly Phase[], kind: string) => phases.flatMap(({ latency }) => latency.failures(kind))
const rounded = (numbers: readonly number[]) => numbers.map((each) => Math.round(each)).join(' / ')

export function printPhases(quiet: readonly Phase[], attacked: readonly Phase[]): void {
  const others = kindsOf(attacked).filter((kind) => !kind.startsWith('admin'))
  const row = (kind: string) => ({
    'quiet p50': rounded(percentiles(quiet, kind, 50)),
    'quiet p99': rounded(percentiles(quiet, kind, 99)),
    'attacked p50': rounded(percentiles(attacked, kind, 50)),
    'attacked p99': rounded(percentiles(attacked, kind, 99)),
    answers: attacked.reduce((sum, { latency }) => sum + latency.count(kind), 0),
    failures: failuresOf(attacked, kind).length
  })
  console.table(Object.fromEntries(others.map((kind) => [kind, row(kind)])))
  const deed = (kind: string) => ({
    done: attacked.reduce((sum, { latency }) => sum + latency.count(kind), 0),
    failed: failuresOf(attacked, kind).length,
    'longest, ms': Math.round(Math.max(...percentiles(attacked, kind, 100)))
  })
  const deeds = kindsOf(attacked).filter((kind) => kind.startsWith('admin'))
  console.table(Object.fromEntries(deeds.map((kind) => [kind, deed(kind)])))
  const all = deeds.map(deed)
  const done = all.reduce((sum, each) => sum + each.done, 0)
  const failed = all.reduce((sum, each) => sum + each.failed, 0)
  console.log(`actions of an administrator: ${done} of ${done + failed} succeeded`)
}

/** Compares with the gateway beside it if there is one, else with the quiet phases. */
const slowness = (kind: string, quiet: readonly Phase[], attacked: readonly Phase[]): string[] => {
  const beside = percentiles(attacked, `${BESIDE}${kind}`, 99)
  const before = median(beside.length > 0 ? beside : percentiles(quiet, kind, 99))
  const p99 = median(percentiles(attacked, kind, 99))
  const allowed = MOST_TIMES_QUIET * Math.max(LEAST_QUIET_MS, before)
  return p99 <= allowed ? [] : [`${kind}: p99 is ${p99.toFixed(0)} ms, ${allowed.toFixed(0)} ms are allowed`]
}

/** Returns the violated limits, by kind of request. */
export function violations(quiet: readonly Phase[], attacked: readonly Phase[]): string[] {
  return kindsOf([...quiet, ...attacked]).flatMap((kind) => {
    const failures = failuresOf([...quiet, ...attacked], kind)
    const failed =
      failures.length > 0 ? [`${kind}: ${failures.length} failed: ${failures.filter(Boolean).join(' | ')}`] : []
    return kind.startsWith('admin') || kind.startsWith(BESIDE)
      ? failed
      : [...failed, ...slowness(kind, quiet, attacked)]
  })
}

/** Shorter runs, in minutes, cannot make every attack. */
const MINUTES_FOR_ALL = 8

/**
 * Returns the attackers that did nothing, for lack of CPU time, and in a long run the attacks never made: such a run
 * proves nothing.
 */
export function missing(
  attacked: readonly Phase[],
  kinds: Readonly<Record<string, object>>,
  minutes: number
): string[] {
  const isMade = (name: string) => attacked.some(({ bursts }) => bursts.has(name))
  return Object.entries(kinds).flatMap(([kind, bursts]) => {
    const names = Object.keys(bursts)
    const left = names.filter((name) => !isMade(name))
    const text = `${left.length} of ${names.length} attacks of the ${kind} were not made: ${left.join(', ')}`
    if (left.length === names.length || minutes >= MINUTES_FOR_ALL) return left.length > 0 ? [text] : []
    if (left.length > 0) console.log(text)
    return []
  })
}
