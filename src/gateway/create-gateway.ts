import { allows } from '../domain/allow-list.ts'
import { TITLE, PRODUCT } from '../domain/product.ts'
import { createRedactor, secretsIn } from '../domain/redaction.ts'
import type { Config } from '../config.ts'
import { AppError } from '../errors.ts'
import type { Offer, RegistryState, StoredServer } from '../registry/model.ts'
import type { Registry } from '../registry/registry.ts'
import { createAuthorizations } from './authorizations.ts'
import { buildCatalog, emptyCatalog, type Catalog } from './catalog.ts'
import { createDeadlines } from './deadlines.ts'
import { changedKinds, createChanges } from './changes.ts'
import { createContacts } from './contacts.ts'
import { createDashboard, type Dashboard } from './dashboard/dashboard.ts'
import { createCursors } from './downstream/cursor.ts'
import { createDownstream, type Downstream } from './downstream/downstream.ts'
import type { Core } from './downstream/exchange.ts'
import { createElicitations } from './downstream/elicitations.ts'
import { ownerOf } from './downstream/home.ts'
import type { Flow } from './downstream/flow.ts'
import { createIntroductions } from './downstream/introductions.ts'
import { createLinks } from './downstream/links.ts'
import { createParks } from './downstream/park.ts'
import { createReplays } from './downstream/replay.ts'
import { createHeartbeat } from './downstream/reply.ts'
import { createSessions } from './downstream/session.ts'
import { createWatch } from './downstream/watch.ts'
import { createEgressPolicy } from '../domain/egress.ts'
import { createEgress, type Listening } from './egress.ts'
import { groupOf } from './endpoint.ts'
import type { Gateway } from './gateway.ts'
import { createGroups } from './groups.ts'
import { createInvocation } from './invocation.ts'
import { createLater } from './later.ts'
import { createListChanges, isListChange } from './list-changes.ts'
import { createListingCache } from './listing.ts'
import { createManagement } from './management.ts'
import { createMcpRefusals } from './mcp-refusals.ts'
import { changedPrincipals, createPrincipals } from './principals.ts'
import { joinObservers, type Observer } from './observation.ts'
import { createRefresher } from './refresher.ts'
import { createRegistration } from './registration.ts'
import { allowedTo, scopeAt } from './scope.ts'
import { createShares } from './shares.ts'
import { createSignIns } from './sign-in.ts'
import type { GatewayStats } from './stats.ts'
import { createSubscriptions, readUri } from './subscriptions.ts'
import { createTransports, type Target, type Transports } from './transports.ts'
import { createTurns } from './turns.ts'
import { readUpstream } from './upstream/discovery.ts'
import { redactFailure, UpstreamFailure } from './upstream/failure.ts'
import { createOAuthHttp } from './upstream/oauth-http.ts'
import { createSlots } from './upstream/slots.ts'
import { createChildren } from './upstream/stdio-children.ts'
import { childEnvironment, findExecutable } from './upstream/stdio-command.ts'
import { createWatchdog } from './upstream/stdio-watchdog.ts'
import { createUpstream, type Upstream } from './upstream/upstream.ts'
import { createWatchSession } from './upstream/watch-session.ts'
import { createUpstreams } from './upstreams.ts'
import { createVisitors } from './visitors.ts'
import { createWatching } from './watching.ts'

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
    'mode' | 'stdio' | 'egress' | 'timeouts' | 'limits' | 'spareSessions' | 'refreshIntervalMs' | 'staleLimitS'
  >
  /** Product version. */
  readonly version: string
  /** Where it listens, once it does. */
  readonly listening: () => readonly Listening[]
  /** Told what it does; each what it has a function for. */
  readonly observers: readonly Partial<Observer>[]
  readonly log: Log
}

/** The gateway with what only its plugin and the MCP routes use. */
export interface RunningGateway extends Gateway {
  readonly mcp: Downstream
  /** What is put together for the dashboard's pages. */
  readonly dashboard: Dashboard
  stats(): GatewayStats
  /** The process is about to stop: no session is kept ready for calls that will not come. */
  endSpares(): void
  /** Loads the catalog and follows the registry from then on. */
  start(): Promise<void>
  /** Ends what is open and waits until no child process is left. */
  close(): Promise<void>
}

/** Watch sessions that are opened at a time. */
const WATCHES_AT_ONCE = 8
const OUTDATED_MS = 60_000
/** Spare processes that are started at a time, and spare sessions over HTTP of one server: calls come first. */
const SPARE_STARTS = { processes: 2, sessions: 4 }
const SPARE_IDLE_MS = 60_000

const ourselves = { kind: 'system', name: PRODUCT } as const

/** Lists that may have changed while nobody watched; those of a process are read when it is called for. */
const isOutdated = ({ transport, verdict }: StoredServer) =>
  transport !== 'stdio' && verdict !== null && Date.now() - Date.parse(verdict.checkedAt) > OUTDATED_MS

const unreadable = () =>
  new UpstreamFailure('unreadable', 'its stored secrets do not open with the encryption key in use', { taken: false })

function redactorOf({ secrets, settings, authorization }: Target): (text: string) => string {
  const redact = createRedactor(secretsIn(secrets, settings))
  return authorization ? (text) => authorization.redact(redact(text)) : redact
}

function createReader(transports: Transports, { timeouts }: GatewayOptions['config'], log: Log) {
  return async (target: Target): Promise<Offer> => {
    const client = transports.create(target)
    try {
      const warn = (text: string) => log.warn({ server: target.name }, text)
      return await readUpstream(client, target.transport, { deadline: performance.now() + timeouts.connectMs, warn })
    } catch (error) {
      throw error instanceof UpstreamFailure ? redactFailure(error, redactorOf(target)) : error
    } finally {
      client.close()
    }
  }
}

export function createGateway(options: GatewayOptions): RunningGateway {
  const { registry, config, version, listening, log } = options
  const changes = createChanges()
  const contacts = createContacts({
    lastLine: (server) => transports.tail(server).lines().at(-1),
    onChange: () => changes.note('servers', 'tools', 'prompts', 'resources')
  })
  // in enterprise mode there is nobody who would look
  const hasDashboard = config.mode === 'development'
  const observer = joinObservers([...options.observers, ...(hasDashboard ? [contacts.observer] : [])])
  const { timeouts, limits, stdio } = config
  const identity = { name: PRODUCT, title: TITLE, version }
  const deadlines = createDeadlines()
  /** Without authentication all callers are one principal, who is not held to one caller's share. */
  const shareOf = (limit: number) => createShares(config.mode === 'enterprise' ? limit : Infinity)
  const calls = shareOf(limits.callsPerPrincipal)
  const children = createChildren(createWatchdog())
  const slots = createSlots(stdio.maxProcesses, stdio.maxQueue, () => upstreams.reclaim())
  const egress = createEgress({
    policy: createEgressPolicy(config.egress),
    connectMs: timeouts.connectMs,
    own: listening
  })
  const later = createLater()
  const transports = createTransports({
    later,
    version,
    connector: egress.connector,
    maxResponseBytes: limits.upstreamResponseBytes,
    stdio,
    children,
    log
  })
  let catalog = emptyCatalog
  let ready = false

  const http = createOAuthHttp({ dispatcher: egress.dispatcher, userAgent: `${PRODUCT}/${version}` })
  const authorizations = createAuthorizations({ store: registry.tokens, http, log })
  const signIns = createSignIns({
    sessions: registry.oauthSessions,
    http,
    sessionMs: timeouts.oauthSessionMs,
    retentionMs: timeouts.oauthRetentionMs,
    onChange: () => changes.note('sign_ins'),
    log
  })
  /** Cut off for so long that what was revoked may still be served (security page 5). */
  const isStale = () => config.staleLimitS > 0 && registry.silentMs() > 1_000 * config.staleLimitS

  const targetOf = (stored: StoredServer): Target => {
    try {
      const authorization = stored.issuer === null ? undefined : authorizations.of(stored)
      return { ...stored, secrets: registry.secrets(stored), authorization }
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      return { ...stored, secrets: {}, problem: unreadable() }
    }
  }
  const listChanges = createListChanges()
  /** `isOpening`: on a session that was just opened, where a server may announce its lists without need. */
  const heard = ({ id, name }: StoredServer, method: string, params: string, isOpening = false) => {
    if (isOpening && isListChange(method)) return refresher.suggest(id)
    if (listChanges.heard(id, method)) refresher.request(id)
    else if (method === 'notifications/elicitation/complete') elicitations.completed(name, params)
  }
  const processTurns = createTurns(SPARE_STARTS.processes)
  const createFor = (stored: StoredServer): Upstream => {
    const redact = redactorOf(targetOf(stored))
    return createUpstream({
      server: stored,
      verdict: stored.verdict!,
      client: transports.create(targetOf(stored)),
      slots: stored.transport === 'stdio' ? slots : undefined,
      spares: {
        most: config.spareSessions,
        idleMs: SPARE_IDLE_MS,
        inTurn: stored.transport === 'stdio' ? processTurns : createTurns(SPARE_STARTS.sessions),
        onChange: () => changes.note('servers')
      },
      deadlines,
      shares: calls,
      connectMs: timeouts.connectMs,
      observer: {
        ...observer,
        failed: (server, reason, message) => observer.failed(server, reason, redact(message))
      },
      idleMs: timeouts.sessionIdleMs,
      callMs: timeouts.callMs,
      callTotalMs: timeouts.callTotalMs,
      redact,
      onNotification: (...told) => heard(stored, ...told)
    })
  }
  const upstreams = createUpstreams(createFor)
  const readOffer = createReader(transports, config, log)
  const readRegistered = (target: Target) =>
    contacts.during(
      target.name,
      () => readOffer({ ...target, verdict: null }),
      (error) => (error instanceof UpstreamFailure ? error : undefined)
    )
  /** For a person, who may have updated the server: the next call is to see the same as what is read here. */
  const readAnew = (target: Target) => {
    upstreams.discardSpares(target.name)
    return readRegistered(target)
  }
  const refresher = createRefresher({
    intervalMs: config.refreshIntervalMs,
    catalog: () => catalog,
    claim: ({ id }, withinMs) => registry.claimRefresh(id, withinMs),
    read: (stored) => readRegistered(targetOf(stored)),
    store(stored, offer) {
      const change = { actor: ourselves, action: 'server.refresh', target: stored.name }
      return registry.refresh(change, stored.id, offer, stored)
    },
    onAnswered({ id, name }) {
      const lists = listChanges.take(id)
      if (lists.size > 0) watch.notice({ server: name, lists })
    },
    log
  })
  const watch = createWatch(() => watching.reviewSoon())
  const inTurn = createTurns(WATCHES_AT_ONCE)
  const watching = createWatching({
    catalog: () => catalog,
    create: (stored, delayMs) =>
      createWatchSession({
        client: transports.create(targetOf(stored)),
        verdict: stored.verdict!,
        connectMs: timeouts.connectMs,
        delayMs,
        inTurn,
        onNotification(method, params) {
          heard(stored, method, params)
          const uri = method === 'notifications/resources/updated' ? readUri(params) : undefined
          if (uri !== undefined) subscriptions.updated(stored.name, uri)
        },
        onOpen: (isFirst) => (isFirst && !isOutdated(stored) ? undefined : refresher.request(stored.id)),
        onFailure: (err) => log.warn({ err, server: stored.name }, 'the changes of a server cannot be watched')
      }),
    listenedTo: () => watch.servers(),
    followed: (server) => subscriptions.followed(server)
  })

  const subscriptions = createSubscriptions((server) => watching.follow(server))

  const visitors = createVisitors()
  const core: Core = {
    scope(caller, endpoint) {
      if (hasDashboard) visitors.came(endpoint)
      return scopeAt(catalog, groupOf(endpoint), allowedTo(catalog, caller))
    },
    met: (endpoint, client) => (hasDashboard ? visitors.met(endpoint, client) : null),
    allows: (caller, server) => allows(allowedTo(catalog, caller), server),
    forward: (server, call, origin) => upstreams.of(server).call(call, origin),
    notifyOwner: (owner, method) => upstreams.notifyOwner(owner, method),
    refusals: createMcpRefusals(() => catalog, registry.recordRefusal)
  }
  const replays = createReplays()
  const elicitations = createElicitations()
  const sessions = createSessions({
    key: registry.deriveKey('mcp session ids'),
    maxSessions: limits.sessions,
    shares: shareOf(limits.sessionsPerPrincipal),
    idleMs: timeouts.sessionIdleMs,
    announce(mark) {
      registry
        .announce(mark)
        .catch((err: unknown) => log.warn({ err }, 'other replicas do not know that a session ended'))
    },
    onEnd(session) {
      session.pushes?.close()
      session.following?.close()
      for (const stream of session.streams) stream.close()
      session.awaited?.close()
      replays.endSession(session)
      elicitations.endSession(session)
      upstreams.endOwner(ownerOf(session))
    }
  })
  const parks = createParks<Flow>(registry.deriveKey('request states'))
  const mcp = createDownstream(
    {
      core,
      sessions,
      cursors: createCursors(registry.deriveKey('list cursors')),
      heartbeat: createHeartbeat(),
      links: createLinks(),
      introductions: createIntroductions(),
      elicitations,
      replays,
      observer,
      parks,
      watch,
      subscriptions,
      shares: {
        calls,
        streams: shareOf(limits.sessionsPerPrincipal),
        subscriptions: shareOf(limits.subscriptionsPerPrincipal)
      },
      maxStreams: limits.sessions,
      limits: { depth: limits.jsonDepth, elements: limits.jsonElements },
      later,
      maxBatch: limits.batch,
      maxBatchBytes: limits.batchBytes,
      maxBufferedBytes: limits.streamBufferBytes,
      identity,
      serverInfo: JSON.stringify(identity)
    },
    log
  )
  const invocation = createInvocation(() => catalog, core, observer)
  const listings = createListingCache()
  const swap = (next: Catalog) => {
    const gone = catalog.groups.filter(({ stored }) => next.group(stored.name)?.stored.createdAt !== stored.createdAt)
    const { revoked, narrowed } = changedPrincipals(catalog, next)
    changes.note(...changedKinds(catalog, next))
    catalog = next
    ready = true
    authorizations.keep(next)
    upstreams.keep(next)
    contacts.keep(next)
    transports.keep(new Set(next.servers.map(({ name }) => name)))
    if (revoked.size > 0) mcp.endPrincipals((principal) => revoked.has(principal))
    if (revoked.size > 0) invocation.endCalls(revoked)
    for (const principal of revoked) upstreams.endOwner(principal)
    if (narrowed) subscriptions.review()
    for (const { stored } of gone) {
      mcp.endGroup(stored.name)
      visitors.forget(stored.name)
    }
    mcp.catalogChanged()
    watching.review()
    refresher.review()
  }
  registry.calls.onStored = () => changes.note('calls')
  const killChildren = () => children.killAll()

  return {
    ...createManagement({ registry, catalog: () => catalog, readOffer: readAnew, targetOf }),
    ...createRegistration({
      registry,
      catalog: () => catalog,
      readOffer,
      signIns,
      authorizations,
      onStored: contacts.worked
    }),
    dashboard: createDashboard({
      registry,
      contacts,
      changes,
      visitors,
      catalog: () => catalog,
      targetOf,
      readOffer,
      readRegistered: readAnew,
      redactorOf: (stored) => redactorOf(targetOf(stored)),
      stderr: (server) => transports.tail(server).lines(),
      sessions: upstreams.counts,
      findCommand(stored) {
        const { PATH = '' } = childEnvironment(stdio.environment, targetOf(stored).secrets.env ?? {})
        return findExecutable(stored.settings.command ?? '', PATH, stdio.cwd ?? '/')
      }
    }),
    ...createGroups(registry, () => catalog),
    ...invocation,
    ...createPrincipals(registry, () => catalog),
    get ready() {
      return ready && !isStale()
    },
    get initialized() {
      return catalog.initialized
    },
    mcp,
    stats: () => ({
      sessions: sessions.size,
      streams: watch.size,
      processes: children.size,
      callsUnderWay: upstreams.active(),
      spares: upstreams.spares(),
      waitingForProcess: slots.waiting,
      parkedCalls: parks.size,
      catalogVersion: Number(catalog.version),
      breakers: upstreams.breakers()
    }),
    endSpares: () => upstreams.endSpares(),
    async start() {
      process.on('exit', killChildren)
      const take = (state: RegistryState) => {
        const startedAt = performance.now()
        swap(buildCatalog(state, listings))
        observer.swapped(performance.now() - startedAt)
      }
      await registry.follow(take, sessions.endedElsewhere)
      refresher.start()
      signIns.start()
    },
    async close() {
      changes.close()
      refresher.close()
      signIns.close()
      mcp.close()
      watching.close()
      subscriptions.close()
      upstreams.close()
      deadlines.close()
      egress.close()
      await children.closeAll()
      process.off('exit', killChildren)
    }
  }
}
