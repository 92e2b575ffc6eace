/** Geometry of the small charts. Pure functions. */

export interface Bucket {
  readonly calls: number
  readonly failed: number
}

const rect = (x: number, y: number, width: number, height: number) => `M${x} ${y}h${width}v${height}h-${width}z`

interface Bars {
  /** Distance between the left edges of two bars. */
  readonly step: number
  readonly width: number
  /** Distance of the first bar from the left edge. */
  readonly inset: number
  readonly height: number
}

/** Returns stacked bars as SVG paths: successful calls, failed ones below them, and a base line for empty buckets. */
function stacked(buckets: readonly Bucket[], { step, width, inset, height }: Bars) {
  const most = Math.max(1, ...buckets.map(({ calls }) => calls))
  let [ok, bad, none] = ['', '', '']
  for (const [at, { calls, failed }] of buckets.entries()) {
    const x = Math.round((at * step + inset) * 10) / 10
    if (calls === 0) {
      none += rect(x, height - 1, width, 1)
      continue
    }
    // one call among a thousand, or one failure among a hundred calls, must stay visible
    const all = Math.max(failed > 0 && failed < calls ? 3 : 1, Math.round((calls / most) * height))
    const red = failed === 0 ? 0 : Math.max(failed === calls ? all : 2, Math.round((failed / calls) * all))
    if (all > red) ok += rect(x, height - all, width, all - red)
    if (red > 0) bad += rect(x, height - red, width, red)
  }
  return { ok, bad, none }
}

/** Returns bars of two units, three apart. */
export const bars = (buckets: readonly Bucket[], height: number): { ok: string; bad: string; none: string } =>
  stacked(buckets, { step: 3, width: 2, inset: 0, height })

export interface LatencyBucket extends Bucket {
  readonly p50_ms?: number
  readonly p95_ms?: number
}

/** Scale of the latency chart in milliseconds: powers of ten from 1 ms. */
export const DECADES = [1, 10, 100, 1_000, 10_000] as const

const WIDTH = 960
const TOP = 16
const BOTTOM = 8

/** Returns the y position of a duration on a log scale of this height; longer durations are higher. */
export function latencyY(ms: number, height: number): number {
  const share = Math.log10(Math.max(ms, DECADES[0])) / Math.log10(DECADES.at(-1)!)
  return Math.round(height - BOTTOM - Math.min(share, 1) * (height - TOP - BOTTOM))
}

/**
 * Returns the latency chart as SVG paths, 960 × `height`: the band from p50 to p95, the p50 line, and failures on top.
 */
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

/** Returns calls over time as bars, 960 × `height`. */
export function volumePaths(buckets: readonly Bucket[], height: number): { ok: string; bad: string } {
  const step = WIDTH / Math.max(buckets.length, 1)
  const width = Math.max(1, Math.round(step * 7) / 10)
  const { ok, bad } = stacked(buckets, { step, width, inset: (step - width) / 2, height })
  return { ok, bad }
}
