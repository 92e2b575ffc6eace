import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { notFound } from '../errors.ts'
import { Call, CallCauses, CallFilter, CallPage, CausesQuery } from '../schemas/call.ts'
import { failures, ref, Text } from '../schemas/shared.ts'
import { Stats, StatsQuery } from '../schemas/stats.ts'

const tags = ['calls']
const config = { access: 'admin' } as const

/** What `id` of no row can be is the id of nothing. */
const rowId = /^\d{1,18}$/

/** Security page 7.5. Rows are read and nothing else: no route changes or deletes any. */
export const calls: FastifyPluginAsyncTypebox = async (app) => {
  app.get(
    '/calls',
    {
      config,
      schema: {
        tags,
        operationId: 'listCalls',
        summary: 'Who called what, and how it went',
        querystring: CallFilter,
        response: { 200: ref(CallPage) }
      }
    },
    async (request) => {
      const { limit = 100, ...filter } = request.query
      const rows = await app.registry.calls.list({ ...filter, limit: limit + 1 })
      const page = rows.slice(0, limit)
      return { calls: page, ...(rows.length > limit ? { next_before: page.at(-1)!.id } : {}) }
    }
  )

  app.get(
    '/calls/causes',
    {
      config,
      schema: {
        tags,
        operationId: 'listCallCauses',
        summary: 'Why calls fail: the newest 1,000 that did, by server and cause',
        querystring: CausesQuery,
        response: { 200: ref(CallCauses) }
      }
    },
    async (request) => ({ causes: await app.registry.calls.causes(request.query) })
  )

  app.get(
    '/calls/:id',
    {
      config,
      schema: {
        tags,
        operationId: 'getCall',
        summary: 'One call, with arguments and result where they are kept',
        params: Type.Object({ id: Text({ minLength: 1 }) }),
        response: { 200: ref(Call), ...failures(404) }
      }
    },
    async ({ params: { id } }) => {
      const call = rowId.test(id) ? await app.registry.calls.find(id) : undefined
      if (!call) throw notFound('call', id)
      return call
    }
  )

  app.get(
    '/stats',
    {
      config,
      schema: {
        tags,
        operationId: 'getStats',
        summary: 'Counts and percentiles of calls, for charts',
        querystring: StatsQuery,
        response: { 200: ref(Stats) }
      }
    },
    async (request) => {
      const stats = await app.registry.calls.stats(request.query.range ?? '24h')
      return { ...stats, in_flight: app.gateway.stats().callsUnderWay }
    }
  )
}
