import type { CallFigures, Range, ServerStrip } from '../../schemas/stats.ts'
import { createSlices, durationOf, type ReadSlice, type Tally } from './call-tallies.ts'

const chartShapes = {
  '1h': { step: 60, count: 60 },
  '24h': { step: 900, count: 96 },
  '7d': { step: 7_200, count: 84 }
} as const
type Shape = (typeof chartShapes)[Range]
/** Half-hours, each of two slices of the 24-hour chart */
const STRIP_SHAPE = { step: 1_800, count: 48 }
const MAX_TOOLS = 10

/** Activity of each server within a day */
export interface ActivityStrips {
  /** Start of the first half-hour, ISO 8601 */
  readonly from: string
  /** Servers with calls, ordered by name */
  readonly servers: readonly ServerStrip[]
}

/** Figures for the charts, cached for some seconds */
export interface CallStats {
  stats(range: Range): Promise<CallFigures>
  strips(): Promise<ActivityStrips>
}

type Percentiles = Pick<CallFigures['total'], 'p50_ms' | 'p95_ms' | 'p99_ms'>

/** Accumulates tallies. */
function createSum() {
  let calls = 0
  let failed = 0
  let timed = 0
  const bins = new Map<number, number>()

  /** Returns the duration that the given share of calls did not exceed. */
  const percentile = (sorted: readonly (readonly [bin: number, calls: number])[], share: number) => {
    let left = Math.ceil(share * timed)
    return durationOf(sorted.find(([, count]) => (left -= count) <= 0)![0])
  }
  const percentiles = (...shares: readonly number[]): Percentiles => {
    if (timed === 0) return {}
    const sorted = [...bins].sort(([a], [b]) => a - b)
    return Object.fromEntries(shares.map((share) => [`p${share * 100}_ms`, percentile(sorted, share)]))
  }
  return {
    add(tally: Tally): void {
      calls += tally.calls
      failed += tally.failed
      if (tally.bin === null) return
      timed += tally.calls
      bins.set(tally.bin, (bins.get(tally.bin) ?? 0) + tally.calls)
    },
    get calls() {
      return calls
    },
    measures: () => ({ calls, failed, ...percentiles(0.5, 0.95) }),
    total: () => ({ calls, failed, ...percentiles(0.5, 0.95, 0.99) })
  }
}
type TallySum = ReturnType<typeof createSum>

function sumUp(slices: readonly (readonly Tally[])[]): TallySum {
  const sum = createSum()
  for (const slice of slices) for (const tally of slice) sum.add(tally)
  return sum
}

/** Returns the start of the oldest slice, in seconds since 1970; slices are aligned to multiples of `step`. */
const startOfRange = (now: number, { step, count }: { step: number; count: number }) =>
  (Math.floor(now / step) - count + 1) * step

const iso = (seconds: number) => new Date(seconds * 1_000).toISOString()

async function readSlices(read: ReadSlice, { step, count }: Shape, begin: number, now: number) {
  const slices: (readonly Tally[])[] = []
  // Sequential, so that other queries of the store run in between
  for (let place = 0; place < count; place++) slices.push(await read(begin + place * step, step, now))
  return slices
}

/** Groups tallies by server, one list per slice. */
function byServer(slices: readonly (readonly Tally[])[]): Map<string, Tally[][]> {
  const servers = new Map<string, Tally[][]>()
  for (const [place, slice] of slices.entries()) {
    for (const tally of slice) {
      if (tally.server === null) continue
      const known = servers.get(tally.server) ?? slices.map(() => [])
      servers.set(tally.server, known)
      known[place]!.push(tally)
    }
  }
  return servers
}

function toStrip([server, slices]: readonly [string, readonly (readonly Tally[])[]]): ServerStrip {
  const half_hours = slices.map((slice) => {
    const { calls, failed, p95_ms } = sumUp([slice]).measures()
    return { calls, failed, ...(p95_ms === undefined ? {} : { p95_ms }) }
  })
  return { server, ...sumUp(slices).measures(), half_hours }
}

const compareText = (a: string, b: string) => (a < b ? -1 : Number(a > b))

async function readStrips(read: ReadSlice, now: number): Promise<ActivityStrips> {
  const begin = startOfRange(now, STRIP_SHAPE)
  const quarters = await readSlices(read, chartShapes['24h'], begin, now)
  const halves = Array.from({ length: STRIP_SHAPE.count }, (_, at) => quarters.slice(2 * at, 2 * at + 2).flat())
  const servers = [...byServer(halves)].sort(([a], [b]) => compareText(a, b))
  return { from: iso(begin), servers: servers.map(toStrip) }
}

function readTools(slices: readonly (readonly Tally[])[]) {
  const tools = new Map<string, { server: string; tool: string; sum: TallySum }>()
  for (const tally of slices.flat()) {
    const { server, tool } = tally
    if (server === null || tool === null) continue
    // Server names contain no space.
    const key = `${server} ${tool}`
    const known = tools.get(key) ?? { server, tool, sum: createSum() }
    tools.set(key, known)
    known.sum.add(tally)
  }
  const all = [...tools].sort(([a], [b]) => compareText(a, b))
  return all.map(([, { server, tool, sum }]) => ({ server, tool, ...sum.measures() }))
}

async function readStats(read: ReadSlice, range: Range, { from: strip_from, servers }: ActivityStrips, now: number) {
  const shape = chartShapes[range]
  const begin = startOfRange(now, shape)
  const slices = await readSlices(read, shape, begin, now)
  const tools = readTools(slices)
  const timed = tools.filter(({ p95_ms }) => p95_ms !== undefined)
  return {
    range,
    from: iso(begin),
    bucket_s: shape.step,
    total: sumUp(slices).total(),
    buckets: slices.map((slice) => sumUp([slice]).measures()),
    top_tools: tools.toSorted((a, b) => b.calls - a.calls).slice(0, MAX_TOOLS),
    slowest_tools: timed.toSorted((a, b) => b.p95_ms! - a.p95_ms!).slice(0, MAX_TOOLS),
    strip_from,
    servers: [...servers]
  }
}

/** Maximum share of time spent on charts, however often they are requested */
const MAX_TIME_SHARE = 1 / 20
/** Minimum cache lifetime, since open pages poll continually */
const MIN_CACHE_MS = 2_000

/** What is stored while results are cached. */
export interface Storing {
  /** Number of times that rows have been stored so far */
  readonly times: () => number
  /** Called when a result is cached no longer, if rows have been stored since it was read. */
  readonly onOutdated: () => void
}

/**
 * Caches results and shares a running read among concurrent callers; the longer the read took, the longer its result is
 * cached. `clear` forgets all results.
 */
function cacheResults<K, T>(read: (key: K) => Promise<T>, { times, onOutdated }: Storing) {
  const known = new Map<K, Promise<T>>()
  const get = (key: K): Promise<T> => {
    const cached = known.get(key)
    if (cached) return cached
    const startedAt = performance.now()
    const before = times()
    const reading = read(key)
    known.set(key, reading)
    const forget = () => {
      if (known.get(key) === reading) known.delete(key)
    }
    const expire = () => {
      forget()
      if (times() !== before) onOutdated()
    }
    const expireLater = () =>
      setTimeout(expire, Math.max(MIN_CACHE_MS, (performance.now() - startedAt) / MAX_TIME_SHARE)).unref()
    reading.then(expireLater, forget)
    return reading
  }
  return { get, clear: () => known.clear() }
}

const nothingStored: Storing = { times: () => 0, onOutdated() {} }

/**
 * Creates the chart statistics. `read` returns the tallies of a period, in seconds since 1970; `now` is in
 * milliseconds.
 */
export function createCallStats(
  read: (from: number, seconds: number) => Promise<readonly Tally[]>,
  storing: Storing = nothingStored,
  now: () => number = Date.now
): CallStats {
  const slices = createSlices(read)
  const seconds = () => now() / 1_000
  const strips = cacheResults<void, ActivityStrips>(() => readStrips(slices, seconds()), {
    ...storing,
    onOutdated() {
      // they contain the strips
      stats.clear()
      storing.onOutdated()
    }
  })
  const stats = cacheResults(async (range: Range) => readStats(slices, range, await strips.get(), seconds()), storing)
  return { stats: stats.get, strips: () => strips.get() }
}
