/** Geometry of the small charts; pure. */

export interface Bucket {
  readonly calls: number
  readonly failed: number
}

const rect = (x: number, y: number, width: number, height: number) => `M${x} ${y}h${width}v${height}h-${width}z`

interface Bars {
  /** From the begin of one bar to that of the next. */
  readonly step: number
  readonly width: number
  /** Before the first one. */
  readonly inset: number
  readonly height: number
}

/** Stacked bars as paths: calls that went well, failed ones below them, and a base line where none were. */
function stacked(buckets: readonly Bucket[], { step, width, inset, height }: Bars) {
  const most = Math.max(1, ...buckets.map(({ calls }) => calls))
  let [ok, bad, none] = ['', '', '']
  for (const [at, { calls, failed }] of buckets.entries()) {
    const x = Math.round((at * step + inset) * 10) / 10
    if (calls === 0) {
      none += rect(x, height - 1, width, 1)
      continue
    }
    // one call among a thousand, and one failure among a hundred calls, are still seen
    const all = Math.max(failed > 0 && failed < calls ? 3 : 1, Math.round((calls / most) * height))
    const red = failed === 0 ? 0 : Math.max(failed === calls ? all : 2, Math.round((failed / calls) * all))
    if (all > red) ok += rect(x, height - all, width, all - red)
    if (red > 0) bad += rect(x, height - red, width, red)
  }
  return { ok, bad, none }
}

/** Bars of two units, three apart. */
export const bars = (buckets: readonly Bucket[], height: number): { ok: string; bad: string; none: string } =>
  stacked(buckets, { step: 3, width: 2, inset: 0, height })

export interface LatencyBucket extends Bucket {
  readonly p50_ms?: number
  readonly p95_ms?: number
}

/** What the scale of the latency chart shows: from 1 ms up, in powers of ten. */
export const DECADES = [1, 10, 100, 1_000, 10_000] as const

const WIDTH = 960
const TOP = 16
const BOTTOM = 8

/** Position of a duration on a log scale that is `height` high, the longest at the top. */
export function latencyY(ms: number, height: number): number {
  const share = Math.log10(Math.max(ms, DECADES[0])) / Math.log10(DECADES.at(-1)!)
  return Math.round(height - BOTTOM - Math.min(share, 1) * (height - TOP - BOTTOM))
}

/** The latency chart as paths on a plane of 960 × `height`: from p50 up to p95, p50 itself, and failures on top. */
export function latencyPaths(buckets: readonly LatencyBucket[], height: number) {
  const step = WIDTH / Math.max(buckets.length, 1)
  const width = Math.max(1, Math.round(step * 6) / 10)
  const most = Math.max(1, ...buckets.map(({ failed }) => failed))
  let [range, median, failed] = ['', '', '']
  for (const [at, bucket] of buckets.entries()) {
    const x = Math.round((at * step + (step - width) / 2) * 10) / 10
    if (bucket.failed > 0) failed += rect(x, 0, width, 3 + Math.round((bucket.failed / most) * 5))
    if (bucket.p50_ms === undefined || bucket.p95_ms === undefined) continue
    const [high, low] = [latencyY(bucket.p95_ms, height), latencyY(bucket.p50_ms, height)]
    range += rect(x, high, width, Math.max(1, low - high))
    median += rect(x, low - 1, width, 2)
  }
  return { range, median, failed }
}

/** Calls over time as bars on a plane of 960 × `height`. */
export function volumePaths(buckets: readonly Bucket[], height: number): { ok: string; bad: string } {
  const step = WIDTH / Math.max(buckets.length, 1)
  const width = Math.max(1, Math.round(step * 7) / 10)
  const { ok, bad } = stacked(buckets, { step, width, inset: (step - width) / 2, height })
  return { ok, bad }
}
