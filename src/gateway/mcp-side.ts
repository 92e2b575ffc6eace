import { createDownstream, type Downstream } from '../mcp/downstream.ts'
import type { CatalogServer } from '../catalog/catalog.ts'
import type { Caller } from '../catalog/caller.ts'
import { groupOf } from '../catalog/endpoint.ts'
import { shownArguments } from '../mcp/approvals/shown-arguments.ts'
import { webhookOf } from './webhooks.ts'
import { createApprovalNotice } from '../control/approvals/webhook.ts'
import { createInvocation, type Invocation } from '../control/invocation.ts'
import { noop } from '../lib/noop.ts'
import { ClientCalls, type SendCall } from '../upstream/client-calls.ts'
import type { ListRefresh } from './list-refresh.ts'
import { createApprovalGate } from '../mcp/approvals/approval-gate.ts'
import { createApprovalWaits } from '../mcp/approvals/approval-waits.ts'
import { createPolicyGate, factsOf } from '../mcp/policy-gate.ts'
import { judge } from '../domain/policy/permit.ts'
import { createMcpRefusals } from '../mcp/mcp-refusals.ts'
import { resourceOf } from '../catalog/resource-resolution.ts'
import { createSearchIndex } from '../catalog/search-index.ts'
import type { ToolVectors } from '../catalog/vectors/tool-vectors.ts'
import { vectorsOf } from './vectors.ts'
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
  /** Number of calls that wait for a decision of an approver. */
  readonly heldCalls: number
  /** Looks at a request for approval, because a change was announced. */
  readonly announceApproval: (id: string) => void
  /** Ends the messages to the webhook that are on their way. */
  readonly closeWebhook: () => void
  /** Vectors for search; undefined without a model. */
  readonly toolVectors: ToolVectors | undefined
}

/** Creates the scopes of the current catalog. `onRequest`: called with the endpoint of each request. */
const createScopes = (live: GatewayBase['live'], onRequest: (endpoint: string) => void): CurrentScopes => ({
  scope(caller, endpoint) {
    onRequest(endpoint)
    return scopeAt(live.current, groupOf(endpoint), permitOf(live.current, caller))
  },
  allows(caller, server, uri) {
    const catalog = live.current
    const item = resourceOf(catalog, server, uri)
    const decision = permitOf(catalog, caller).decide(item)
    if (decision.verdict !== 'residual') return decision.verdict === 'yes'
    return judge(decision, factsOf(catalog.permits.subjectOf(caller), item, undefined)).isAllowed
  }
})

export function createMcpSide(
  { options, live, quotas, calls, schedule, slices, hasDashboard, events }: GatewayBase,
  { connections, observer, notifications }: UpstreamSide,
  { refresher }: ListRefresh,
  { listChanges, subscriptions, taskStreams }: ServerWatching
): McpSide {
  const { registry, config, version, ownsId, log } = options
  const { upstreams } = connections
  const clientActivity = createClientActivity()
  const scopes = createScopes(live, (endpoint) => {
    if (hasDashboard) clientActivity.recordRequest(endpoint)
  })
  const send: SendCall = (server, call, origin) => {
    refresher.refreshIfStale(server.stored.id)
    return upstreams.get(server).call(call, origin)
  }
  const clientCalls = new ClientCalls(observer, send)
  const policies = createPolicyGate({
    recordRefusal: registry.recordRefusal,
    onDecision: observer.onDecision,
    onObserved: registry.policyCounts.record,
    subjectOf: (caller) => live.current.permits.subjectOf(caller),
    publicUrl: config.publicUrl,
    baseScopes: config.auth.external?.scopes ?? ['mcp'],
    log
  })
  const redactorOf = ({ stored }: CatalogServer) => connections.redactorOf(stored)
  const webhook = webhookOf(config.approvalWebhook, options, connections)
  const tellApprovers = webhook && createApprovalNotice(webhook, config.publicUrl)
  const approvals = {
    gate: createApprovalGate({
      store: registry.approvals,
      onRequest(approval, { args = '{}', item, secrets }) {
        events.publish('approvals', 'audit')
        tellApprovers?.(approval, shownArguments(args, redactorOf(item.server), secrets?.names))
      },
      onUse: () => events.publish('approvals')
    }),
    waits: createApprovalWaits(registry.approvals),
    tasks: registry.approvalTasks,
    currentCaller: (given: Caller) => (given.kind === 'development' ? given : live.current.currentCaller(given)),
    isWanted: () => live.isLoaded && live.current.permits.policies.asking.size > 0
  }
  const refusals = createMcpRefusals(
    () => live.current,
    registry.recordRefusal,
    observer.onDecision,
    registry.policyCounts.record
  )
  const searchIndex = createSearchIndex()
  const toolVectors = vectorsOf(options, connections)
  const downstream = createDownstream({
    registry,
    config,
    version,
    ownsId,
    clientCalls,
    taskCalls: new ClientCalls({ ...observer, onCall: noop }, send),
    taskStreams,
    redactorOf,
    observer,
    searchIndex,
    toolVectors,
    scopes,
    refusals,
    policies,
    approvals,
    recordClient: (endpoint, client) => (hasDashboard ? clientActivity.recordClient(endpoint, client) : null),
    listChanges,
    subscriptions,
    calls,
    quotas,
    schedule,
    slices,
    upstreamSessions: upstreams,
    log
  })
  const invocation = createInvocation({
    catalog: () => live.current,
    calls: clientCalls,
    approvals: approvals.gate,
    policies,
    redactorOf,
    refusals,
    slices
  })
  notifications.subscribe(({ name }, method, params) => {
    if (method === 'notifications/elicitation/complete') downstream.completeElicitation(name, params)
  })
  live.onChange('endSessions', ({ revoked }) => downstream.endPrincipals((principal) => revoked.has(principal)))
  live.onChange('endSessions', ({ revoked }) => invocation.endCalls(revoked))
  live.onChange('release', ({ next }) => searchIndex.follow(next))
  if (toolVectors) live.onChange('release', ({ next }) => toolVectors.follow(next))
  live.onChange('release', ({ removedGroups }) => {
    for (const { stored } of removedGroups) {
      downstream.endGroup(stored.name)
      clientActivity.forgetGroup(stored.name)
    }
  })
  live.onChange('notify', () => downstream.scheduleListChanges())
  return {
    downstream,
    invocation,
    clientActivity,
    get heldCalls() {
      return approvals.waits.size
    },
    announceApproval(id) {
      events.publish('approvals')
      approvals.waits.announce(id)
      downstream.approvalTasks.announce(id)
    },
    closeWebhook: webhook?.close ?? noop,
    toolVectors
  }
}
