import { randomBytes } from 'node:crypto'
import { principalIdOf } from '../../catalog/caller.ts'
import { makeOwned, ownsEveryId, type OwnsId } from '../../domain/worker-ids.ts'
import { createSlotSet, type SlotSet, type SlotItem } from '../../lib/slot-set.ts'
import type { EndedSession, SessionEnd } from '../../registry/session-ends.ts'
import { createFairShareCache } from '../../lib/fair-share-cache.ts'
import type { Quota } from '../../lib/quota.ts'
import type { Call } from '../../upstream/transport/call.ts'
import type { SessionCallbacks } from '../../upstream/transport/session-callbacks.ts'
import type { ActiveClient } from '../../observe/client-activity.ts'
import {
  createSessionIds,
  expiryOf,
  isExpired,
  isSigned,
  MAX_AGE_MS,
  signatureOf,
  type Claims,
  type SessionIds
} from './session-ids.ts'
import type { ServerRequests } from './server-requests.ts'
import type { StoredStream } from './event-store.ts'
import type { HttpReply } from './reply.ts'
import type { ChannelWriter } from './response-writer.ts'
import type { ExtraParams } from '../../protocol/notifications.ts'
import type { ResourceTarget } from '../../catalog/resource-resolution.ts'

/** An active call, identified by the JSON text of the client's request id. */
export interface ActiveCall extends SlotItem {
  readonly id: string
  /** The upstream call of the current input round. */
  call: Call
}

/** Resources that one client is subscribed to, by the URI that the client used. */
export interface SessionSubscriptions {
  readonly size: number
  /**
   * Subscribes; resolves when the upstream has answered, failed or timed out. False: the quota of the client or its
   * principal is used up.
   */
  add(requestedUri: string, target: ResourceTarget): Promise<boolean>
  /** Unsubscribes; no effect if not subscribed. */
  delete(requestedUri: string): void
  /** Handles `resources/updated` received in the client's own upstream session. */
  notifyUpdated(server: string, uri: string, extraParams: ExtraParams): void
  /** Subscribes again in the client's own session with the server, after that session was opened. */
  resubscribe(server: string): void
  /** Marks the subscriptions of a server as lost, after the client's own session was closed. */
  markSessionClosed(server: string): void
  close(): void
}

/** A legacy client's session. Any replica can restore it from the id; the remaining state is local to this replica. */
export interface Session {
  readonly id: string
  readonly principal: string
  readonly endpoint: string
  /** Protocol version; empty until a client of the HTTP+SSE transport sends `initialize`. */
  version: string
  /** JSON text of the client capabilities. */
  capabilities: string
  /** Name from `clientInfo`, if `initialize` reached this replica. */
  client: string | undefined
  /** Open GET streams, the newest last. */
  readonly streams: Set<HttpReply>
  /** The stream that disconnected last, kept for its client to reconnect to. */
  detachedStream: HttpReply | null
  /** Streams that can be resumed; null until the first one. */
  storedStreams: Set<StoredStream> | null
  readonly calls: SlotSet<ActiveCall>
  /** Requests of batches that are not dispatched yet; null until the first batch. */
  queuedRequests: Set<ChannelWriter> | null
  /** Requests of upstreams to this client; null until the first one. */
  serverRequests: ServerRequests | null
  /** Receives upstream messages that belong to no call; null until needed. */
  callbacks: SessionCallbacks | null
  /** Subscribed resources; null until the first subscription. */
  subscriptions: SessionSubscriptions | null
  /** Minimum severity of log messages, undefined until the client sets a level. */
  logLevel: string | undefined
  /** Activity record of the client; null when client activity is not recorded. */
  visitor: ActiveClient | null
  lastUsed: number
}

/** Returns the stream for messages that belong to no request: the newest one, or the one that disconnected last. */
export const currentStreamOf = ({ streams, detachedStream }: Session): HttpReply | null =>
  [...streams].at(-1) ?? detachedStream

export interface ClientSessionsOptions {
  /** HMAC key for session ids. */
  readonly key: Buffer
  /** Tests if requests with an id reach this worker; default: all do. */
  readonly owns?: OwnsId | undefined
  readonly maxSessions: number
  /** Quota of sessions per principal. */
  readonly quota: Quota
  readonly sessionIdleMs: number
  /** Called when a session ends: deleted, idle too long, or evicted. */
  readonly onEnd: (session: Session) => void
  /** Tells the other replicas that the session ended and its id is no longer valid. */
  readonly announceEnd: (end: SessionEnd) => void
}

/**
 * Reason why no session can be opened: the principal's quota (`limited`) or the total (`full`) is used up, and no idle
 * session can be evicted.
 */
export type SessionLimit = 'limited' | 'full'

export interface ClientSessions {
  create(
    principal: string,
    endpoint: string,
    version: string,
    capabilities: Record<string, unknown>
  ): Session | SessionLimit
  /** Opens a session of the HTTP+SSE transport, which only this replica knows. */
  open(principal: string, endpoint: string): Session | SessionLimit
  /**
   * Returns the session of an id; undefined if the id is forged, ended, expired or another principal's. The cases are
   * indistinguishable to the caller.
   */
  find(id: string, principal: string, endpoint: string): Session | undefined
  /** Ends the session on every replica. */
  end(session: Session): void
  /** Returns the record to store for the session's end; undefined if the id is valid on this replica only. */
  endOf(session: Session): SessionEnd | undefined
  /** Drops sessions that other replicas have ended. */
  removeEnded(ends: readonly EndedSession[]): void
  /** Returns the sessions that have an open stream. */
  withOpenStream(): Iterable<Session>
  /** Ends the session on this replica only; the others expire it by themselves. */
  expire(session: Session): void
  /** Returns the matching sessions known to this replica. */
  filter(matches: (session: Session) => boolean): Session[]
  readonly size: number
  /** Returns the number of active calls in all sessions. */
  countCalls(): number
  close(): void
}

const SWEEP_MS = 30_000
const REORDER_MS = 1_000
/** Memory for ended sessions, about 100,000 of them; beyond it the principal with the most loses its oldest. */
const MAX_ENDED_BYTES = 33_554_432

export const createClientSessions = (options: ClientSessionsOptions): ClientSessions => new SessionTable(options)

class SessionTable implements ClientSessions {
  readonly #options: ClientSessionsOptions
  readonly #owns: OwnsId
  readonly #ids: SessionIds
  // ordered by last use, accurate to one second
  readonly #known = new Map<string, Session>()
  /** Grouped by principal: one that ends many sessions evicts only its own entries. */
  readonly #ended = createFairShareCache<true>({
    maxBytes: MAX_ENDED_BYTES,
    maxBytesPerOwner: MAX_ENDED_BYTES,
    maxAgeMs: MAX_AGE_MS
  })
  readonly #timer: NodeJS.Timeout

  constructor(options: ClientSessionsOptions) {
    this.#options = options
    this.#owns = options.owns ?? ownsEveryId
    this.#ids = createSessionIds(options.key, this.#owns)
    this.#timer = setInterval(() => this.#sweep(), Math.min(SWEEP_MS, options.sessionIdleMs)).unref()
  }

  create(
    principal: string,
    endpoint: string,
    version: string,
    capabilities: Record<string, unknown>
  ): Session | SessionLimit {
    const limit = this.#reserve(principal)
    if (limit) return limit
    const claims = { p: principal, e: endpoint, r: version, c: capabilities }
    return this.#add(this.#ids.issue(claims), claims)
  }

  open(principal: string, endpoint: string): Session | SessionLimit {
    const limit = this.#reserve(principal)
    if (limit) return limit
    const id = makeOwned(() => randomBytes(16).toString('base64url'), this.#owns)
    return this.#add(id, { p: principal, e: endpoint, r: '', c: {} })
  }

  find(id: string, principal: string, endpoint: string): Session | undefined {
    const session = this.#known.get(id) ?? this.#restore(id, principal, endpoint)
    if (!session || session.principal !== principal || session.endpoint !== endpoint) return undefined
    const now = performance.now()
    if (now - session.lastUsed > REORDER_MS) {
      this.#known.delete(id)
      this.#known.set(id, session)
    }
    session.lastUsed = now
    if (session.visitor) session.visitor.seenAt = Date.now()
    return session
  }

  end(session: Session): void {
    this.expire(session)
    const sessionEnd = this.endOf(session)
    if (sessionEnd) this.#options.announceEnd(sessionEnd)
  }

  endOf(session: Session): SessionEnd | undefined {
    const { id, principal } = session
    const claims = isSigned(id) ? this.#ids.verify(id) : undefined
    return claims && { mark: signatureOf(id), principal, expiresAt: expiryOf(claims) }
  }

  removeEnded(ends: readonly EndedSession[]): void {
    const unrecorded = ends.filter((end) => !this.#isEnded(end))
    for (const end of unrecorded) this.#rememberEnd(end)
    const marks = new Set(unrecorded.map(({ mark }) => mark))
    if (marks.size === 0) return
    for (const session of this.#known.values())
      if (isSigned(session.id) && marks.has(signatureOf(session.id))) this.#remove(session)
  }

  *withOpenStream(): Iterable<Session> {
    for (const session of this.#known.values()) if (session.streams.size > 0) yield session
  }

  expire(session: Session): void {
    if (isSigned(session.id)) this.#rememberEnd({ mark: signatureOf(session.id), principal: session.principal })
    this.#remove(session)
  }

  filter(matches: (session: Session) => boolean): Session[] {
    return [...this.#known.values()].filter(matches)
  }

  get size(): number {
    return this.#known.size
  }

  countCalls(): number {
    let count = 0
    for (const { calls } of this.#known.values()) count += calls.size
    return count
  }

  close(): void {
    clearInterval(this.#timer)
    for (const session of this.#known.values()) this.#remove(session)
  }

  #reserve(principal: string): SessionLimit | undefined {
    const { quota, maxSessions } = this.#options
    if (!quota.acquire(principal) && !(this.#makeRoom(principal) && quota.acquire(principal))) return 'limited'
    if (this.#known.size < maxSessions || this.#makeRoom()) return undefined
    quota.release(principal)
    return 'full'
  }

  /** Evicts the session that has been idle longest, of all principals or of the given one. */
  #makeRoom(principal?: string): boolean {
    const id = principal && principalIdOf(principal)
    for (const session of this.#known.values()) {
      if (id !== undefined && principalIdOf(session.principal) !== id) continue
      if (session.streams.size > 0 || session.calls.size > 0) continue
      this.#remove(session)
      return true
    }
    return false
  }

  #add(id: string, { p, e, r, c }: Pick<Claims, 'p' | 'e' | 'r' | 'c'>): Session {
    const session: Session = {
      id,
      principal: p,
      endpoint: e,
      version: r,
      capabilities: JSON.stringify(c),
      client: undefined,
      streams: new Set(),
      detachedStream: null,
      storedStreams: null,
      calls: createSlotSet(),
      queuedRequests: null,
      serverRequests: null,
      callbacks: null,
      subscriptions: null,
      logLevel: undefined,
      visitor: null,
      lastUsed: performance.now()
    }
    this.#known.set(id, session)
    return session
  }

  #restore(id: string, principal: string, endpoint: string): Session | undefined {
    if (this.#isEnded({ mark: signatureOf(id), principal })) return undefined
    const claims = this.#ids.verify(id)
    if (claims?.p !== principal || claims.e !== endpoint) return undefined
    return isExpired(claims) || this.#reserve(principal) ? undefined : this.#add(id, claims)
  }

  #remove(session: Session): void {
    if (!this.#known.delete(session.id)) return
    this.#options.quota.release(session.principal)
    this.#options.onEnd(session)
  }

  #isEnded({ mark, principal }: EndedSession): boolean {
    return this.#ended.newest(mark, { owner: principal }) !== undefined
  }

  #rememberEnd({ mark, principal }: EndedSession): void {
    this.#ended.set(principal, '', mark, true)
  }

  #sweep(): void {
    const now = performance.now()
    for (const session of this.#known.values()) {
      if (session.streams.size > 0 || session.calls.size > 0) session.lastUsed = now
      else if (now - session.lastUsed > this.#options.sessionIdleMs) this.expire(session)
    }
  }
}
