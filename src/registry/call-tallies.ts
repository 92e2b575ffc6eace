import { setImmediate } from 'node:timers/promises'
import { sql } from 'kysely'
import { failedOutcomes } from './call-causes.ts'
import type { Db } from './tables.ts'

/** Calls within a slice of time that have the server, the tool and about the duration in common. */
export interface Tally {
  /** null: what was asked for was not there. */
  readonly server: string | null
  /** null: no tool, or not there. */
  readonly tool: string | null
  /** Of the duration; null: refused or cancelled, which took no time that says anything. */
  readonly bin: number | null
  readonly calls: number
  readonly failed: number
}

/** So many bins for a duration and e times that: 8 % wide each. */
const BINS = 12
const SHORTEST_MS = 0.001

/** The middle of a bin, in milliseconds. */
export const durationOf = (bin: number): number => Number(Math.exp((bin + 0.5) / BINS).toPrecision(3))

/** Calls that came in from the second `from`, since 1970, on. */
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

/** What one slice may be and for how long it may be asked for, in seconds. The longer is a multiple of the shorter. */
const SLICES = [
  { step: 7_200, keep: 7 * 86_400 },
  { step: 900, keep: 86_400 },
  { step: 60, keep: 3_600 }
] as const
type Step = (typeof SLICES)[number]['step']

/** A call has its row when it is over, at the time at which it came in: by then but a few are over. */
const SETTLES_S = 600

/** Tallies of a slice that begins at `from`; `now` in seconds since 1970. */
export type ReadSlice = (from: number, step: Step, now: number) => Promise<readonly Tally[]>

/**
 * Reads each slice of the past once and remembers it, also when its rows are no longer kept; what is not over is read in
 * the shortest slices. In the embedded store a query stops the process, so there is none that reads much.
 */
export function createSlices(read: (from: number, seconds: number) => Promise<readonly Tally[]>): ReadSlice {
  const settled = new Map<Step, Map<number, readonly Tally[]>>(SLICES.map(({ step }) => [step, new Map()]))

  const forget = (now: number) => {
    for (const { step, keep } of SLICES) {
      const slices = settled.get(step)!
      for (const from of slices.keys()) if (from + step < now - keep) slices.delete(from)
    }
  }
  const readOne = async (from: number, seconds: number) => {
    const tallies = await read(from, seconds)
    await setImmediate()
    return tallies
  }
  const slice: ReadSlice = async (from, step, now) => {
    const known = settled.get(step)!.get(from)
    if (known) return known
    const isSettled = from + step + SETTLES_S <= now
    const finer = SLICES.find((other) => other.step < step)?.step
    if (isSettled) {
      forget(now)
      const tallies = await readOne(from, step)
      settled.get(step)!.set(from, tallies)
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
