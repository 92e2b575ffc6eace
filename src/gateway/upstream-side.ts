import type { StoredServer } from '../registry/model/model.ts'
import { createConnections, type Connections } from '../upstream/connections.ts'
import { createHealthTracker, type HealthTracker } from '../control/dashboard/server-health.ts'
import type { GatewayBase } from './base.ts'
import { joinObservers, type Observer } from '../observe/observation.ts'
import { createSignal, type Signal } from '../lib/signal.ts'
import { isStillAllowed, permissionWithdrawn } from '../mcp/withdrawal.ts'

/**
 * Notifications of upstreams that belong to no call. `params` is JSON text. `isOpening`: the session is being opened, and
 * the server may announce lists that have not changed.
 */
export type UpstreamNotifications = Signal<[server: StoredServer, method: string, params: string, isOpening: boolean]>

/** Connections to upstreams, with their health and notifications. */
export interface UpstreamSide {
  readonly connections: Connections
  readonly health: HealthTracker
  readonly observer: Observer
  readonly notifications: UpstreamNotifications
}

export function createUpstreamSide({ options, live, events, quotas, calls, hasDashboard }: GatewayBase): UpstreamSide {
  const { registry, config, version, listenAddresses, observers, log } = options
  const health = createHealthTracker({
    // asked after a failure only, when connections exist
    stderr: (server) => connections.stderr(server),
    onChange: () => events.publish('servers', 'tools', 'prompts', 'resources')
  })
  const observer = joinObservers([
    { traceContext: config.traceContext },
    ...observers,
    ...(hasDashboard ? [health.observer] : [])
  ])
  const notifications: UpstreamNotifications = createSignal()
  const connections = createConnections({
    registry,
    config,
    version,
    listenAddresses,
    observer,
    shares: calls,
    callBytes: quotas.forBytes(config.limits.callBytes),
    onNotification: (server, method, params, isOpening = false) =>
      notifications.emit(server, method, params, isOpening),
    onSpareSessionsChange: () => events.publish('servers'),
    log
  })
  const { upstreams } = connections
  live.onChange('endCalls', ({ revoked }) => revoked.forEach((principal) => upstreams.closeOwner(principal)))
  live.onChange('endCalls', ({ next }) =>
    connections.stopCalls(
      ({ observation }) => observation !== null && !isStillAllowed(next, observation),
      permissionWithdrawn
    )
  )
  live.onChange('release', ({ next }) => connections.prune(next))
  live.onChange('release', ({ next }) => health.prune(next))
  return { connections, health, observer, notifications }
}
