import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { BatchObservableResult, Meter, Observable } from '@opentelemetry/api'
import { effects, modes } from '../../domain/policy/rule.ts'
import type { Observer } from '../../observe/observation.ts'
import type { GatewayStats } from '../../gateway/stats.ts'
import type { BreakerState } from '../../upstream/sessions/breaker.ts'
import type { Registry } from '../../registry/registry.ts'
import { residentBytes } from '../../http/overload.ts'
import { countRequests, createCounts, createObserver, type Counts } from './counts.ts'
import { definitions, type Metric } from './definitions.ts'
import { MAX_SERIES } from './families.ts'
import { createProducer, SCOPE } from './producer.ts'

/** Values read at each scrape; undefined while unavailable. */
export interface Sources {
  readonly gateway: () => GatewayStats | undefined
  readonly logs: () => Registry['logs'] | undefined
  readonly database: () => { readonly size: number; readonly idle: number; readonly waiting: number } | undefined
}

/** Metrics of this process. */
export interface Metrics {
  readonly observer: Partial<Observer>
  readonly request: ReturnType<typeof countRequests>
  failedAuthentication(): void
  /** The text format of Prometheus. */
  text(): Promise<string>
  close(): Promise<void>
}

const DELAY_RESOLUTION_MS = 20

const breakerValues: Record<BreakerState, number> = { closed: 0, 'half-open': 1, open: 2 }

function createEventLoopDelay() {
  const histogram = monitorEventLoopDelay({ resolution: DELAY_RESOLUTION_MS })
  histogram.enable()
  const seconds = (nanoseconds: number) => Math.max(0, nanoseconds / 1e9 - DELAY_RESOLUTION_MS / 1e3)
  return {
    /** Delay since the last read, in seconds. */
    read(): Record<string, number> {
      if (histogram.count === 0) return {}
      const { mean, max } = histogram
      const stats = { mean, p50: histogram.percentile(50), p99: histogram.percentile(99), max }
      histogram.reset()
      return Object.fromEntries(Object.entries(stats).map(([stat, value]) => [stat, seconds(value)]))
    },
    close: () => histogram.disable()
  }
}

const counterOf = (meter: Meter, { name, about: description }: Metric) =>
  meter.createObservableCounter(name, { description })
const gaugeOf = (meter: Meter, { name, about: description }: Metric) =>
  meter.createObservableGauge(name, { description })

type EventLoopDelay = ReturnType<typeof createEventLoopDelay>

/** Registers the gauges that are read at each scrape. */
function observeState(meter: Meter, { gateway, logs, database }: Sources, delay: EventLoopDelay): void {
  const breaker = gaugeOf(meter, definitions.breaker)
  const serverUp = gaugeOf(meter, definitions.serverUp)
  const held = gaugeOf(meter, definitions.heldDefinitions)
  const sessions = gaugeOf(meter, definitions.sessions)
  const streams = gaugeOf(meter, definitions.streams)
  const spares = gaugeOf(meter, definitions.spares)
  const processes = gaugeOf(meter, definitions.processes)
  const queue = gaugeOf(meter, definitions.queue)
  const version = gaugeOf(meter, definitions.catalogVersion)
  const tokens = gaugeOf(meter, definitions.groupTokens)
  const listed = gaugeOf(meter, definitions.listTokens)
  const eventLoop = gaugeOf(meter, definitions.eventLoop)
  const pool = gaugeOf(meter, definitions.database)
  const memory = gaugeOf(meter, definitions.memory)
  const cpu = counterOf(meter, definitions.cpu)
  const lostRows = counterOf(meter, definitions.lostRows)

  const observeGateway = (result: BatchObservableResult, stats: GatewayStats) => {
    for (const [server, state] of stats.breakers)
      result.observe(breaker, breakerValues[state], { mcp_server_name: server })
    for (const [server, transport, ready] of stats.spareSessions)
      result.observe(spares, ready, { mcp_server_name: server, transport })
    for (const [server, isHealthy] of stats.health)
      result.observe(serverUp, isHealthy ? 1 : 0, { mcp_server_name: server })
    for (const [server, count] of stats.heldDefinitions) result.observe(held, count, { mcp_server_name: server })
    result.observe(sessions, stats.sessions)
    result.observe(streams, stats.streams)
    result.observe(processes, stats.processes)
    result.observe(queue, stats.callsAwaitingProcess, { queue: 'stdio_process' })
    result.observe(queue, stats.parkedCalls, { queue: 'parked_call' })
    result.observe(queue, stats.heldCalls, { queue: 'approval' })
    result.observe(version, stats.catalogVersion)
    for (const { group, tools, list } of stats.groupTokens) {
      result.observe(tokens, tools, { group })
      result.observe(listed, list, { group })
    }
  }
  const observeLogs = (result: BatchObservableResult, { calls, audit }: Registry['logs']) => {
    for (const [log, { length, dropped }] of [
      ['call_log', calls],
      ['audit_log', audit]
    ] as const) {
      result.observe(queue, length, { queue: log })
      result.observe(lostRows, dropped, { log })
    }
  }
  const observeEach = (result: BatchObservableResult, gauge: Observable, label: string, values: object = {}) => {
    for (const [key, value] of Object.entries(values)) result.observe(gauge, value as number, { [label]: key })
  }
  meter.addBatchObservableCallback(
    (result) => {
      const stats = gateway()
      if (stats) observeGateway(result, stats)
      const rows = logs()
      if (rows) observeLogs(result, rows)
      observeEach(result, pool, 'state', database())
      observeEach(result, eventLoop, 'stat', delay.read())
      const resident = residentBytes()
      if (resident !== undefined) result.observe(memory, resident)
      const { user, system } = process.cpuUsage()
      result.observe(cpu, (user + system) / 1e6)
    },
    [
      ...[breaker, serverUp, held, sessions, streams, spares, processes, queue, version, tokens, listed],
      ...[eventLoop, pool, memory, cpu, lostRows]
    ]
  )
}

/** Loads OpenTelemetry, which takes a tenth of a second and 10 MB. Registers no global provider and opens no port. */
async function createReader(counts: Counts, startedAt: number, observe: (meter: Meter) => void) {
  const [{ PrometheusExporter, PrometheusSerializer }, sdk, { emptyResource }] = await Promise.all([
    import('@opentelemetry/exporter-prometheus'),
    import('@opentelemetry/sdk-metrics'),
    import('@opentelemetry/resources')
  ])
  const exporter = new PrometheusExporter({
    preventServerStart: true,
    metricProducers: [createProducer(counts, sdk, emptyResource(), startedAt)]
  })
  const provider = new sdk.MeterProvider({
    readers: [exporter],
    // breakers, health and spare sessions have one series per server, and tokens one per group
    views: [{ instrumentName: '*', aggregationCardinalityLimit: MAX_SERIES }]
  })
  observe(provider.getMeter(SCOPE))
  // resource and scope are omitted: they describe the machine, not the gateway
  const serializer = new PrometheusSerializer(undefined, false, undefined, true, true)
  return {
    async text() {
      const { resourceMetrics, errors } = await exporter.collect()
      if (errors.length > 0) throw errors[0]
      return serializer.serialize(resourceMetrics)
    },
    close: () => provider.shutdown()
  }
}

/** Starts counting; OpenTelemetry, which formats the output, is loaded on the first scrape. */
export function createMetrics(sources: Sources): Metrics {
  const startedAt = Date.now()
  const counts = createCounts()
  // created at once: a rate needs the initial zero
  const failedAuthentications = counts.failedAuthentications.at()
  for (const effect of effects) for (const mode of modes) counts.decisions.at(effect, mode)
  const delay = createEventLoopDelay()
  let reader: ReturnType<typeof createReader> | undefined
  return {
    observer: createObserver(counts),
    request: countRequests(counts),
    failedAuthentication() {
      failedAuthentications.value++
    },
    async text() {
      reader ??= createReader(counts, startedAt, (meter) => observeState(meter, sources, delay))
      return (await reader).text()
    },
    async close() {
      delay.close()
      await (await reader)?.close()
    }
  }
}
