import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { AppError, unavailable } from '../lib/errors.ts'
import { errorResponses, ref } from '../schemas/shared.ts'
import { Health, Metadata } from '../schemas/system.ts'
import { checkSecret } from './secret.ts'

const tags = ['system']
const config = { access: 'public' } as const
const alwaysServed = { access: 'public', alwaysServed: true } as const

export interface SystemOptions {
  readonly version: string
  /** Bearer token required by `GET /metrics`; undefined: none required. */
  readonly metricsToken: string | undefined
}

/**
 * Health, readiness, version and metrics (http-contract.md#surface). `/health` depends on nothing, so that it responds
 * under any load.
 */
export const system: FastifyPluginAsyncTypebox<SystemOptions> = async (app, { version, metricsToken }) => {
  app.get(
    '/health',
    {
      config: alwaysServed,
      schema: { tags, operationId: 'getHealth', summary: 'Liveness', response: { 200: ref(Health) } }
    },
    () => ({ status: 'ok' })
  )

  app.get(
    '/metadata',
    {
      config: alwaysServed,
      schema: { tags, operationId: 'getMetadata', summary: 'Get the version', response: { 200: ref(Metadata) } }
    },
    () => ({ version })
  )

  app.get(
    '/ready',
    {
      config,
      schema: {
        tags,
        operationId: 'getReadiness',
        summary: 'Readiness',
        response: { 200: ref(Health) }
      }
    },
    () => {
      const { ready, problem } = app.gateway
      if (!ready) throw unavailable('the catalog is not loaded yet')
      if (problem !== undefined) throw unavailable(problem)
      return { status: 'ready' }
    }
  )

  const metrics = {
    description: 'Prometheus text format',
    content: { 'text/plain': { schema: Type.Unsafe<Buffer>(Type.String()) } }
  }
  app.get(
    '/metrics',
    {
      config: alwaysServed,
      exposeHeadRoute: false,
      schema: {
        tags,
        operationId: 'getMetrics',
        summary: 'Get metrics',
        security: [{}, { token: [] }],
        description: 'Requires TOWPATH_METRICS_TOKEN as the Bearer token if it is set.',
        response: { 200: metrics, ...errorResponses(401, 404) }
      }
    },
    async (request, reply) => {
      const { text } = app.metrics
      if (!text) throw new AppError(404, 'metrics are off: OpenTelemetry is disabled (OTEL_ENABLED)')
      if (metricsToken !== undefined) checkSecret(metricsToken, 'metrics token', request, reply)
      return reply.type('text/plain; version=0.0.4; charset=utf-8').send(await text())
    }
  )
}
