import { createRedactor, secretsIn } from '../domain/secrets/redaction.ts'
import { createEgressPolicy } from '../domain/network/egress.ts'
import { PRODUCT } from '../domain/product.ts'
import type { Config } from '../config/config.ts'
import { AppError } from '../lib/errors.ts'
import type { UpstreamOffer, StoredServer } from '../registry/model/model.ts'
import type { Registry } from '../registry/registry.ts'
import { restoreSettings } from '../registry/crypto/server-secrets.ts'
import { createAuthorizations, type Authorizations } from './oauth/authorizations.ts'
import type { Catalog } from '../catalog/catalog.ts'
import { createDeadlines, type Deadlines } from './transport/deadlines.ts'
import { createEgress, type ListenAddress } from './http/egress.ts'
import type { Observer } from '../observe/observation.ts'
import { createQuota, type Quota } from '../lib/quota.ts'
import { createTransports, type Target, type Transports } from './transports.ts'
import { createSemaphore } from '../lib/semaphore.ts'
import type { TransportClient } from './transport/connection.ts'
import { readUpstream } from './discovery/read-upstream.ts'
import { redactFailure, UpstreamFailure } from '../protocol/upstream-failure.ts'
import { createBoundedFetch } from './oauth/bounded-fetch.ts'
import { createOAuthHttp, type OAuthHttpFor } from './oauth/oauth-http.ts'
import { answersSent } from './transport/inbound-requests.ts'
import { createReadScheduler } from './transport/read-scheduler.ts'
import { createSlotPool, type SlotPool } from './sessions/slot-pool.ts'
import { createChildRegistry } from './stdio/child-registry.ts'
import { childEnvironment, findExecutable } from './stdio/command.ts'
import type { Log } from './stdio/process.ts'
import { createWatchdog } from './stdio/watchdog.ts'
import { withSseHint } from './http/sse-hint.ts'
import { createUpstream, type Upstream } from './upstream.ts'
import { createUpstreams, type Upstreams } from './upstreams.ts'

export interface ConnectionsOptions {
  readonly registry: Pick<Registry, 'decryptSecrets' | 'tokens'>
  readonly config: Pick<Config, 'mode' | 'stdio' | 'egress' | 'timeouts' | 'limits' | 'spareSessions' | 'resultSecrets'>
  /** Product version. */
  readonly version: string
  /** Returns the gateway's own listen addresses; empty before the gateway listens. */
  readonly listenAddresses: () => readonly ListenAddress[]
  readonly observer: Observer
  /** Quota of concurrent calls per principal. */
  readonly shares: Quota
  /** Quota of request bytes of concurrent calls per principal. */
  readonly callBytes: Quota
  /** Called for a notification that belongs to no call. `isOpening`: received while its session was being opened. */
  readonly onNotification: (server: StoredServer, method: string, params: string, isOpening?: boolean) => void
  /** Called when the number of spare sessions changes. */
  readonly onSpareSessionsChange: () => void
  readonly log: Log
}

/** Connections to upstream servers: targets, secrets, processes and open sessions. */
export interface Connections {
  readonly upstreams: Upstreams
  readonly authorizations: Authorizations
  /** HTTP client for OAuth requests, under the egress policy. */
  readonly http: OAuthHttpFor
  /** The same for answers of MCP registries, which are larger. */
  readonly registryHttp: OAuthHttpFor
  /** `fetch` for sign-in, within the egress policy. */
  readonly fetchFor: ReturnType<typeof createBoundedFetch>
  /** Returns a server's target. If its secrets cannot be decrypted, it carries `problem` and no request is sent. */
  targetOf(stored: StoredServer): Target
  /** Returns a function that removes the server's secrets from a text. */
  redactorOf(stored: StoredServer): (text: string) => string
  /** Negotiates a protocol version and reads a server's lists on a new connection. Rejects with UpstreamFailure. */
  readOffer(target: Target): Promise<UpstreamOffer>
  /** Creates a client that no call uses, for sessions that only receive notifications. */
  createClient(stored: StoredServer): TransportClient
  /** Returns the last lines that a server's processes wrote to stderr. */
  stderr(server: string): readonly string[]
  /** Resolves with the path of a stdio server's program. Rejects if no executable is found. */
  findCommand(stored: StoredServer): Promise<string>
  /** Stops the calls in progress that a predicate selects. */
  stopCalls: Deadlines['stop']
  /** Closes connections and drops state of servers that were removed or changed. */
  prune(catalog: Catalog): void
  readonly processes: number
  /** Number of calls that wait for a process. */
  readonly waitingForProcess: number
  /** Kills every child process immediately, for the exit of the gateway. */
  kill(): void
  /** Closes all connections and resolves when no child process is left. */
  close(): Promise<void>
}

/** Spare processes started at a time, and spare sessions opened at a time per HTTP server: calls take precedence. */
const SPARE_STARTS = { processes: 2, sessions: 4 }
const SPARE_IDLE_MS = 60_000
/** A page of an MCP registry has up to 100 entries of a few kilobytes. */
const REGISTRY_ANSWERS = { timeoutMs: 30_000, maxBytes: 8_388_608 }

const unreadable = () =>
  new UpstreamFailure('unreadable', 'its stored secrets cannot be decrypted with the current encryption key', {
    maybeProcessed: false
  })

function redactorFor({ secrets, settings, authorization }: Target): (text: string) => string {
  const redact = createRedactor(secretsIn(secrets, settings))
  return authorization ? (text) => authorization.redact(redact(text)) : redact
}

/** Negotiates a protocol version and reads a server's lists on a new connection. Rejects with UpstreamFailure. */
async function readOffer(
  { config: { timeouts }, log }: ConnectionsOptions,
  transports: Transports,
  target: Target
): Promise<UpstreamOffer> {
  const client = transports.create(target)
  const deadline = performance.now() + timeouts.connectMs
  try {
    const warn = (text: string) => log.warn({ server: target.name }, text)
    return await readUpstream(client, target.transport, { deadline, warn })
  } catch (error) {
    if (!(error instanceof UpstreamFailure)) throw error
    const createSse = () => transports.create({ ...target, transport: 'sse' })
    const isHttp = target.transport === 'streamable_http'
    const failure = isHttp ? await withSseHint(error, createSse, deadline) : error
    throw redactFailure(failure, redactorFor(target))
  } finally {
    client.close()
  }
}

export function createConnections(options: ConnectionsOptions): Connections {
  const { registry, config, version, observer, log } = options
  const { timeouts, limits, stdio } = config
  /** Returns a limit per principal. Without authentication all callers are one principal, which is not limited. */
  const shareOf = (limit: number) => (config.mode === 'enterprise' ? limit : Infinity)
  const deadlines = createDeadlines()
  const children = createChildRegistry(createWatchdog)
  const processSlots: SlotPool = createSlotPool(stdio.maxProcesses, stdio.maxQueue, {
    reclaim: (mayEnd) => upstreams.reclaim(processSlots, mayEnd),
    share: shareOf(stdio.processesPerPrincipal)
  })
  const sessionSlots: SlotPool = createSlotPool(limits.upstreamSessions, 0, {
    reclaim: (mayEnd) => upstreams.reclaim(sessionSlots, mayEnd),
    share: shareOf(limits.upstreamSessionsPerPrincipal),
    noun: 'sessions with servers'
  })
  const egress = createEgress({
    policy: createEgressPolicy(config.egress),
    connectMs: timeouts.connectMs,
    listenAddresses: options.listenAddresses
  })
  const transports = createTransports({
    readingTurns: createReadScheduler(),
    version,
    connector: egress.connector,
    maxResponseBytes: limits.upstreamResponseBytes,
    pending: createQuota(limits.pendingBytes / 4, limits.pendingBytes),
    resultSecrets: config.resultSecrets,
    stdio,
    children,
    log
  })
  const userAgent = `${PRODUCT}/${version}`
  const http = createOAuthHttp({ egress, userAgent })
  const authorizations = createAuthorizations({ store: registry.tokens, http, log })

  const targetOf = (stored: StoredServer): Target => {
    try {
      const authorization = stored.issuer === null ? undefined : authorizations.of(stored)
      const secrets = registry.decryptSecrets(stored)
      return { ...stored, settings: restoreSettings(stored.settings, secrets), secrets, authorization }
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      return { ...stored, secrets: {}, problem: unreadable() }
    }
  }
  const processTurns = createSemaphore(SPARE_STARTS.processes).run
  const createFor = (stored: StoredServer): Upstream => {
    const target = targetOf(stored)
    const redact = redactorFor(target)
    return createUpstream({
      server: stored,
      negotiation: stored.negotiation!,
      client: transports.create(target),
      processSlots: stored.transport === 'stdio' ? processSlots : undefined,
      sessionSlots: stored.transport === 'stdio' ? undefined : sessionSlots,
      sparePool: {
        maxSize: config.spareSessions,
        spareIdleMs: SPARE_IDLE_MS,
        runInTurn: stored.transport === 'stdio' ? processTurns : createSemaphore(SPARE_STARTS.sessions).run,
        onChange: options.onSpareSessionsChange
      },
      deadlines,
      shares: options.shares,
      callBytes: options.callBytes,
      connectMs: timeouts.connectMs,
      observer: {
        ...observer,
        onConnectionFailure: (server, reason, message) => observer.onConnectionFailure(server, reason, redact(message))
      },
      sessionIdleMs: timeouts.sessionIdleMs,
      callTimeoutMs: timeouts.callTimeoutMs,
      callTotalMs: timeouts.callTotalMs,
      redact,
      onNotification: (...args) => options.onNotification(stored, ...args)
    })
  }
  const upstreams = createUpstreams(createFor)

  return {
    upstreams,
    authorizations,
    http,
    registryHttp: createOAuthHttp({ egress, userAgent, ...REGISTRY_ANSWERS }),
    fetchFor: createBoundedFetch({ egress, userAgent }),
    targetOf,
    redactorOf: (stored) => redactorFor(targetOf(stored)),
    readOffer: (target) => readOffer(options, transports, target),
    createClient: (stored) => transports.create(targetOf(stored)),
    stderr: (server) => transports.tail(server).lines(),
    findCommand(stored) {
      const { PATH = '' } = childEnvironment(stdio.environment, targetOf(stored).secrets.env ?? {})
      return findExecutable(stored.settings.command ?? '', PATH, stdio.cwd ?? '/')
    },
    stopCalls: deadlines.stop,
    prune(catalog) {
      authorizations.prune(catalog)
      upstreams.prune(catalog)
      transports.prune(new Set(catalog.servers.map(({ name }) => name)))
    },
    get processes() {
      return children.size
    },
    get waitingForProcess() {
      return processSlots.waiting
    },
    kill: () => children.killAll(),
    async close() {
      await answersSent()
      upstreams.close()
      deadlines.close()
      egress.close()
      await children.closeAll()
    }
  }
}
