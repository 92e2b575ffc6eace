import { sql, type RawBuilder } from 'kysely'
import type { Range, Stats } from '../schemas/stats.ts'
import { failedOutcomes } from './calls.ts'
import type { Db } from './tables.ts'

const shapes: Readonly<Record<Range, { readonly bucketS: number; readonly count: number }>> = {
  '1h': { bucketS: 60, count: 60 },
  '24h': { bucketS: 1_800, count: 48 },
  '7d': { bucketS: 7_200, count: 84 }
}
const STRIP = shapes['24h']
const MOST_TOOLS = 10

interface Counts {
  readonly calls: number
  readonly failed: number
}
interface Measured extends Counts {
  readonly p50_ms: number | null
  readonly p95_ms: number | null
}

const counts = sql`count(*)::integer as calls,
  count(*) filter (where outcome in (${sql.join(failedOutcomes)}))::integer as failed`

/** What was refused or cancelled took no time that says anything. */
const percentile = (share: number) =>
  sql`(percentile_disc(${sql.lit(share)}) within group (order by total_ms)
    filter (where outcome not in ('refused', 'cancelled')))`
const measures = sql`${counts}, ${percentile(0.5)} as p50_ms, ${percentile(0.95)} as p95_ms`

const bucketAt = (from: number, seconds: number): RawBuilder<number> =>
  sql`floor((extract(epoch from at) - ${from}) / ${seconds})::integer`

/** Begin of the oldest bucket, in seconds since 1970; buckets begin where clocks are round. */
const beginOf = (now: number, { bucketS, count }: { bucketS: number; count: number }) =>
  (Math.floor(now / 1_000 / bucketS) - count + 1) * bucketS

const iso = (seconds: number) => new Date(seconds * 1_000).toISOString()

const toMeasures = ({ calls, failed, p50_ms: p50, p95_ms: p95 }: Measured) => ({
  calls,
  failed,
  ...(p50 === null || p95 === null ? {} : { p50_ms: p50, p95_ms: p95 })
})

const nothing = { calls: 0, failed: 0 } as const

/** One for each bucket, those without calls included. */
const filled = <T extends Counts>(rows: readonly (T & { readonly bucket: number | null })[], count: number) => {
  const byBucket = new Map(rows.map((row) => [row.bucket, row]))
  return Array.from({ length: count }, (_, bucket) => byBucket.get(bucket))
}

/** One row for each bucket, and one without for all. */
async function readBuckets(db: Db, from: number, bucketS: number) {
  const { rows } = await sql<Measured & { bucket: number | null }>`
    select bucket, ${measures}
    from (select ${bucketAt(from, bucketS)} as bucket, outcome, total_ms from calls where at >= to_timestamp(${from})) c
    group by grouping sets ((bucket), ())`.execute(db)
  return rows
}

interface ToolRow extends Measured {
  readonly server: string
  readonly tool: string
  readonly is_top: boolean
}

async function readTools(db: Db, from: number) {
  const { rows } = await sql<ToolRow>`
    with tools as materialized (
      select server, item as tool, ${measures}
      from calls where at >= to_timestamp(${from}) and kind = 'tool' and server is not null
      group by server, item
    )
    (select true as is_top, * from tools order by calls desc, server, tool limit ${MOST_TOOLS})
    union all
    (select false, * from tools where p95_ms is not null order by p95_ms desc, server, tool limit ${MOST_TOOLS})
  `.execute(db)
  return rows
}

interface ServerRow extends Measured {
  readonly server: string
  readonly bucket: number | null
}

/** One row for each half-hour of each server, and one without for all of its day. */
async function readServers(db: Db, from: number) {
  const { rows } = await sql<ServerRow>`
    select server, bucket, ${measures}
    from (
      select server, ${bucketAt(from, STRIP.bucketS)} as bucket, outcome, total_ms
      from calls where at >= to_timestamp(${from}) and server is not null
    ) c
    group by grouping sets ((server, bucket), (server)) order by server`.execute(db)
  const byServer = new Map<string, ServerRow[]>()
  for (const row of rows) {
    const known = byServer.get(row.server)
    if (known) known.push(row)
    else byServer.set(row.server, [row])
  }
  return byServer
}

export async function readStats(db: Db, range: Range, now = Date.now()): Promise<Stats> {
  const { bucketS, count } = shapes[range]
  const from = beginOf(now, shapes[range])
  const stripFrom = beginOf(now, STRIP)
  const buckets = await readBuckets(db, from, bucketS)
  const tools = await readTools(db, from)
  const servers = await readServers(db, stripFrom)
  const toolStats = (isTop: boolean) =>
    tools
      .filter(({ is_top }) => is_top === isTop)
      .map(({ server, tool, ...row }) => ({ server, tool, ...toMeasures(row) }))
  const all = <T extends { bucket: number | null }>(rows: readonly T[]) => rows.find(({ bucket }) => bucket === null)!
  return {
    range,
    from: iso(from),
    bucket_s: bucketS,
    total: toMeasures(all(buckets)),
    buckets: filled(buckets, count).map((row) => (row ? toMeasures(row) : nothing)),
    top_tools: toolStats(true),
    slowest_tools: toolStats(false),
    strip_from: iso(stripFrom),
    servers: [...servers].map(([server, rows]) => ({
      server,
      ...toMeasures(all(rows)),
      half_hours: filled(rows, STRIP.count).map((row) => (row ? { calls: row.calls, failed: row.failed } : nothing))
    }))
  }
}

/** Charts may take this part of the time, however often they are asked for. */
const SHARE = 1 / 20

/** `readStats` once for all who ask at a time; the longer it took, the longer its answer is good. */
export function createStats(read: (range: Range) => Promise<Stats>): (range: Range) => Promise<Stats> {
  const known = new Map<Range, Promise<Stats>>()
  return (range) => {
    const fresh = known.get(range)
    if (fresh) return fresh
    const begun = performance.now()
    const reading = read(range)
    known.set(range, reading)
    const forget = () => known.delete(range)
    reading.then(() => setTimeout(forget, (performance.now() - begun) / SHARE).unref(), forget)
    return reading
  }
}
