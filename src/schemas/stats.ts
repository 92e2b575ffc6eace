import { Type, type Static } from '@sinclair/typebox'
import { StringEnum } from './shared.ts'

const ranges = ['1h', '24h', '7d'] as const
export type Range = (typeof ranges)[number]

const counts = {
  calls: Type.Integer(),
  failed: Type.Integer({ description: '`tool_error`, `failed` and `timeout`' })
}
const measures = {
  ...counts,
  p50_ms: Type.Optional(Type.Number({ description: 'Median duration; absent without calls' })),
  p95_ms: Type.Optional(Type.Number())
}
/** Calls of a server during the last day. */
const ServerStrip = Type.Object({
  server: Type.String(),
  ...measures,
  half_hours: Type.Array(Type.Object({ ...counts, p95_ms: measures.p95_ms }), {
    description: '48 entries, oldest first; the last half-hour is still running'
  })
})
export type ServerStrip = Static<typeof ServerStrip>

const ToolStats = Type.Object({ server: Type.String(), tool: Type.String(), ...measures })

/**
 * Data of the charts. Refused and cancelled calls are counted but excluded from the percentiles, which are accurate to
 * 5 %.
 */
export const Stats = Type.Object(
  {
    range: StringEnum(ranges),
    from: Type.String({ description: 'Start of the first bucket, ISO 8601' }),
    bucket_s: Type.Integer({ description: 'Length of a bucket in seconds' }),
    total: Type.Object({ ...measures, p99_ms: Type.Optional(Type.Number()) }),
    in_flight: Type.Integer({ description: 'Active calls of the replica that responds' }),
    buckets: Type.Array(Type.Object(measures), { description: 'Oldest first; the last bucket is still running' }),
    top_tools: Type.Array(ToolStats, { description: 'Most called tools' }),
    slowest_tools: Type.Array(ToolStats, { description: 'Tools with the highest `p95_ms`' }),
    strip_from: Type.String({ description: 'Start of the first half-hour of `servers`, ISO 8601' }),
    servers: Type.Array(ServerStrip, { description: 'Servers called in the last day' })
  },
  { $id: 'Stats' }
)
export type Stats = Static<typeof Stats>
/** The part of the statistics computed from the call log. */
export type CallFigures = Omit<Stats, 'in_flight'>

export const StatsQuery = Type.Object({ range: Type.Optional(StringEnum(ranges, { default: '24h' })) })
