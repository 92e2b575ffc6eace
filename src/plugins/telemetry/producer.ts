import type { HrTime } from '@opentelemetry/api'
import type * as metrics from '@opentelemetry/sdk-metrics'
import type { Counts } from './counts.ts'
import type { Metric } from './definitions.ts'
import type { Family, Histogram, Series } from './families.ts'

/** Instrumentation scope of all metrics. */
export const SCOPE = 'towpath'

type Sdk = Pick<typeof metrics, 'AggregationTemporality' | 'DataPointType'>

/** `ValueType.DOUBLE` of OpenTelemetry's API, which is not loaded just for this value. */
const DOUBLE = 1

const toTime = (ms: number): HrTime => [Math.trunc(ms / 1e3), Math.trunc((ms % 1e3) * 1e6)]

const toBuckets = ({ bounds, counts, count, sum }: Histogram): metrics.Histogram => ({
  buckets: { boundaries: [...bounds], counts: [...counts] },
  count,
  sum
})

/**
 * Returns a metric producer that passes the counts since `startedAt` (milliseconds since 1970) to OpenTelemetry's
 * exporter; series that were never counted are omitted.
 */
export function createProducer(
  { counters, histograms }: Counts,
  { AggregationTemporality, DataPointType }: Sdk,
  resource: metrics.ResourceMetrics['resource'],
  startedAt: number
): metrics.MetricProducer {
  const startTime = toTime(startedAt)
  const pointsOf = <T, V>(series: readonly Series<T>[], endTime: HrTime, read: (value: T) => V) =>
    series.map(({ labels: attributes, value }) => ({ startTime, endTime, attributes, value: read(value) }))
  const common = ({ name, about: description }: Metric) => ({
    descriptor: { name, description, unit: '', valueType: DOUBLE },
    aggregationTemporality: AggregationTemporality.CUMULATIVE
  })
  const nonEmpty = <T>(families: readonly Family<T>[]) => families.filter(({ series }) => series.length > 0)
  const read = (endTime: HrTime): metrics.MetricData[] => [
    ...nonEmpty(counters).map(({ definition, series }): metrics.SumMetricData => ({
      ...common(definition),
      dataPointType: DataPointType.SUM,
      isMonotonic: true,
      dataPoints: pointsOf(series, endTime, ({ value }) => value)
    })),
    ...nonEmpty(histograms).map(({ definition, series }): metrics.HistogramMetricData => ({
      ...common(definition),
      dataPointType: DataPointType.HISTOGRAM,
      dataPoints: pointsOf(series, endTime, toBuckets)
    }))
  ]
  return {
    collect: async () => ({
      resourceMetrics: { resource, scopeMetrics: [{ scope: { name: SCOPE }, metrics: read(toTime(Date.now())) }] },
      errors: []
    })
  }
}
