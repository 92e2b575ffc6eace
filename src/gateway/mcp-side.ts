import { allows } from '../domain/allow-list.ts'
import { createDownstream, type Downstream } from '../mcp/downstream.ts'
import { createMcpContext } from '../mcp/mcp-context.ts'
import type { DataPlane, McpContext } from '../mcp/request-context.ts'
import { ownerOf } from '../mcp/session-callbacks.ts'
import { groupOf } from '../catalog/endpoint.ts'
import { createInvocation, type Invocation } from '../control/invocation.ts'
import { ClientCalls } from '../upstream/client-calls.ts'
import type { ListRefresh } from './list-refresh.ts'
import { createMcpRefusals } from '../mcp/mcp-refusals.ts'
import { allowedTo, scopeAt } from '../catalog/scope.ts'
import type { ServerWatching } from './server-watching.ts'
import type { GatewayBase } from './base.ts'
import type { UpstreamSide } from './upstream-side.ts'
import { createClientActivity, type ClientActivity } from '../observe/client-activity.ts'

/** The side of the gateway that clients see: MCP requests, and calls over REST. */
export interface McpSide {
  readonly context: McpContext
  readonly downstream: Downstream
  readonly invocation: Invocation
  readonly clientActivity: ClientActivity
}

export function createMcpSide(
  { options, live, quotas, calls, schedule, hasDashboard }: GatewayBase,
  { connections, observer, notifications }: UpstreamSide,
  { refresher }: ListRefresh,
  { listChanges, subscriptions }: ServerWatching
): McpSide {
  const { registry, config, version, log } = options
  const { upstreams } = connections
  const clientActivity = createClientActivity()
  const dataPlane: DataPlane = {
    scope(caller, endpoint) {
      if (hasDashboard) clientActivity.recordRequest(endpoint)
      return scopeAt(live.current, groupOf(endpoint), allowedTo(live.current, caller))
    },
    recordClient: (endpoint, client) => (hasDashboard ? clientActivity.recordClient(endpoint, client) : null),
    allows: (caller, server) => allows(allowedTo(live.current, caller), server),
    notifyOwner: (owner, method) => upstreams.notifyOwner(owner, method),
    refusals: createMcpRefusals(() => live.current, registry.recordRefusal)
  }
  const clientCalls = new ClientCalls(observer, (server, call, origin) => {
    refresher.refreshIfStale(server.stored.id)
    return upstreams.get(server).call(call, origin)
  })
  const context = createMcpContext({
    registry,
    config,
    version,
    dataPlane,
    clientCalls,
    observer,
    listChanges,
    subscriptions,
    calls,
    quotas,
    schedule,
    onSessionEnd: (session) => upstreams.closeOwner(ownerOf(session)),
    log
  })
  const downstream = createDownstream(context, log)
  const invocation = createInvocation(() => live.current, clientCalls)
  notifications.subscribe(({ name }, method, params) => {
    if (method === 'notifications/elicitation/complete') context.elicitations.complete(name, params)
  })
  live.onChange('endSessions', ({ revoked }) => downstream.endPrincipals((principal) => revoked.has(principal)))
  live.onChange('endSessions', ({ revoked }) => invocation.endCalls(revoked))
  live.onChange('release', ({ removedGroups }) => {
    for (const { stored } of removedGroups) {
      downstream.endGroup(stored.name)
      clientActivity.forgetGroup(stored.name)
    }
  })
  live.onChange('notify', () => downstream.scheduleListChanges())
  return { context, downstream, invocation, clientActivity }
}
