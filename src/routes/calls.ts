import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { messageFor, type Caller } from '../catalog/caller.ts'
import { ownCalls } from '../control/own-calls.ts'
import { isAdministrator } from '../domain/access/access.ts'
import { explain } from '../domain/failures/explain.ts'
import { withoutServerPrefix } from '../domain/server-error.ts'
import { notFound } from '../lib/errors.ts'
import { callerOf } from '../plugins/auth.ts'
import { Call, CallCauses, CallFilter, CallPage, CausesQuery, type CallEntry } from '../schemas/call.ts'
import { errorResponses, ref, Text } from '../schemas/shared.ts'
import { Stats, StatsQuery } from '../schemas/stats.ts'

const tags = ['calls']
const config = { access: 'admin' } as const
const reading = { access: 'auditor' } as const
/** Users read their own calls. */
const ownReading = { access: 'user' } as const

/** Row ids are decimal numbers; any other id is a 404. */
const rowId = /^\d{1,18}$/

/** Returns the known cause of a failed call and the next step. */
const explanationOf = ({ outcome, error, stderr }: CallEntry) =>
  error !== undefined && (outcome === 'failed' || outcome === 'timeout')
    ? explain({ message: withoutServerPrefix(error), stderr: stderr?.split('\n') })
    : undefined

/** Removes what callers sent and servers said, for callers who may read everything else. */
function withoutContents(
  caller: Caller,
  { arguments: _arguments, result: _result, stderr: _stderr, error, held_since, ...shown }: CallEntry
): CallEntry {
  const isReviewer = caller.kind !== 'user'
  const call = { ...shown, ...(isReviewer && held_since !== undefined ? { held_since } : {}) }
  return error === undefined || call.outcome === 'tool_error' ? call : { ...call, error: messageFor(caller, error) }
}

const isOwn = (caller: Caller, call: Pick<CallEntry, 'caller' | 'caller_kind'>) =>
  call.caller === caller.name && call.caller_kind === caller.kind
const mayRead = (caller: Caller, call: CallEntry) => caller.kind !== 'user' || isOwn(caller, call)

/** Returns a call as the caller may read it. */
const callFor = (caller: Caller, call: CallEntry): CallEntry =>
  isAdministrator(caller) ? call : withoutContents(caller, call)

/** Routes of the call log (security-model.md#audit). Read-only: no route changes or deletes a call. */
export const calls: FastifyPluginAsyncTypebox = async (app) => {
  app.get(
    '/calls',
    {
      config: ownReading,
      schema: {
        tags,
        operationId: 'listCalls',
        summary: 'List calls',
        description: 'Users get their own calls.',
        querystring: CallFilter,
        response: { 200: ref(CallPage) }
      }
    },
    async (request) => {
      const { limit = 100, ...filter } = request.query
      const caller = callerOf(request)
      if (caller.kind === 'user' && (filter.caller ?? caller.name) !== caller.name) return { calls: [] }
      const rows = await app.registry.calls.list({ ...filter, ...ownCalls(caller), limit: limit + 1 })
      const page = rows.slice(0, limit).map((call) => callFor(caller, call))
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
        summary: 'List causes of failed calls',
        description: 'Groups the newest 1,000 failed calls by server and cause.',
        querystring: CausesQuery,
        response: { 200: ref(CallCauses) }
      }
    },
    async (request) => ({ causes: await app.registry.calls.causes(request.query) })
  )

  app.get(
    '/calls/:id',
    {
      config: ownReading,
      schema: {
        tags,
        operationId: 'getCall',
        summary: 'Get a call',
        description:
          'Includes arguments and result if they were recorded; these are for administrators only. Users get their own calls.',
        params: Type.Object({ id: Text({ minLength: 1 }) }),
        response: { 200: ref(Call), ...errorResponses(404) }
      }
    },
    async (request) => {
      const { id } = request.params
      const caller = callerOf(request)
      const call = rowId.test(id) ? await app.registry.calls.find(id) : undefined
      if (!call || !mayRead(caller, call)) throw notFound('call', id)
      const shown = callFor(caller, call)
      return { ...shown, ...explanationOf(shown) }
    }
  )

  app.get(
    '/stats',
    {
      config: reading,
      schema: {
        tags,
        operationId: 'getStats',
        summary: 'Get call statistics',
        querystring: StatsQuery,
        response: { 200: ref(Stats) }
      }
    },
    async (request) => {
      await app.learnActivity?.()
      const stats = await app.registry.calls.stats(request.query.range ?? '24h')
      return { ...stats, in_flight: app.gateway.activity.activeCalls() }
    }
  )
}
