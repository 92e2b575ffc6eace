import fp from 'fastify-plugin'
import type { FastifyInstance } from 'fastify'
import type { Config } from '../config/config.ts'
import type { Observer } from '../observe/observation.ts'
import { createMetrics, type Metrics } from './telemetry/metrics.ts'
import type { OverloadMonitor } from '../http/overload.ts'
import type { Siblings } from '../http/siblings.ts'
import { mergeTexts } from './telemetry/merged-text.ts'
import { shareText } from './telemetry/shared-text.ts'
import { createTraces } from './telemetry/traces.ts'

declare module 'fastify' {
  interface FastifyInstance {
    readonly metrics: AppMetrics
  }
}

export interface AppMetrics {
  /** Observers of gateway events; empty while metrics and traces are off. */
  readonly observers: readonly Partial<Observer>[]
  /** Body of `GET /metrics`; undefined while metrics are off. */
  readonly text: (() => Promise<Buffer>) | undefined
  /** Counts a request without a valid access token. */
  failedAuthentication(): void
}

/** Name under which workers ask each other for their metrics. */
const QUESTION = 'metrics'
/** Longest time that exporting the last traces may delay the exit. */
const FLUSH_MS = 3_000

/** Returns the value of `read`; undefined while the database is unavailable. */
function valueIfAvailable<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}

function startMetrics(app: FastifyInstance, siblings: Siblings | null): Metrics {
  const metrics = createMetrics({
    gateway: () => valueIfAvailable(() => app.gateway.stats()),
    logs: () => valueIfAvailable(() => app.registry.logs),
    database: () => valueIfAvailable(() => app.registry.poolStats())
  })
  app.addHook('onResponse', ({ raw, method, routeOptions }, reply, done) => {
    // a forwarded request is counted where the client sent it
    if (siblings?.isFromSibling(raw)) return done()
    metrics.request(method, routeOptions.url, reply.statusCode, reply.elapsedTime)
    done()
  })
  app.addHook('onClose', () => metrics.close())
  return metrics
}

async function startTraces(app: FastifyInstance, version: string): Promise<Partial<Observer>> {
  const { tracer, close } = await createTraces(version)
  app.addHook('onClose', () => close(FLUSH_MS))
  return { tracer }
}

/** Returns the text of this process, or with other workers that of all. */
function textOf(metrics: Metrics, siblings: Siblings | null): () => Promise<string> {
  const own = () => metrics.text()
  if (!siblings) return own
  siblings.answer(QUESTION, own)
  return async () => {
    const [text, others] = await Promise.all([own(), siblings.ask(QUESTION)])
    return mergeTexts(new Map([[siblings.place.index, text], ...others]))
  }
}

export interface TelemetryOptions extends Pick<Config, 'otel' | 'traces'> {
  readonly version: string
  readonly load: Pick<OverloadMonitor, 'isOverloaded'>
  /** Null if this process serves its port alone. */
  readonly siblings: Siblings | null
}

/** Sets up metrics and traces. If one is off, its code is not loaded and nothing is measured. */
export default fp<TelemetryOptions>(
  async (app, { otel, traces, version, load, siblings }) => {
    const metrics = otel ? startMetrics(app, siblings) : undefined
    const tracing = traces ? await startTraces(app, version) : undefined
    app.decorate('metrics', {
      observers: [...(metrics ? [metrics.observer] : []), ...(tracing ? [tracing] : [])],
      text: metrics && shareText(textOf(metrics, siblings), load),
      failedAuthentication: () => metrics?.failedAuthentication()
    })
  },
  { name: 'telemetry', dependencies: ['errors'] }
)
