import { TITLE, PRODUCT } from '../../domain/product.ts'
import type { Config } from '../../config.ts'
import type { Registry } from '../../registry/registry.ts'
import type { SessionEnd } from '../../registry/session-ends.ts'
import type { BatchScheduler } from '../later.ts'
import type { Observer } from '../observation.ts'
import type { Quotas, Shares } from '../shares.ts'
import type { Subscriptions } from '../subscriptions.ts'
import { createTurns } from '../turns.ts'
import { createCursors } from './cursor.ts'
import { createElicitations } from './elicitations.ts'
import type { Core, Edge } from './exchange.ts'
import type { Flow } from './flow.ts'
import { createIntroductions } from './introductions.ts'
import { createLinks } from './links.ts'
import { createParks } from './park.ts'
import { createReplays } from './replay.ts'
import { createHeartbeat } from './heartbeat.ts'
import { createSessions, type Session } from './session.ts'
import { createUnsent } from './unsent.ts'
import type { Watch } from './watch.ts'

/** Ends of sessions that are stored at a time: the database has ten connections, the embedded store one. */
const ENDS_AT_ONCE = 2

export interface EdgeOptions {
  readonly registry: Pick<Registry, 'sessionEnds' | 'deriveKey'>
  readonly config: Pick<Config, 'limits' | 'timeouts'>
  /** Product version. */
  readonly version: string
  readonly core: Core
  readonly observer: Observer
  readonly watch: Watch
  readonly subscriptions: Subscriptions
  /** Calls under way of each principal. */
  readonly calls: Shares
  readonly quotas: Quotas
  readonly schedule: BatchScheduler
  /** What the MCP edge had of it has ended. */
  readonly onSessionEnd: (session: Session) => void
  readonly log: { warn(details: object, text: string): void }
}

/** What the exchanges of one gateway share: its sessions, keys and limits. */
export function createEdge(options: EdgeOptions): Edge {
  const { registry, version, core, observer, watch, subscriptions, calls, quotas, schedule, log } = options
  const { limits, timeouts } = options.config
  const identity = { name: PRODUCT, title: TITLE, version }
  const replays = createReplays()
  const elicitations = createElicitations()
  const inTurn = createTurns(ENDS_AT_ONCE)
  const storeEnd = (end: SessionEnd) => inTurn(() => registry.sessionEnds.add(end))
  const sessions = createSessions({
    key: registry.deriveKey('mcp session ids'),
    maxSessions: limits.sessions,
    shares: quotas.shareOf(limits.sessionsPerPrincipal),
    idleMs: timeouts.sessionIdleMs,
    announce(end) {
      storeEnd(end).catch((err: unknown) => log.warn({ err }, 'other replicas do not know that a session ended'))
    },
    onEnd(session) {
      session.pushes?.close()
      session.following?.close()
      for (const stream of session.streams) stream.close()
      session.awaited?.close()
      replays.endSession(session)
      elicitations.endSession(session)
      options.onSessionEnd(session)
    }
  })
  return {
    core,
    sessions,
    storeEnd,
    cursors: createCursors(registry.deriveKey('list cursors')),
    heartbeat: createHeartbeat(),
    parks: createParks<Flow>(registry.deriveKey('request states')),
    links: createLinks(),
    introductions: createIntroductions(),
    elicitations,
    watch,
    subscriptions,
    replays,
    observer,
    shares: {
      calls,
      ends: quotas.shareOf(limits.callsPerPrincipal),
      streams: quotas.shareOf(limits.sessionsPerPrincipal),
      subscriptions: quotas.shareOf(limits.subscriptionsPerPrincipal),
      subscriptionBytes: quotas.bytesOf(limits.subscriptionBytes)
    },
    maxStreams: limits.sessions,
    limits: { depth: limits.jsonDepth, elements: limits.jsonElements, identifierBytes: limits.identifierBytes },
    maxBatch: limits.batch,
    maxBatchBytes: limits.batchBytes,
    maxBufferedBytes: limits.streamBufferBytes,
    unsent: createUnsent(quotas.partOf(limits.unsentBytes), limits.unsentBytes),
    schedule,
    identity,
    serverInfo: JSON.stringify(identity)
  }
}
