import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Attributes, BatchObservableResult, Counter, Meter, Observable } from '@opentelemetry/api'
import type { PrometheusExporter } from '@opentelemetry/exporter-prometheus'
import type { CallObservation, Observer } from '../../gateway/observation.ts'
import type { GatewayStats } from '../../gateway/stats.ts'
import type { BreakerState } from '../../gateway/upstream/breaker.ts'
import { definitions, OTHER, type Metric } from './definitions.ts'

/** What is read when somebody scrapes; undefined while there is nothing to read. */
export interface Sources {
  readonly gateway: () => GatewayStats | undefined
  readonly database: () => { readonly size: number; readonly idle: number; readonly waiting: number } | undefined
}

/** What the process tells of itself. */
export interface Metrics {
  readonly observer: Partial<Observer>
  request(method: string, route: string | undefined, statusCode: number, ms: number): void
  /** The text format of Prometheus. */
  text(): Promise<string>
  close(): Promise<void>
}

/** Servers by tools by outcomes; the SDK's own limit of 2,000 would be reached by a few hundred tools. */
const MAX_SERIES = 50_000
const DELAY_RESOLUTION_MS = 20

const breakerValues: Record<BreakerState, number> = { closed: 0, 'half-open': 1, open: 2 }
const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
const statusClasses = ['', '1xx', '2xx', '3xx', '4xx', '5xx']

function createEventLoopDelay() {
  const histogram = monitorEventLoopDelay({ resolution: DELAY_RESOLUTION_MS })
  histogram.enable()
  const seconds = (nanoseconds: number) => Math.max(0, nanoseconds / 1e9 - DELAY_RESOLUTION_MS / 1e3)
  return {
    /** Since the last look. */
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

const counterOf = (meter: Meter, { name, about: description }: Metric) => meter.createCounter(name, { description })
const histogramOf = (meter: Meter, { name, about: description, bounds }: Metric) =>
  meter.createHistogram(name, { description, advice: { explicitBucketBoundaries: [...bounds!] } })
const gaugeOf = (meter: Meter, { name, about: description }: Metric) =>
  meter.createObservableGauge(name, { description })

/** What happens, counted as it happens. */
function createObserver(meter: Meter): Partial<Observer> {
  const calls = counterOf(meter, definitions.toolCalls)
  const latency = histogramOf(meter, definitions.toolCallLatency)
  const others: Record<string, Counter> = {
    prompt: counterOf(meter, definitions.promptGets),
    resource: counterOf(meter, definitions.resourceReads),
    completion: counterOf(meter, definitions.completions)
  }
  const lists = counterOf(meter, definitions.lists)
  const connects = counterOf(meter, definitions.connects)
  const connectTime = histogramOf(meter, definitions.connectTime)
  const failures = counterOf(meter, definitions.failures)
  const swaps = histogramOf(meter, definitions.catalogSwap)

  const toolCall = ({ server, item, outcome, totalMs, upstreamMs }: CallObservation) => {
    const name = server ?? OTHER
    const tool = server === undefined ? OTHER : (item ?? OTHER)
    calls.add(1, { mcp_server_name: name, tool_name: tool, outcome })
    latency.record((totalMs - upstreamMs) / 1e3, { mcp_server_name: name, part: 'gateway' })
    if (upstreamMs > 0) latency.record(upstreamMs / 1e3, { mcp_server_name: name, part: 'upstream' })
  }
  return {
    call(done) {
      const { kind, server, outcome } = done
      if (kind === 'tool') toolCall(done)
      else others[kind]!.add(1, { mcp_server_name: server ?? OTHER, outcome })
    },
    list: (kind) => lists.add(1, { kind }),
    connected(server, transport, ms) {
      connects.add(1, { mcp_server_name: server, transport })
      connectTime.record(ms / 1e3, { transport })
    },
    failed: (server, reason) => failures.add(1, { mcp_server_name: server, reason }),
    swapped: (ms) => swaps.record(ms / 1e3)
  }
}

/** What is the case, read when somebody scrapes. */
function observeState(meter: Meter, { gateway, database }: Sources): () => void {
  const delay = createEventLoopDelay()
  const breaker = gaugeOf(meter, definitions.breaker)
  const sessions = gaugeOf(meter, definitions.sessions)
  const streams = gaugeOf(meter, definitions.streams)
  const processes = gaugeOf(meter, definitions.processes)
  const queue = gaugeOf(meter, definitions.queue)
  const version = gaugeOf(meter, definitions.catalogVersion)
  const eventLoop = gaugeOf(meter, definitions.eventLoop)
  const pool = gaugeOf(meter, definitions.database)
  const memory = gaugeOf(meter, definitions.memory)
  const cpu = meter.createObservableCounter(definitions.cpu.name, { description: definitions.cpu.about })

  const observeGateway = (result: BatchObservableResult, stats: GatewayStats) => {
    for (const [server, state] of stats.breakers)
      result.observe(breaker, breakerValues[state], { mcp_server_name: server })
    result.observe(sessions, stats.sessions)
    result.observe(streams, stats.streams)
    result.observe(processes, stats.processes)
    result.observe(queue, stats.waitingForProcess, { queue: 'stdio_process' })
    result.observe(queue, stats.parkedCalls, { queue: 'parked_call' })
    result.observe(version, stats.catalogVersion)
  }
  const observeEach = (result: BatchObservableResult, gauge: Observable, label: string, values: object = {}) => {
    for (const [key, value] of Object.entries(values)) result.observe(gauge, value as number, { [label]: key })
  }
  meter.addBatchObservableCallback(
    (result) => {
      const stats = gateway()
      if (stats) observeGateway(result, stats)
      observeEach(result, pool, 'state', database())
      observeEach(result, eventLoop, 'stat', delay.read())
      result.observe(memory, process.memoryUsage.rss())
      const { user, system } = process.cpuUsage()
      result.observe(cpu, (user + system) / 1e6)
    },
    [breaker, sessions, streams, processes, queue, version, eventLoop, pool, memory, cpu]
  )
  return delay.close
}

function requestAttributes(method: string, route: string | undefined, statusCode: number): Attributes {
  return {
    method: methods.has(method) ? method : OTHER,
    route: route ?? OTHER,
    status: statusClasses[Math.floor(statusCode / 100)] ?? OTHER
  }
}

/** Loads OpenTelemetry, which takes a fifth of a second: only where it is on. Nothing global is set, nothing listens. */
export async function createMetrics(sources: Sources): Promise<Metrics> {
  const [{ PrometheusExporter: Exporter, PrometheusSerializer }, { metrics }] = await Promise.all([
    import('@opentelemetry/exporter-prometheus'),
    import('@opentelemetry/sdk-node')
  ])
  const exporter: PrometheusExporter = new Exporter({ preventServerStart: true })
  const provider = new metrics.MeterProvider({
    readers: [exporter],
    views: [{ instrumentName: '*', aggregationCardinalityLimit: MAX_SERIES }]
  })
  const meter = provider.getMeter('towpath')
  const http = histogramOf(meter, definitions.http)
  const stopObserving = observeState(meter, sources)
  // without resource and scope: they tell nothing of us, and would tell of the machine
  const serializer = new PrometheusSerializer(undefined, false, undefined, true, true)
  return {
    observer: createObserver(meter),
    request: (method, route, statusCode, ms) => http.record(ms / 1e3, requestAttributes(method, route, statusCode)),
    async text() {
      const { resourceMetrics, errors } = await exporter.collect()
      if (errors.length > 0) throw errors[0]
      return serializer.serialize(resourceMetrics)
    },
    async close() {
      stopObserving()
      await provider.shutdown()
    }
  }
}
