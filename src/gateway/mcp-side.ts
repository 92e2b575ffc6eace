import { createDownstream, type Downstream } from '../mcp/downstream.ts'
import type { CatalogServer } from '../catalog/catalog.ts'
import { groupOf } from '../catalog/endpoint.ts'
import { createInvocation, type Invocation } from '../control/invocation.ts'
import { noop } from '../lib/noop.ts'
import { ClientCalls, type SendCall } from '../upstream/client-calls.ts'
import type { ListRefresh } from './list-refresh.ts'
import { createPolicyGate, factsOf } from '../mcp/policy-gate.ts'
import { judge } from '../domain/policy/permit.ts'
import { createMcpRefusals } from '../mcp/mcp-refusals.ts'
import { resourceOf } from '../catalog/resource-resolution.ts'
import { permitOf, scopeAt, type CurrentScopes } from '../catalog/scope.ts'
import type { ServerWatching } from './server-watching.ts'
import type { GatewayBase } from './base.ts'
import type { UpstreamSide } from './upstream-side.ts'
import { createClientActivity, type ClientActivity } from '../observe/client-activity.ts'

/** The side of the gateway that clients see: MCP requests, and calls over REST. */
export interface McpSide {
  readonly downstream: Downstream
  readonly invocation: Invocation
  readonly clientActivity: ClientActivity
}

export function createMcpSide(
  { options, live, quotas, calls, schedule, hasDashboard }: GatewayBase,
  { connections, observer, notifications }: UpstreamSide,
  { refresher }: ListRefresh,
  { listChanges, subscriptions, taskStreams }: ServerWatching
): McpSide {
  const { registry, config, version, log } = options
  const { upstreams } = connections
  const clientActivity = createClientActivity()
  const scopes: CurrentScopes = {
    scope(caller, endpoint) {
      if (hasDashboard) clientActivity.recordRequest(endpoint)
      return scopeAt(live.current, groupOf(endpoint), permitOf(live.current, caller))
    },
    allows(caller, server, uri) {
      const catalog = live.current
      const item = resourceOf(catalog, server, uri)
      const decision = permitOf(catalog, caller).decide(item)
      if (decision.verdict !== 'residual') return decision.verdict === 'yes'
      return judge(decision, factsOf(catalog.permits.subjectOf(caller), item, undefined)).isAllowed
    }
  }
  const send: SendCall = (server, call, origin) => {
    refresher.refreshIfStale(server.stored.id)
    return upstreams.get(server).call(call, origin)
  }
  const clientCalls = new ClientCalls(observer, send)
  const policies = createPolicyGate({
    recordRefusal: registry.recordRefusal,
    onDecision: observer.onDecision,
    subjectOf: (caller) => live.current.permits.subjectOf(caller),
    publicUrl: config.publicUrl,
    baseScopes: config.auth.external?.scopes ?? ['mcp'],
    log
  })
  const refusals = createMcpRefusals(() => live.current, registry.recordRefusal, observer.onDecision)
  const redactorOf = ({ stored }: CatalogServer) => connections.redactorOf(stored)
  const downstream = createDownstream({
    registry,
    config,
    version,
    clientCalls,
    taskCalls: new ClientCalls({ ...observer, onCall: noop }, send),
    taskStreams,
    redactorOf,
    observer,
    scopes,
    refusals,
    policies,
    recordClient: (endpoint, client) => (hasDashboard ? clientActivity.recordClient(endpoint, client) : null),
    listChanges,
    subscriptions,
    calls,
    quotas,
    schedule,
    upstreamSessions: upstreams,
    log
  })
  const invocation = createInvocation({
    ...{ catalog: () => live.current, calls: clientCalls, policies, redactorOf, refusals }
  })
  notifications.subscribe(({ name }, method, params) => {
    if (method === 'notifications/elicitation/complete') downstream.completeElicitation(name, params)
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
  return { downstream, invocation, clientActivity }
}
