import type { Bench } from './bench.ts'
import type { Round, Target } from './load.ts'
import { cpuMs } from './processes.ts'
import { interleaved, median, medianRatio } from './statistics.ts'

export interface Candidate {
  readonly name: string
  readonly pid: number
  readonly target: Target
  /** Returns the CPU time so far in milliseconds; that of the process `pid` if absent. */
  readonly cpuMs?: () => number
}

export interface CompareOptions {
  readonly rounds?: number
  /** Milliseconds per round. */
  readonly ms?: number
  /** A steady request rate instead of as many requests as possible. */
  readonly perSecond?: number
  /** Requests per round; `ms` is then its time limit. */
  readonly requests?: number
}

/** Results of a candidate's rounds, in order. */
export interface Measurement {
  readonly name: string
  readonly cpuUs: readonly number[]
  readonly perSecond: readonly number[]
  readonly p50: readonly number[]
  readonly p99: readonly number[]
  readonly maxMs: readonly number[]
  readonly errors: number
  readonly sample: string
}

/** Short rounds, so that a machine that becomes slower or faster for seconds affects all candidates alike. */
const ROUND_MS = 250
const QUICK_MS = 200
/** Rounds of each start, unless a row sets them. */
export const ROUNDS = 28
const QUICK_ROUNDS = 4
/** Warm-up, in rounds, before the first measured one: hot code is compiled by then. */
const WARM_UP = 24

interface MeasuredRound extends Round {
  readonly cpuUs: number
}

function summary(name: string, rounds: readonly MeasuredRound[]): Measurement {
  const of = (pick: (round: MeasuredRound) => number) => rounds.map(pick)
  return {
    name,
    cpuUs: of(({ cpuUs }) => cpuUs),
    perSecond: of(({ requests, elapsedMs }) => (requests * 1_000) / elapsedMs),
    p50: of(({ p50 }) => p50),
    p99: of(({ p99 }) => p99),
    maxMs: of(({ maxMs }) => maxMs),
    errors: rounds.reduce((sum, { errors }) => sum + errors, 0),
    sample: rounds.find(({ sample }) => sample !== '')?.sample ?? ''
  }
}

/**
 * Measures all candidates in one interleaved run, after a warm-up round of each that counts only its errors. CPU is
 * that of the candidate's own process, per request.
 */
export async function compare(
  bench: Bench,
  candidates: readonly Candidate[],
  options: CompareOptions = {}
): Promise<Measurement[]> {
  const { rounds = ROUNDS, ms = ROUND_MS, perSecond, requests } = options
  const load = await bench.load()
  const results = new Map<string, MeasuredRound[]>(candidates.map(({ name }) => [name, []]))
  const measure = async (
    { name, pid, target, cpuMs: read = () => cpuMs(pid) }: Candidate,
    times = 1
  ): Promise<MeasuredRound> => {
    const before = read()
    const roundMs = times * (bench.isQuick ? Math.min(ms, perSecond ? 2_000 : QUICK_MS) : ms)
    const most = requests && times * requests
    const round = await load({ key: name, target, ms: roundMs, ...(perSecond && { perSecond }), ...(most && { most }) })
    return { ...round, cpuUs: ((read() - before) * 1_000) / round.requests }
  }
  const warmUp: Round[] = []
  for (const candidate of candidates) warmUp.push(await measure(candidate, perSecond ? 1 : WARM_UP))
  for (let round = 0; round < (bench.isQuick ? QUICK_ROUNDS : rounds); round++) {
    for (const candidate of interleaved(candidates, round)) {
      results.get(candidate.name)!.push(await measure(candidate))
    }
  }
  return candidates.map(({ name }, index) => {
    const measured = summary(name, results.get(name)!)
    const { errors, sample } = warmUp[index]!
    return { ...measured, errors: measured.errors + errors, sample: measured.sample || sample }
  })
}

/** Fresh processes to compare, and how to end them. */
export interface Start {
  readonly candidates: readonly Candidate[]
  stop(): Promise<void>
}

/**
 * Compares processes that are started anew `starts` times, and joins their rounds: two processes of one program, started
 * one after the other, differ by up to 10 % for as long as they run. `start` returns the same candidates each time.
 */
export async function compareStarts(
  bench: Bench,
  starts: number,
  start: () => Promise<Start>,
  options: CompareOptions = {}
): Promise<Measurement[]> {
  const all: Measurement[][] = []
  for (let at = 0; at < (bench.isQuick ? 1 : starts); at++) {
    const { candidates, stop } = await start()
    all.push(await compare(bench, candidates, options))
    await stop()
  }
  return all[0]!.map((first, index) =>
    joined(
      first.name,
      all.map((each) => each[index]!)
    )
  )
}

const joined = (name: string, parts: readonly Measurement[]): Measurement => ({
  name,
  cpuUs: parts.flatMap(({ cpuUs }) => cpuUs),
  perSecond: parts.flatMap(({ perSecond }) => perSecond),
  p50: parts.flatMap(({ p50 }) => p50),
  p99: parts.flatMap(({ p99 }) => p99),
  maxMs: parts.flatMap(({ maxMs }) => maxMs),
  errors: errorsOf(...parts),
  sample: parts.find(({ sample }) => sample !== '')?.sample ?? ''
})

export const cpuRatio = (one: Measurement, reference: Measurement) => medianRatio(one.cpuUs, reference.cpuUs)
export const speedRatio = (one: Measurement, reference: Measurement) => medianRatio(one.perSecond, reference.perSecond)

/** Formats `name 45 µs, 20,000/s, p50 0.5 ms` for each candidate, and the first error. */
export const figures = (...all: readonly Measurement[]): string =>
  all
    .map(({ name, cpuUs, perSecond, p50, sample }) => {
      const rate = Math.round(median(perSecond)).toLocaleString('en')
      const text = `${name} ${median(cpuUs).toFixed(0)} µs, ${rate}/s, p50 ${median(p50).toFixed(2)} ms`
      return sample === '' ? text : `${text} (first error: ${sample})`
    })
    .join('; ')

export const errorsOf = (...all: readonly Measurement[]) => all.reduce((sum, { errors }) => sum + errors, 0)
