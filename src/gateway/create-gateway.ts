import { parseAnnouncement } from '../registry/session-ends.ts'
import { createCatalogue, type ServerCatalogue } from '../control/catalogue/catalogue.ts'
import { createAccessTokens, type AccessTokens } from '../control/access-tokens.ts'
import { createAttempts } from '../control/attempts.ts'
import { changedKinds } from '../control/dashboard/dashboard-events.ts'
import { checkVectors } from '../control/dashboard/diagnostics.ts'
import { createDashboard, type Dashboard } from '../control/dashboard/dashboard.ts'
import { followReplicas } from '../control/dashboard/remote-changes.ts'
import type { Downstream } from '../mcp/downstream.ts'
import { definitionPolicyOf } from '../catalog/served-definitions.ts'
import { createDefinitions, heldCountsOf, type Definitions } from '../control/definitions/definitions.ts'
import { createGroups, type Groups } from '../control/groups.ts'
import { createListRefresh, type ListRefresh } from './list-refresh.ts'
import type { RestCalls } from '../control/invocation.ts'
import { createItems, type Items } from '../control/items.ts'
import { createMcpSide, type McpSide } from './mcp-side.ts'
import { createConnectedClients, type ConnectedClients } from '../control/people/connected-clients.ts'
import { createRegisteredClients, type RegisteredClients } from '../control/people/registered-clients.ts'
import { createApprovalDecisions, type ApprovalDecisions } from '../control/approvals/approvals.ts'
import { createPolicies, type Policies } from '../control/policies/policies.ts'
import { createTeams, type Teams } from '../control/people/teams.ts'
import { createPrincipals, type Principals, type RoleGroups } from '../control/principals.ts'
import type { People } from '../catalog/people.ts'
import type { Check } from '../schemas/check.ts'
import type { SigningKey } from '../registry/model/model.ts'
import { createRegistration, type SignIns } from '../control/registration.ts'
import { createServers, type Servers } from '../control/servers.ts'
import { groupTokens, watchGroupBudgets } from './group-budgets.ts'
import { createServerWatching, type ServerWatching } from './server-watching.ts'
import { clientDocument } from '../upstream/oauth/client-document.ts'
import { createSharedActivity, type SharedActivity } from './shared-activity.ts'
import { createSignInSessions, type SignInSessions } from '../control/sign-in.ts'
import { createStateApplier, type StateApplier } from '../catalog/state-applier.ts'
import type { GatewayStats } from './stats.ts'
import { createBase, type GatewayBase, type GatewayOptions } from './base.ts'
import { createTokenExpiry, type TokenExpiry } from './token-expiry.ts'
import { createUpstreamSide, type UpstreamSide } from './upstream-side.ts'
import { tellOfDefinitions } from './webhooks.ts'

/**
 * The gateway as the routes use it: one member for each concern. Methods do not check what a caller may do; the guard
 * and the authentication of the routes do.
 */
export interface Gateway {
  /** True once a catalog is loaded, and while it is not too long out of date. */
  readonly ready: boolean
  /** Description of the parts of the registry that are not served, without confidential details; undefined if none. */
  readonly problem: string | undefined
  /** True once enterprise mode has its first administrator. */
  readonly initialized: boolean
  /** People who sign in, in the catalog that is served. */
  readonly people: People
  /** Public keys of the authorization server, in the catalog that is served. */
  readonly signingKeys: readonly SigningKey[]
  /** `fetch` for sign-in, within the egress policy. */
  readonly fetchFor: UpstreamSide['connections']['fetchFor']
  readonly servers: Servers
  /** Tools, prompts, resources and templates. */
  readonly items: Items
  /** Review of what servers say about their items. */
  readonly definitions: Definitions
  readonly groups: Groups
  /** Users, MCP clients and their tokens. */
  readonly principals: Principals
  readonly accessTokens: AccessTokens
  readonly connectedClients: ConnectedClients
  readonly registeredClients: RegisteredClients
  readonly policies: Policies
  /** Calls that may run only after a yes. */
  readonly approvals: ApprovalDecisions
  readonly teams: Teams
  /** OAuth sign-ins at upstreams. */
  readonly signIns: SignIns
  /** Calls over REST. */
  readonly calls: RestCalls
  /** Requests of MCP clients. */
  readonly mcp: Downstream
  /** Data of the dashboard's pages. */
  readonly dashboard: Dashboard
  /** Servers that can be installed. */
  readonly catalogue: ServerCatalogue
  /** Checks the vectors for search; contacts nothing. */
  searchChecks(): Check[]
  stats(): GatewayStats
  /** Activity in this process and in the other workers, for pages and records. */
  readonly activity: SharedActivity
  /** Closes all spare sessions and opens no new ones, before the process stops. */
  closeSpareSessions(): void
  /** Stops calls that still run at removed, disabled or changed servers, to free memory. */
  endRetired(): void
  /** Loads the catalog and subscribes to changes of the registry. */
  start(): Promise<void>
  /** Closes all sessions and connections and resolves when no child process is left. */
  close(): Promise<void>
}

const LAPSE_CHECK_MS = 15_000

/** The parts of a running gateway. */
interface GatewayParts {
  readonly base: GatewayBase
  readonly upstreamSide: UpstreamSide
  readonly refresh: ListRefresh
  readonly watching: ServerWatching
  readonly mcpSide: McpSide
  readonly signInSessions: SignInSessions
  readonly approvalDecisions: ApprovalDecisions
  readonly applier: StateApplier
  readonly catalogue: ServerCatalogue
  readonly tokenExpiry: TokenExpiry
  /** Undefined without a webhook. */
  readonly noticeOfDefinitions: { close(): void } | undefined
  /** Ends what is open for sign-ins that were not renewed. */
  readonly lapses: NodeJS.Timeout
  readonly remoteChanges: { stop(): void } | undefined
}

const noRoleGroups: RoleGroups = { adminGroups: [], auditorGroups: [] }
const roleGroupsOf = ({ auth }: GatewayOptions['config']): RoleGroups => auth.oidc ?? auth.external ?? noRoleGroups

/** Operations of administrators on servers, groups, users and clients, and the dashboard's data. */
function createControlPlane(parts: GatewayParts) {
  const { base, upstreamSide, refresh, mcpSide, signInSessions } = parts
  const { options, live, leases, events } = base
  const { registry } = options
  const { connections, health } = upstreamSide
  const catalog = () => live.current
  const activity = createSharedActivity({
    ...{ catalog, health, clientActivity: mcpSide.clientActivity },
    sessions: connections.upstreams.sessionCounts,
    startTimes: connections.upstreams.startTimes,
    activeCalls: connections.upstreams.countActiveCalls
  })
  const attempts = createAttempts(registry)
  const { readOffer, rereadServer } = refresh
  const { targetOf, authorizations } = connections
  const { registration, signIns } = createRegistration({
    registry,
    attempts,
    catalog,
    readOffer,
    sessions: signInSessions,
    authorizations,
    onStored: health.recordSuccess
  })
  const groups = createGroups(registry, catalog)
  const definitions = createDefinitions(registry, catalog, options.config.definitions)
  return {
    servers: createServers({
      registration,
      registry,
      attempts,
      catalog,
      readOffer: rereadServer,
      targetOf,
      startTimes: activity.startTimes
    }),
    items: createItems(registry, catalog),
    definitions,
    groups,
    principals: createPrincipals(registry, catalog, leases.renew, roleGroupsOf(options.config)),
    accessTokens: createAccessTokens(registry, catalog),
    connectedClients: createConnectedClients(registry, catalog),
    registeredClients: createRegisteredClients(registry),
    policies: createPolicies(registry, catalog),
    approvals: parts.approvalDecisions,
    teams: createTeams(registry, catalog),
    signIns,
    activity,
    dashboard: createDashboard({
      registry,
      attempts,
      groups,
      health: activity.health,
      events,
      clientActivity: activity.clientActivity,
      catalog,
      targetOf,
      readOffer,
      readRegistered: rereadServer,
      redactorOf: connections.redactorOf,
      stderr: connections.stderr,
      sessions: activity.sessions,
      startTimes: activity.startTimes,
      definitionPolicy: options.config.definitions,
      findCommand: connections.findCommand
    })
  }
}

const statsOf = ({ base, upstreamSide, watching, mcpSide }: GatewayParts): GatewayStats => {
  const { connections } = upstreamSide
  const { upstreams } = connections
  return {
    sessions: mcpSide.downstream.sessionCount,
    streams: watching.listChanges.size,
    processes: connections.processes,
    activeCalls: upstreams.countActiveCalls(),
    spareSessions: upstreams.countSpareSessions(),
    callsAwaitingProcess: connections.waitingForProcess,
    parkedCalls: mcpSide.downstream.parkedCalls,
    heldCalls: mcpSide.heldCalls,
    catalogVersion: Number(base.live.current.version),
    groupTokens: groupTokens(base.live.current),
    breakers: upstreams.breakers(),
    health: base.live.current.servers.flatMap(({ name, enabled }) => {
      const contact = enabled ? upstreamSide.health.get(name) : undefined
      return contact ? [[name, contact.isHealthy] as const] : []
    }),
    heldDefinitions: base.live.current.servers.map((server) => {
      const isFollowed = definitionPolicyOf(server.present, base.options.config.definitions) === 'follow'
      const counts = heldCountsOf(server)
      return [server.name, isFollowed ? 0 : counts.new + counts.changed]
    })
  }
}

async function start(parts: GatewayParts): Promise<void> {
  const { base, upstreamSide, refresh, mcpSide, signInSessions, approvalDecisions, applier, catalogue } = parts
  const { registry, log } = base.options
  const { downstream } = mcpSide
  process.on('exit', upstreamSide.connections.kill)
  const loadEnds = async () => downstream.removeEndedSessions(await registry.sessionEnds.load())
  const loadMissed = () =>
    void loadEnds().catch((err: unknown) => log.warn({ err }, 'the ended sessions could not be read from the database'))
  // before the first request, and again whenever announcements may have been lost
  await loadEnds()
  const onAnnouncement = (announcement: string) => {
    const end = parseAnnouncement(announcement)
    if (end) downstream.removeEndedSessions([end])
  }
  const onApproval = (id: string) => {
    mcpSide.announceApproval(id)
    parts.base.events.publish('approvals', 'audit')
  }
  await registry.follow((state) => applier.apply(state), onAnnouncement, loadMissed, onApproval)
  refresh.refresher.start()
  signInSessions.start()
  approvalDecisions.start()
  downstream.approvalTasks.start()
  catalogue.start()
}

async function close(parts: GatewayParts): Promise<void> {
  const { base, upstreamSide, refresh, watching, mcpSide, signInSessions, catalogue, tokenExpiry, lapses } = parts
  const { connections } = upstreamSide
  catalogue.close()
  parts.approvalDecisions.close()
  mcpSide.closeWebhook()
  await mcpSide.toolVectors?.close()
  parts.noticeOfDefinitions?.close()
  tokenExpiry.close()
  clearInterval(lapses)
  parts.remoteChanges?.stop()
  base.events.close()
  refresh.refresher.close()
  signInSessions.close()
  await mcpSide.downstream.approvalTasks.close()
  mcpSide.downstream.close()
  watching.upstreamWatchers.close()
  watching.taskStreams.close()
  watching.subscriptions.close()
  await connections.close()
  process.off('exit', connections.kill)
}

function createParts(options: GatewayOptions): GatewayParts {
  const { registry, config, log } = options
  const base = createBase(options)
  const { live, events } = base
  const upstreamSide = createUpstreamSide(base)
  const refresh = createListRefresh(base, upstreamSide)
  const watching = createServerWatching(base, upstreamSide, refresh)
  const mcpSide = createMcpSide(base, upstreamSide, refresh, watching)
  const signInSessions = createSignInSessions({
    sessions: registry.oauthSessions,
    http: upstreamSide.connections.http,
    clientDocument: clientDocument(config),
    sessionMs: config.timeouts.oauthSessionMs,
    retentionMs: config.timeouts.oauthRetentionMs,
    onChange: () => events.publish('sign_ins'),
    log
  })
  const applier = createStateApplier({
    catalog: () => live.current,
    rules: { toolNames: config.toolNames, definitions: config.definitions },
    decryptLocks: registry.decryptLocks,
    policyDefault: config.policyDefault,
    filePolicies: options.filePolicies,
    swap: live.replace,
    onApplied: upstreamSide.observer.onCatalogApplied,
    log
  })
  const tokenExpiry = createTokenExpiry(() => applier.reapply())
  live.onChange('release', ({ next }) => tokenExpiry.schedule(next.nextExpiry))
  const lapses = setInterval(live.endLapsedSignIns, LAPSE_CHECK_MS).unref()
  watchGroupBudgets(live, log)
  // every change has its row in the audit log
  live.onChange('notify', ({ previous, next }) => events.publish('audit', ...changedKinds(previous, next)))
  registry.auditRows.onStored = () => events.publish('audit')
  registry.calls.onStored = () => events.publish('calls')
  const remoteChanges = registry.newest && followReplicas({ events, newest: registry.newest })
  registry.policyCounts.onStored = () => events.publish('policies')
  const noticeOfDefinitions = tellOfDefinitions(options, upstreamSide)
  const { registryUrl, allow } = config.catalogue
  const catalogue = createCatalogue({
    store: registry.catalogue,
    registryUrl,
    allow,
    get: (url) => upstreamSide.connections.registryHttp(registryUrl ?? url).get(url, 'the MCP registry'),
    log
  })
  const approvalDecisions = createApprovalDecisions({
    registry,
    catalog: () => live.current,
    redactorOf: ({ stored }) => upstreamSide.connections.redactorOf(stored),
    announce: mcpSide.announceApproval,
    onChange: () => events.publish('approvals', 'audit'),
    log
  })
  const sides = { upstreamSide, refresh, watching, mcpSide, signInSessions, approvalDecisions }
  return { base, ...sides, applier, catalogue, tokenExpiry, lapses, remoteChanges, noticeOfDefinitions }
}

/** Creates a gateway; `start` makes it serve. */
export function createGateway(options: GatewayOptions): Gateway {
  const { registry, config } = options
  const parts = createParts(options)
  const { live } = parts.base
  const { upstreams } = parts.upstreamSide.connections
  // after a long loss of the database, revoked tokens may still be accepted (security-model.md#fault-isolation)
  const isStale = () => config.staleLimitS > 0 && registry.unconfirmedMs() > 1_000 * config.staleLimitS
  return {
    ...createControlPlane(parts),
    calls: parts.mcpSide.invocation,
    mcp: parts.mcpSide.downstream,
    catalogue: parts.catalogue,
    get ready() {
      return live.isLoaded && !isStale()
    },
    get problem() {
      return parts.applier.problem
    },
    get initialized() {
      return live.current.initialized
    },
    get people() {
      return live.current.people
    },
    get signingKeys() {
      return live.current.signingKeys
    },
    fetchFor: parts.upstreamSide.connections.fetchFor,
    searchChecks: () => checkVectors(parts.mcpSide.toolVectors?.state()),
    stats: () => statsOf(parts),
    closeSpareSessions: () => upstreams.closeSparePools(),
    endRetired: () => upstreams.endRetired(),
    start: () => start(parts),
    close: () => close(parts)
  }
}
