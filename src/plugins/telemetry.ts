import fp from 'fastify-plugin'
import type { FastifyInstance } from 'fastify'
import type { Config } from '../config.ts'
import type { Observer } from '../gateway/observation.ts'
import { createMetrics, type Metrics } from './otel/metrics.ts'
import type { Load } from './load.ts'
import { shareText } from './otel/shared-text.ts'
import { createTraces } from './otel/traces.ts'

declare module 'fastify' {
  interface FastifyInstance {
    readonly metrics: AppMetrics
  }
}

export interface AppMetrics {
  /** What the gateway tells goes here: nothing while both metrics and traces are off. */
  readonly observers: readonly Partial<Observer>[]
  /** What `GET /metrics` answers; undefined while metrics are off. */
  readonly text: (() => Promise<Buffer>) | undefined
  /** Somebody had no valid access token. */
  failedAuthentication(): void
}

/** What a collector that does not answer may hold up the end of the process. */
const FLUSH_MS = 3_000

/** Undefined while what is read is not there: the database may come late. */
function whenThere<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}

function startMetrics(app: FastifyInstance): Metrics {
  const metrics = createMetrics({
    gateway: () => whenThere(() => app.gateway.stats()),
    logs: () => whenThere(() => app.registry.logs),
    database: () => whenThere(() => app.registry.pool())
  })
  app.addHook('onResponse', ({ method, routeOptions }, reply, done) => {
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

/** Metrics and traces of this process. Of what is off nothing is loaded and nothing is measured. */
export default fp<Pick<Config, 'otel' | 'traces'> & { version: string; load: Pick<Load, 'isHigh'> }>(
  async (app, { otel, traces, version, load }) => {
    const metrics = otel ? startMetrics(app) : undefined
    const tracing = traces ? await startTraces(app, version) : undefined
    app.decorate('metrics', {
      observers: [...(metrics ? [metrics.observer] : []), ...(tracing ? [tracing] : [])],
      text: metrics && shareText(() => metrics.text(), load),
      failedAuthentication: () => metrics?.failedAuthentication()
    })
  },
  { name: 'telemetry', dependencies: ['errors'] }
)
