import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Config } from '../../config/config.ts'
import { isLoopback } from '../../domain/network/loopback.ts'
import { VERSION } from '../../domain/version.ts'
import { GLOBAL_ENDPOINT, SSE_ENDPOINT } from '../../catalog/endpoint.ts'
import { Overview } from '../../schemas/dashboard/overview.ts'
import { callerOf } from '../../plugins/auth.ts'
import { baseUrlOf } from '../base-url.ts'
import { seenClient } from './seen-client.ts'

const access = { access: 'user' } as const
const MAX_ATTENTION = 200
const MAX_CLIENTS = 20

export interface OverviewOptions {
  readonly publicUrl: string | undefined
  readonly config: Pick<Config, 'mode' | 'host' | 'callLog'>
}

const graveKinds = new Set(['server_failing', 'sign_in_needed'])

/** Data of the overview page and counts for the navigation. */
export const overview: FastifyPluginAsyncTypebox<OverviewOptions> = async (app, { publicUrl, config }) => {
  const { host, callLog } = config
  const recorded = callLog.enabled
    ? callLog.contents
      ? ('contents' as const)
      : ('calls' as const)
    : ('nothing' as const)

  app.get('/overview', { config: access, schema: { response: { 200: Overview } } }, async (request) => {
    const caller = callerOf(request)
    const isUser = caller.kind === 'user'
    const servers = await app.gateway.dashboard.servers(caller)
    const attention = app.gateway.dashboard.attention(caller, servers)
    const held = app.gateway.definitions.counts()
    const base = baseUrlOf(request, publicUrl)
    const counts = app.gateway.dashboard.counts(caller)
    const seen = isUser ? undefined : app.gateway.dashboard.lastSeen()
    const calls = await app.gateway.dashboard.newestCalls(caller)
    const approvalCount = await app.gateway.approvals.countOpen(caller)
    return {
      status: attention.some(({ kind }) => graveKinds.has(kind)) ? ('degraded' as const) : ('running' as const),
      mode: config.mode,
      version: VERSION,
      endpoints: [
        { label: 'Streamable HTTP', url: `${base}${GLOBAL_ENDPOINT}` },
        { label: 'SSE', url: `${base}${SSE_ENDPOINT}` }
      ],
      ...counts,
      approval_count: approvalCount,
      enabled_count: servers.filter(({ enabled }) => enabled).length,
      connected_count: servers.filter(({ status }) => status === 'connected').length,
      tokens: app.gateway.dashboard.countTokens(caller),
      attention: attention.slice(0, MAX_ATTENTION),
      attention_count: attention.length,
      held_count: isUser ? 0 : held.new + held.changed,
      recorded,
      has_calls: calls.length > 0,
      has_client: seen !== undefined || calls.some(({ via }) => via !== 'rest'),
      ...(caller.kind === 'admin' ? { has_people: app.gateway.people.size > 1 } : {}),
      ...(seen === undefined ? {} : { last_client_at: new Date(seen).toISOString() }),
      clients: isUser ? [] : app.gateway.dashboard.clients().slice(0, MAX_CLIENTS).map(seenClient),
      is_bound_wide: config.mode === 'development' && !isLoopback(host)
    }
  })
}
