import { setImmediate } from 'node:timers/promises'
import { sql } from 'kysely'
import { failedOutcomes } from './call-causes.ts'
import type { Db } from '../model/tables.ts'

/** Number of calls in a time slice with the same server, tool and approximate duration */
export interface Tally {
  /** null: the requested item did not exist */
  readonly server: string | null
  /** null: not a tool, or it did not exist */
  readonly tool: string | null
  /** Histogram bin of the duration; null for refused and cancelled calls, whose duration means nothing */
  readonly bin: number | null
  readonly calls: number
  readonly failed: number
}

/** Bins per factor e of the duration: each is 8 % wide */
const BINS = 12
const SHORTEST_MS = 0.001

/** Returns the middle of a bin, in milliseconds. */
export const durationOf = (bin: number): number => Number(Math.exp((bin + 0.5) / BINS).toPrecision(3))

/** Counts calls that arrived in the `seconds` from `from` (seconds since 1970). */
export async function readTallies(db: Db, from: number, seconds: number): Promise<Tally[]> {
  const { rows } = await sql<Tally>`
    select
      server,
      case when kind = 'tool' and server is not null then item end as tool,
      case when outcome not in ('refused', 'cancelled')
        then floor(ln(greatest(total_ms, ${sql.lit(SHORTEST_MS)})::double precision) * ${sql.lit(BINS)})::integer end as bin,
      count(*)::integer as calls,
      count(*) filter (where outcome in (${sql.join(failedOutcomes)}))::integer as failed
    from calls where at >= to_timestamp(${from}) and at < to_timestamp(${from + seconds})
    group by 1, 2, 3`.execute(db)
  return rows
}

/** Lengths of slices and how long each stays cached, in seconds. Each length is a multiple of the next. */
const SLICES = [
  { step: 7_200, keep: 7 * 86_400 },
  { step: 900, keep: 86_400 },
  { step: 60, keep: 3_600 }
] as const
type Step = (typeof SLICES)[number]['step']

/**
 * Age at which a slice is considered final: a row is stored when its call ends, under the time at which the call
 * arrived.
 */
const FINAL_AFTER_S = 600

/** Returns the tallies of a slice beginning at `from`; `now` is in seconds since 1970. */
export type ReadSlice = (from: number, step: Step, now: number) => Promise<readonly Tally[]>

/**
 * Reads each final slice once and caches it, even after its rows are deleted; slices that are not final are composed of
 * shorter ones. A query of the embedded store blocks the process, so each query is small.
 */
export function createSlices(read: (from: number, seconds: number) => Promise<readonly Tally[]>): ReadSlice {
  const finalSlices = new Map<Step, Map<number, readonly Tally[]>>(SLICES.map(({ step }) => [step, new Map()]))

  const deleteExpiredSlices = (now: number) => {
    for (const { step, keep } of SLICES) {
      const slices = finalSlices.get(step)!
      for (const from of slices.keys()) if (from + step < now - keep) slices.delete(from)
    }
  }
  const readOne = async (from: number, seconds: number) => {
    const tallies = await read(from, seconds)
    await setImmediate()
    return tallies
  }
  const slice: ReadSlice = async (from, step, now) => {
    const known = finalSlices.get(step)!.get(from)
    if (known) return known
    const isFinal = from + step + FINAL_AFTER_S <= now
    const finer = SLICES.find((other) => other.step < step)?.step
    if (isFinal) {
      deleteExpiredSlices(now)
      const tallies = await readOne(from, step)
      finalSlices.get(step)!.set(from, tallies)
      return tallies
    }
    if (finer === undefined) return readOne(from, step)
    const parts: Tally[] = []
    for (let begin = from; begin < from + step && begin <= now; begin += finer) {
      parts.push(...(await slice(begin, finer, now)))
    }
    return parts
  }
  return slice
}
