import { TITLE, PRODUCT } from '../../domain/product.ts'
import type { Config } from '../../config.ts'
import type { Registry } from '../../registry/registry.ts'
import type { SessionEnd } from '../../registry/session-ends.ts'
import type { BatchScheduler } from '../later.ts'
import type { Observer } from '../observation.ts'
import type { Quotas, Quota } from '../shares.ts'
import type { Subscriptions } from '../subscriptions.ts'
import { createSemaphore } from '../turns.ts'
import { createCursors } from './cursor.ts'
import { createElicitations } from './elicitations.ts'
import type { DataPlane, McpContext } from './exchange.ts'
import type { PendingCall } from './flow.ts'
import { createClientInfoCache } from './introductions.ts'
import { createResourceLinks } from './links.ts'
import { createInputRequiredStore } from './park.ts'
import { createEventStore } from './replay.ts'
import { createHeartbeat } from './heartbeat.ts'
import { createSessions, type Session } from './session.ts'
import { createUnsentResponses } from './unsent.ts'
import type { ListChangeNotifier } from './watch.ts'

/** Session ends stored concurrently: the database pool has ten connections, the embedded store one. */
const MAX_CONCURRENT_SESSION_ENDS = 2

export interface McpContextOptions {
  readonly registry: Pick<Registry, 'sessionEnds' | 'deriveKey'>
  readonly config: Pick<Config, 'limits' | 'timeouts'>
  /** Product version. */
  readonly version: string
  readonly dataPlane: DataPlane
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
  const { registry, version, dataPlane, observer, listChanges, subscriptions, calls, quotas, schedule, log } = options
  const { limits, timeouts } = options.config
  const identity = { name: PRODUCT, title: TITLE, version }
  const eventStore = createEventStore()
  const elicitations = createElicitations()
  const runLimited = createSemaphore(MAX_CONCURRENT_SESSION_ENDS)
  const storeSessionEnd = (end: SessionEnd) => runLimited(() => registry.sessionEnds.add(end))
  const sessions = createSessions({
    key: registry.deriveKey('mcp session ids'),
    maxSessions: limits.sessions,
    quota: quotas.forUnits(limits.sessionsPerPrincipal),
    idleMs: timeouts.sessionIdleMs,
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
