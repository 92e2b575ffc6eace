import type { Stats } from '../../../src/schemas/stats.ts'
import { DECADES, latencyPaths, latencyY, volumePaths } from './chart.ts'
import { count, duration, percent, plural, shortClock } from '../format.ts'
import { useReadout } from './chart-readout.tsx'
import { Chevron } from '../ui/icons.tsx'
import { TableHead } from '../ui/table-head.tsx'

const HEIGHT = 120

const momentText = (stats: Stats, bucket: number): string => {
  const at = Date.parse(stats.from) + bucket * stats.bucket_s * 1_000
  const day = new Date(at).toLocaleDateString('en-GB', { weekday: 'short' })
  return stats.range === '1h' ? shortClock(at) : `${day} ${shortClock(at)}`
}

const bucketText = ({ bucket_s: seconds }: Stats): string =>
  seconds % 3_600 === 0 ? `${seconds / 3_600} h` : `${Math.round(seconds / 60)} min`

/** Values of one bucket: `Mon 14:30: 5 calls, 1 failed, p50 3 ms, p95 10 ms`. */
function bucketValues(stats: Stats, bucket: number): string {
  const { calls, failed, p50_ms, p95_ms } = stats.buckets[bucket]!
  const values = [
    plural(calls, 'call'),
    failed > 0 && `${count(failed)} failed`,
    p50_ms !== undefined && `p50 ${duration(p50_ms)}`,
    p95_ms !== undefined && `p95 ${duration(p95_ms)}`
  ]
  return `${momentText(stats, bucket)}: ${values.filter(Boolean).join(', ')}`
}

const Hours = ({ stats }: { stats: Stats }) => {
  const marks = [0, 0.25, 0.5, 0.75, 1].map((share) => Math.round(share * stats.buckets.length))
  return (
    <div class="xlab" aria-hidden="true">
      {marks.map((bucket) => (
        <span key={bucket}>{momentText(stats, bucket)}</span>
      ))}
    </div>
  )
}

/** Numbers of a chart as a table of at most 24 rows. */
const AsTable = ({ stats }: { stats: Stats }) => {
  const step = Math.max(1, Math.ceil(stats.buckets.length / 24))
  const rows = stats.buckets.flatMap((_bucket, at) => (at % step === 0 ? [stats.buckets.slice(at, at + step)] : []))
  const highest = (values: readonly (number | undefined)[]) => {
    const known = values.filter((value) => value !== undefined)
    return known.length > 0 ? Math.max(...known) : undefined
  }
  return (
    <details class="json bare">
      <summary>
        <Chevron />
        View as table
      </summary>
      <table class="slim">
        <TableHead columns={['From', ['Calls', 'num'], ['Failed', 'num'], ['p50', 'num'], ['p95', 'num']]} />
        <tbody>
          {rows.map((buckets, at) => (
            <tr key={at}>
              <th scope="row">{momentText(stats, at * step)}</th>
              <td class="num">{count(buckets.reduce((sum, { calls }) => sum + calls, 0))}</td>
              <td class="num">{count(buckets.reduce((sum, { failed }) => sum + failed, 0))}</td>
              <td class="num">{duration(highest(buckets.map(({ p50_ms }) => p50_ms)))}</td>
              <td class="num">{duration(highest(buckets.map(({ p95_ms }) => p95_ms)))}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  )
}

interface ChartProps {
  readonly name: string
  readonly title: string
  /** Sentence that describes the chart to screen readers. */
  readonly label: string
  readonly legend: preact.ComponentChildren
  /** Scale labels from top to bottom. */
  readonly marks: readonly string[]
  readonly stats: Stats
  readonly children: preact.ComponentChildren
}

/** Chart of a range with scales, legend, values under the pointer, and a table of its numbers. */
function Chart({ name, title, label, legend, marks, stats, children }: ChartProps) {
  const { layer, told } = useReadout({
    name,
    count: stats.buckets.length,
    textAt: (bucket) => bucketValues(stats, bucket)
  })
  return (
    <section class="panel lat" aria-label={name}>
      <div class="row">
        <h2>
          {title} per {bucketText(stats)}
        </h2>
        <div class="legend">{legend}</div>
      </div>
      <div class="plot">
        <div class={marks.length === 2 ? 'ylab ends' : 'ylab'} aria-hidden="true">
          {marks.map((mark) => (
            <span key={mark}>{mark}</span>
          ))}
        </div>
        <div class="readout">
          <svg class="latsvg" viewBox={`0 0 960 ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
            {children}
          </svg>
          {layer}
        </div>
      </div>
      <Hours stats={stats} />
      {/* always there, so that nothing moves */}
      <p class="told help" aria-hidden="true">
        {told || 'Point at the chart, or use the arrow keys in it'}
      </p>
      <AsTable stats={stats} />
    </section>
  )
}

const Key = ({ kind, children }: { kind: string; children: string }) => (
  <span>
    <svg width="10" height="10" aria-hidden="true">
      <rect class={kind} width="10" height="10" />
    </svg>
    {children}
  </span>
)

const RangeKey = () => (
  <span>
    <svg width="10" height="12" aria-hidden="true">
      <rect class="rng" x="2" width="6" height="12" rx="1" />
      <rect class="med" y="9" width="10" height="2" />
    </svg>
    p95 down to p50
  </span>
)

/** Chart of call durations: p50 to p95 on a log scale, failures on top. */
export function LatencyChart({ stats }: { stats: Stats }) {
  const { range, median, failed } = latencyPaths(stats.buckets, HEIGHT)
  const { total } = stats
  return (
    <Chart
      name="Latency"
      title="Latency, p50 to p95"
      label={`Latency. p50 is ${duration(total.p50_ms)}, p95 is ${duration(total.p95_ms)}; ${plural(total.failed, 'call')} failed.`}
      legend={
        <>
          <RangeKey />
          <Key kind="e">failed calls</Key>
        </>
      }
      marks={DECADES.toReversed().map((ms) => duration(ms).replace('.0', ''))}
      stats={stats}
    >
      {DECADES.map((ms) => (
        <line key={ms} class="gl" x1="0" x2="960" y1={latencyY(ms, HEIGHT)} y2={latencyY(ms, HEIGHT)} />
      ))}
      <path class="rng" d={range} />
      <path class="med" d={median} />
      <path class="e" d={failed} />
    </Chart>
  )
}

/** Chart of the number of calls, failed ones in red. */
export function VolumeChart({ stats }: { stats: Stats }) {
  const { ok, bad } = volumePaths(stats.buckets, HEIGHT)
  const { calls, failed } = stats.total
  const most = Math.max(0, ...stats.buckets.map((bucket) => bucket.calls))
  return (
    <Chart
      name="Calls"
      title="Calls"
      label={`${plural(calls, 'call')}, ${percent(failed, calls)} failed; at most ${count(most)} in ${bucketText(stats)}.`}
      legend={
        <>
          <Key kind="vol">answered</Key>
          <Key kind="e">failed</Key>
        </>
      }
      marks={[count(most), '0']}
      stats={stats}
    >
      <line class="gl" x1="0" x2="960" y1={HEIGHT - 0.5} y2={HEIGHT - 0.5} />
      <path class="vol" d={ok} />
      <path class="e" d={bad} />
    </Chart>
  )
}
