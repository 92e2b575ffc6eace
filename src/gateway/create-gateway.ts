import { allows } from '../domain/allow-list.ts'
import { PRODUCT } from '../domain/product.ts'
import type { Config } from '../config.ts'
import type { StoredServer } from '../registry/model.ts'
import { parseAnnouncement } from '../registry/session-ends.ts'
import type { Registry } from '../registry/registry.ts'
import { createAttempts } from './attempts.ts'
import { emptyCatalog, type Catalog } from './catalog.ts'
import { changedKinds, createDashboardEvents } from './changes.ts'
import { createConnections } from './connections.ts'
import { createHealthTracker } from './contacts.ts'
import { createDashboard, type Dashboard } from './dashboard/dashboard.ts'
import { createDownstream, type Downstream } from './downstream/downstream.ts'
import { createMcpContext } from './downstream/edge.ts'
import type { DataPlane } from './downstream/exchange.ts'
import { ownerOf } from './downstream/home.ts'
import { createListChangeNotifier } from './downstream/watch.ts'
import type { ListenAddress } from './egress.ts'
import { groupOf } from './endpoint.ts'
import type { Gateway } from './gateway.ts'
import { createGroups } from './groups.ts'
import { createInvocation } from './invocation.ts'
import { createBatchScheduler } from './later.ts'
import { createListChanges, isListChange } from './list-changes.ts'
import { createManagement } from './management.ts'
import { createMcpRefusals } from './mcp-refusals.ts'
import { parseUpdate } from './notifications.ts'
import { comparePrincipals, createPrincipals } from './principals.ts'
import { joinObservers, type Observer } from './observation.ts'
import { createReadingOrder } from './reading-order.ts'
import { createRefresher } from './refresher.ts'
import { createRegistration } from './registration.ts'
import { allowedTo, scopeAt } from './scope.ts'
import { createQuotas } from './shares.ts'
import { createSignIns } from './sign-in.ts'
import { createStateApplier } from './state-applier.ts'
import type { GatewayStats } from './stats.ts'
import { createSubscriptions } from './subscriptions.ts'
import type { Target } from './transports.ts'
import { createSemaphore } from './turns.ts'
import { UpstreamFailure } from './upstream/failure.ts'
import { createWatchSession } from './upstream/watch-session.ts'
import { createClientActivity } from './visitors.ts'
import { createUpstreamWatchers } from './watching.ts'
import { isStillAllowed, permissionWithdrawn } from './withdrawal.ts'

export interface Log {
  debug(details: object, text: string): void
  info(details: object, text: string): void
  warn(details: object, text: string): void
  error(details: object, text: string): void
}

export interface GatewayOptions {
  readonly registry: Registry
  readonly config: Pick<
    Config,
    | 'mode'
    | 'traceContext'
    | 'stdio'
    | 'egress'
    | 'resultSecrets'
    | 'timeouts'
    | 'limits'
    | 'spareSessions'
    | 'toolNames'
    | 'refreshIntervalMs'
    | 'staleLimitS'
  >
  /** Product version. */
  readonly version: string
  /** Returns the gateway's own listen addresses; empty before the gateway listens. */
  readonly listenAddresses: () => readonly ListenAddress[]
  /** Observers of calls and upstreams; each implements only the functions that it needs. */
  readonly observers: readonly Partial<Observer>[]
  readonly log: Log
}

/** The gateway with the members that only its plugin, the MCP routes and the dashboard routes use. */
export interface RunningGateway extends Gateway {
  readonly mcp: Downstream
  /** Data of the dashboard's pages. */
  readonly dashboard: Dashboard
  stats(): GatewayStats
  /** Closes all warm sessions and opens no new ones, before the process stops. */
  closeWarmSessions(): void
  /** Stops calls that still run at removed, disabled or changed servers, to free memory. */
  endRetired(): void
  /** Loads the catalog and subscribes to changes of the registry. */
  start(): Promise<void>
  /** Closes all sessions and connections and resolves when no child process is left. */
  close(): Promise<void>
}

/** Watch sessions that are opened concurrently. */
const MAX_OPENING_WATCHES = 8
const OUTDATED_MS = 60_000

const systemActor = { kind: 'system', name: PRODUCT } as const

/** Tests if a server's lists may have changed while it was not watched. A process's lists are read on demand. */
const isOutdated = ({ transport, verdict }: StoredServer) =>
  transport !== 'stdio' && verdict !== null && Date.now() - Date.parse(verdict.checkedAt) > OUTDATED_MS

export function createGateway(options: GatewayOptions): RunningGateway {
  const { registry, config, version, listenAddresses, log } = options
  const { limits } = config
  let catalog = emptyCatalog
  let ready = false
  const events = createDashboardEvents()
  const health = createHealthTracker({
    lastLine: (server) => connections.stderr(server).at(-1),
    onChange: () => events.publish('servers', 'tools', 'prompts', 'resources')
  })
  // enterprise mode serves no dashboard
  const hasDashboard = config.mode === 'development'
  const observer = joinObservers([
    { traceContext: config.traceContext },
    ...options.observers,
    ...(hasDashboard ? [health.observer] : [])
  ])
  const quotas = createQuotas(config.mode)
  const calls = quotas.forUnits(limits.callsPerPrincipal)
  const schedule = createBatchScheduler()

  const listChanges = createListChanges()
  // while a session opens, a server may announce lists that have not changed
  const handleNotification = ({ id, name }: StoredServer, method: string, params: string, isOpening = false) => {
    if (isOpening && isListChange(method)) return refresher.suggestRefresh(id)
    if (listChanges.record(id, method)) refresher.requestRefresh(id)
    else if (method === 'notifications/elicitation/complete') mcpContext.elicitations.complete(name, params)
  }
  const connections = createConnections({
    registry,
    config,
    version,
    listenAddresses,
    observer,
    shares: calls,
    callBytes: quotas.forBytes(limits.callBytes),
    schedule,
    onNotification: handleNotification,
    onWarmSessionsChange: () => events.publish('servers'),
    log
  })
  const { upstreams, targetOf } = connections
  const readings = createReadingOrder(registry)
  const readServer = (target: Target) =>
    health.track(
      target.name,
      () => readings.read(() => connections.readOffer({ ...target, verdict: null })),
      (error) => (error instanceof UpstreamFailure ? error : undefined)
    )
  // a person refreshes after updating a server: the next call must not get a session of the old version
  const rereadServer = (target: Target) => {
    upstreams.discardWarmSessions(target.name)
    return readServer(target)
  }
  const signIns = createSignIns({
    sessions: registry.oauthSessions,
    http: connections.http,
    sessionMs: config.timeouts.oauthSessionMs,
    retentionMs: config.timeouts.oauthRetentionMs,
    onChange: () => events.publish('sign_ins'),
    log
  })

  const refresher = createRefresher({
    intervalMs: config.refreshIntervalMs,
    catalog: () => catalog,
    claim: ({ id }, withinMs) => registry.tryStartRefresh(id, withinMs),
    read: (stored) => readServer(targetOf(stored)),
    store(stored, offer) {
      const change = { actor: systemActor, action: 'server.refresh', target: stored.name }
      return readings.store(change, stored, offer)
    },
    onRead({ id, name }) {
      const lists = listChanges.take(id)
      if (lists.size > 0) watch.schedule({ server: name, lists })
    },
    log
  })
  const watch = createListChangeNotifier(() => upstreamWatchers.reviewSoon())
  const runInTurn = createSemaphore(MAX_OPENING_WATCHES)
  const upstreamWatchers = createUpstreamWatchers({
    catalog: () => catalog,
    create: (stored, delayMs) =>
      createWatchSession({
        client: connections.createClient(stored),
        verdict: stored.verdict!,
        connectMs: config.timeouts.connectMs,
        delayMs,
        runInTurn,
        onNotification(method, params) {
          handleNotification(stored, method, params)
          const update = method === 'notifications/resources/updated' ? parseUpdate(params) : undefined
          if (update) subscriptions.notifyUpdated(stored.name, update.uri, update.extra)
        },
        onOpen: (isFirst) => {
          if (!isFirst || isOutdated(stored)) refresher.requestRefresh(stored.id)
          else refresher.refreshIfStale(stored.id)
        },
        onFailure: (err) => log.warn({ err, server: stored.name }, 'the changes of a server cannot be watched')
      }),
    listenedServers: () => watch.servers(),
    subscribedUris: (server) => subscriptions.subscribedUris(server)
  })
  const subscriptions = createSubscriptions((server) => upstreamWatchers.updateSubscriptions(server))

  const clientActivity = createClientActivity()
  const core: DataPlane = {
    scope(caller, endpoint) {
      if (hasDashboard) clientActivity.recordRequest(endpoint)
      return scopeAt(catalog, groupOf(endpoint), allowedTo(catalog, caller))
    },
    recordClient: (endpoint, client) => (hasDashboard ? clientActivity.recordClient(endpoint, client) : null),
    allows: (caller, server) => allows(allowedTo(catalog, caller), server),
    forward(server, call, origin) {
      refresher.refreshIfStale(server.stored.id)
      return upstreams.get(server).call(call, origin)
    },
    notifyOwner: (owner, method) => upstreams.notifyOwner(owner, method),
    refusals: createMcpRefusals(() => catalog, registry.recordRefusal)
  }
  const mcpContext = createMcpContext({
    registry,
    config,
    version,
    dataPlane: core,
    observer,
    listChanges: watch,
    subscriptions,
    calls,
    quotas,
    schedule,
    onSessionEnd: (session) => upstreams.closeOwner(ownerOf(session)),
    log
  })
  const mcp = createDownstream(mcpContext, log)
  const invocation = createInvocation(() => catalog, core, observer)
  const endGroups = (removed: Catalog['groups']) => {
    for (const { stored } of removed) {
      mcp.endGroup(stored.name)
      clientActivity.forgetGroup(stored.name)
    }
  }
  /** Replaces the catalog and returns the follow-up steps in order, revocations first. */
  const swap = (next: Catalog): (() => void)[] => {
    const previous = catalog
    const removed = previous.groups.filter(
      ({ stored }) => next.group(stored.name)?.stored.createdAt !== stored.createdAt
    )
    const { revoked, hasNewAllowLists } = comparePrincipals(previous, next)
    catalog = next
    ready = true
    return [
      () => mcp.endPrincipals((principal) => revoked.has(principal)),
      () => invocation.endCalls(revoked),
      () => revoked.forEach((principal) => upstreams.closeOwner(principal)),
      () =>
        connections.stopCalls(
          ({ observation }) => observation !== null && !isStillAllowed(next, observation),
          permissionWithdrawn
        ),
      () => connections.prune(next),
      () => health.prune(next),
      () => hasNewAllowLists && subscriptions.removeRevoked(),
      () => endGroups(removed),
      () => mcp.scheduleListChanges(),
      () => upstreamWatchers.review(),
      () => refresher.reviewServers(),
      () => events.publish(...changedKinds(previous, next))
    ]
  }
  const applier = createStateApplier({
    catalog: () => catalog,
    toolNames: config.toolNames,
    swap,
    onApplied: observer.onCatalogApplied,
    log
  })
  // after a long loss of the database, revoked tokens may still be accepted (security-model.md#fault-isolation)
  const isStale = () => config.staleLimitS > 0 && registry.unconfirmedMs() > 1_000 * config.staleLimitS

  const attempts = createAttempts(registry)
  registry.calls.onStored = () => events.publish('calls')

  return {
    ...createManagement({ registry, readings, attempts, catalog: () => catalog, readOffer: rereadServer, targetOf }),
    ...createRegistration({
      registry,
      attempts,
      catalog: () => catalog,
      readOffer: connections.readOffer,
      signIns,
      authorizations: connections.authorizations,
      onStored: health.recordSuccess
    }),
    dashboard: createDashboard({
      registry,
      attempts,
      health,
      events,
      clientActivity,
      catalog: () => catalog,
      targetOf,
      readOffer: connections.readOffer,
      readRegistered: rereadServer,
      redactorOf: connections.redactorOf,
      stderr: connections.stderr,
      sessions: upstreams.sessionCounts,
      findCommand: connections.findCommand
    }),
    ...createGroups(registry, () => catalog),
    ...invocation,
    ...createPrincipals(registry, () => catalog),
    get ready() {
      return ready && !isStale()
    },
    get problem() {
      return applier.problem
    },
    get initialized() {
      return catalog.initialized
    },
    mcp,
    stats: () => ({
      sessions: mcpContext.sessions.size,
      streams: watch.size,
      processes: connections.processes,
      activeCalls: upstreams.countActiveCalls(),
      warmSessions: upstreams.countWarmSessions(),
      callsAwaitingProcess: connections.waitingForProcess,
      parkedCalls: mcpContext.inputRequiredStore.size,
      catalogVersion: Number(catalog.version),
      breakers: upstreams.breakers()
    }),
    closeWarmSessions: () => upstreams.closeWarmPools(),
    endRetired: () => upstreams.endRetired(),
    async start() {
      process.on('exit', connections.kill)
      const loadEnds = async () => mcpContext.sessions.removeEnded(await registry.sessionEnds.load())
      const loadMissed = () =>
        void loadEnds().catch((err: unknown) => log.warn({ err }, 'the ends of sessions could not be read'))
      // before the first request, and again whenever announcements may have been lost
      await loadEnds()
      const onAnnouncement = (announcement: string) => {
        const end = parseAnnouncement(announcement)
        if (end) mcpContext.sessions.removeEnded([end])
      }
      await registry.follow(applier.apply, onAnnouncement, loadMissed)
      refresher.start()
      signIns.start()
    },
    async close() {
      events.close()
      refresher.close()
      signIns.close()
      mcp.close()
      upstreamWatchers.close()
      subscriptions.close()
      await connections.close()
      process.off('exit', connections.kill)
    }
  }
}
