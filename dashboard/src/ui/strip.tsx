import { bars } from '../calls/chart.ts'
import { plural } from '../format.ts'

interface StripProps {
  /** Buckets, oldest first. */
  readonly buckets: readonly { readonly calls: number; readonly failed: number }[]
  /** Range of all buckets together: `the last 24 hours`. */
  readonly period: string
}

const HEIGHT = 20

/** Calls over time in a table row, failed ones in red. */
export function Strip({ buckets, period }: StripProps) {
  const calls = buckets.reduce((sum, bucket) => sum + bucket.calls, 0)
  const failed = buckets.reduce((sum, bucket) => sum + bucket.failed, 0)
  const { ok, bad, none } = bars(buckets, HEIGHT)
  const width = buckets.length * 3
  const label = `${plural(calls, 'call')} in ${period}${failed > 0 ? `, ${failed} failed` : ''}`
  return (
    <svg class="strip" width={width} height={HEIGHT} viewBox={`0 0 ${width} ${HEIGHT}`} role="img" aria-label={label}>
      <path class="z" d={none} />
      <path d={ok} />
      <path class="e" d={bad} />
    </svg>
  )
}
