import fp from 'fastify-plugin'
import type { Config } from '../config.ts'
import type { Observer } from '../gateway/observation.ts'
import { createMetrics, type Metrics } from './otel/metrics.ts'

declare module 'fastify' {
  interface FastifyInstance {
    readonly metrics: AppMetrics
  }
}

export interface AppMetrics {
  /** What the gateway tells goes here; empty while metrics are off. */
  readonly observer: Partial<Observer>
  /** What `GET /metrics` answers; undefined while they are off. */
  readonly text: (() => Promise<string>) | undefined
}

const off: AppMetrics = { observer: {}, text: undefined }

/** Undefined while what is read is not there: the database may come late. */
function whenThere<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}

/** Metrics of this process. Off, nothing is loaded and nothing is measured. */
export default fp<Pick<Config, 'otel'>>(
  async (app, { otel }) => {
    if (!otel) return void app.decorate('metrics', off)
    const metrics: Metrics = await createMetrics({
      gateway: () => whenThere(() => app.gateway.stats()),
      database: () => whenThere(() => app.registry.pool())
    })
    app.decorate('metrics', { observer: metrics.observer, text: () => metrics.text() })
    app.addHook('onResponse', ({ method, routeOptions }, reply, done) => {
      metrics.request(method, routeOptions.url, reply.statusCode, reply.elapsedTime)
      done()
    })
    app.addHook('onClose', () => metrics.close())
  },
  { name: 'telemetry', dependencies: ['errors'] }
)
