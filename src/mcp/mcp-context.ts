import { TITLE, PRODUCT } from '../domain/product.ts'
import type { Config } from '../config/config.ts'
import type { Registry } from '../registry/registry.ts'
import type { SessionEnd } from '../registry/session-ends.ts'
import type { BatchScheduler } from '../lib/batch-scheduler.ts'
import type { Observer } from '../observe/observation.ts'
import type { Quotas, Quota } from '../lib/quota.ts'
import type { Subscriptions } from './resource-subscriptions.ts'
import type { ClientCalls } from '../upstream/client-calls.ts'
import { createSemaphore } from '../lib/semaphore.ts'
import { createCursors } from './messages/cursor.ts'
import { createElicitations } from './input/elicitations.ts'
import type { DataPlane, McpContext } from './request-context.ts'
import type { PendingCall } from './input/pending-call.ts'
import { createClientInfoCache } from './messages/client-info.ts'
import { createResourceLinks } from './messages/resource-links.ts'
import { createInputRequiredStore } from './input/input-required-store.ts'
import { createEventStore } from './sessions/event-store.ts'
import { createHeartbeat } from './sessions/heartbeat.ts'
import { createClientSessions, type Session } from './sessions/client-sessions.ts'
import { createUnsentResponses } from './sessions/unsent-responses.ts'
import type { ListChangeNotifier } from './list-change-notifier.ts'

/** Session ends stored concurrently: the database pool has ten connections, the embedded store one. */
const MAX_CONCURRENT_SESSION_ENDS = 2

export interface McpContextOptions {
  readonly registry: Pick<Registry, 'sessionEnds' | 'deriveKey'>
  readonly config: Pick<Config, 'limits' | 'timeouts'>
  /** Product version. */
  readonly version: string
  readonly dataPlane: DataPlane
  readonly clientCalls: ClientCalls
  readonly observer: Observer
  readonly listChanges: ListChangeNotifier
  readonly subscriptions: Subscriptions
  /** Concurrent calls per principal. */
  readonly calls: Quota
  readonly quotas: Quotas
  readonly schedule: BatchScheduler
  /** Called after the session's streams, subscriptions and server requests are closed. */
  readonly onSessionEnd: (session: Session) => void
  readonly log: { warn(details: object, text: string): void }
}

/** Creates the state shared by all MCP requests of one gateway: sessions, keys and limits. */
export function createMcpContext(options: McpContextOptions): McpContext {
  const {
    registry,
    version,
    dataPlane,
    clientCalls,
    observer,
    listChanges,
    subscriptions,
    calls,
    quotas,
    schedule,
    log
  } = options
  const { limits, timeouts } = options.config
  const identity = { name: PRODUCT, title: TITLE, version }
  const eventStore = createEventStore()
  const elicitations = createElicitations()
  const runLimited = createSemaphore(MAX_CONCURRENT_SESSION_ENDS).run
  const storeSessionEnd = (end: SessionEnd) => runLimited(() => registry.sessionEnds.add(end))
  const sessions = createClientSessions({
    key: registry.deriveKey('mcp session ids'),
    maxSessions: limits.sessions,
    quota: quotas.forUnits(limits.sessionsPerPrincipal),
    sessionIdleMs: timeouts.sessionIdleMs,
    announceEnd(end) {
      storeSessionEnd(end).catch((err: unknown) => log.warn({ err }, 'other replicas do not know that a session ended'))
    },
    onEnd(session) {
      session.serverRequests?.close()
      session.subscriptions?.close()
      for (const stream of session.streams) stream.close()
      session.detachedStream?.close()
      eventStore.endSession(session)
      elicitations.endSession(session)
      options.onSessionEnd(session)
    }
  })
  return {
    dataPlane,
    calls: clientCalls,
    sessions,
    storeSessionEnd,
    cursors: createCursors(registry.deriveKey('list cursors')),
    heartbeat: createHeartbeat(),
    inputRequiredStore: createInputRequiredStore<PendingCall>(registry.deriveKey('request states')),
    resourceLinks: createResourceLinks(),
    clientInfoCache: createClientInfoCache(),
    elicitations,
    listChanges,
    subscriptions,
    eventStore,
    observer,
    quotas: {
      calls,
      ends: quotas.forUnits(limits.callsPerPrincipal),
      streams: quotas.forUnits(limits.sessionsPerPrincipal),
      subscriptions: quotas.forUnits(limits.subscriptionsPerPrincipal),
      subscriptionBytes: quotas.forBytes(limits.subscriptionBytes)
    },
    maxStreams: limits.sessions,
    limits: { depth: limits.jsonDepth, elements: limits.jsonElements, identifierBytes: limits.identifierBytes },
    maxBatch: limits.batch,
    maxBatchBytes: limits.batchBytes,
    maxBufferedBytes: limits.streamBufferBytes,
    unsentResponses: createUnsentResponses(quotas.limitOf(limits.unsentBytes), limits.unsentBytes),
    schedule,
    identity,
    serverInfo: JSON.stringify(identity)
  }
}
