import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { createSlotSet, type SlotSet, type SlotItem } from '../bag.ts'
import type { EndedSession, SessionEnd } from '../../registry/session-ends.ts'
import { createFairShareCache } from '../kept.ts'
import type { Shares } from '../shares.ts'
import type { Call } from '../upstream/call.ts'
import type { SessionCallbacks } from '../upstream/home.ts'
import type { Visitor } from '../visitors.ts'
import type { ServerRequests } from './push.ts'
import type { StoredStream } from './replay.ts'
import type { HttpReply } from './reply.ts'
import type { ExtraParams } from '../notifications.ts'
import type { ResourceTarget } from '../scope.ts'

/** What a legacy session id says about itself, signed (architecture, idea 7). */
interface Claims {
  /** The principal's key. */
  readonly p: string
  /** Endpoint's path. */
  readonly e: string
  /** Protocol revision that `initialize` agreed on. */
  readonly r: string
  /** Client capabilities that were declared. */
  readonly c: Readonly<Record<string, unknown>>
  /** Time of issue, seconds since 1970. */
  readonly t: number
  /** 128 random bits. */
  readonly n: string
}

/** A call under way, by the JSON text of the client's request id. */
export interface ActiveCall extends SlotItem {
  readonly id: string
  /** The one that is under way now: a call may take several rounds. */
  call: Call
}

/** Resources that one client follows, each by the URI that it used itself. */
export interface SessionSubscriptions {
  readonly size: number
  /**
   * Settles when the upstream knows, could not be told, or takes too long; false: its client, or its principal, has its
   * share already.
   */
  add(asked: string, target: ResourceTarget): Promise<boolean>
  /** Does nothing where it is not followed. */
  delete(asked: string): void
  /** A server says in the client's own session that a resource has changed. */
  notifyUpdated(server: string, uri: string, said: ExtraParams): void
  /** The client has a session of its own with a server from now on. */
  resubscribe(server: string): void
  /** It has none any more. */
  markSessionClosed(server: string): void
  close(): void
}

/** A legacy client's session. The id carries what any replica needs; the rest is this replica's own. */
export interface Session {
  readonly id: string
  readonly principal: string
  readonly endpoint: string
  /** Empty until a client of the HTTP+SSE transport has initialized. */
  version: string
  /** JSON text of the declared capabilities. */
  capabilities: string
  /** How the client names itself, where this replica has heard it. */
  client: string | undefined
  /** Open GET streams, the newest last. */
  readonly streams: Set<HttpReply>
  /** The stream that was open last, while its client may come back to it. */
  detachedStream: HttpReply | null
  /** What can be resumed, once there is something. */
  storedStreams: Set<StoredStream> | null
  readonly calls: SlotSet<ActiveCall>
  /** Requests of upstreams to this client, once there is one. */
  serverRequests: ServerRequests | null
  /** Takes what its upstreams say outside of calls, once there is one. */
  callbacks: SessionCallbacks | null
  /** Resources that it subscribed to, once there are any. */
  subscriptions: SessionSubscriptions | null
  /** The least severe log messages that it wants; undefined until it says so. */
  logLevel: string | undefined
  /** Its client among those that have been seen, where somebody keeps that. */
  visitor: Visitor | null
  lastUsed: number
}

/** The stream on which the session hears what belongs to no request; its client may be away for a moment. */
export const currentStreamOf = ({ streams, detachedStream }: Session): HttpReply | null =>
  [...streams].at(-1) ?? detachedStream

export interface SessionOptions {
  /** Key of the signatures. */
  readonly key: Buffer
  readonly maxSessions: number
  /** What each principal has of them. */
  readonly shares: Shares
  readonly idleMs: number
  /** Called when a session has ended: deleted, idle for too long, or pushed out. */
  readonly onEnd: (session: Session) => void
  /** Tells other replicas that the session is over: its id must not be taken anywhere. */
  readonly announceEnd: (end: SessionEnd) => void
}

/** Why there is no place for one more session where none can give way: the principal has its share, or all are taken. */
export type SessionLimit = 'limited' | 'full'

export interface Sessions {
  create(
    principal: string,
    endpoint: string,
    version: string,
    capabilities: Record<string, unknown>
  ): Session | SessionLimit
  /** A session of the HTTP+SSE transport, known to this replica alone. */
  open(principal: string, endpoint: string): Session | SessionLimit
  /** The session of an id; undefined where it is forged, ended, too old, or somebody else's: no difference is shown. */
  find(id: string, principal: string, endpoint: string): Session | undefined
  /** For good, on every replica. */
  end(session: Session): void
  /** What is to be stored of its end; undefined where its id is good on this replica alone. */
  endOf(session: Session): SessionEnd | undefined
  /** Other replicas have ended these sessions; some may be known. */
  endedElsewhere(ends: readonly EndedSession[]): void
  /** Sessions with an open stream. */
  withOpenStream(): Iterable<Session>
  /** On this replica alone: every other comes to it by itself. */
  expire(session: Session): void
  /** Those that this replica knows of. */
  filter(matches: (session: Session) => boolean): Session[]
  readonly size: number
  /** Calls under way in all of them. */
  countCalls(): number
  close(): void
}

const MAX_AGE_S = 24 * 3600
const SWEEP_MS = 30_000
const REORDER_MS = 1_000
/** Of ends of sessions that are remembered, some 100,000; past it the principal with most loses its oldest. */
const MAX_ENDED_BYTES = 33_554_432

const signatureOf = (id: string) => id.slice(id.indexOf('.') + 1)
/** Sessions of the oldest transport live and die with their stream, and carry no signature. */
const isSigned = ({ id }: Pick<Session, 'id'>) => id.includes('.')
const nowSeconds = () => Math.floor(Date.now() / 1000)

export function createSessions({ key, maxSessions, shares, idleMs, onEnd, announceEnd }: SessionOptions): Sessions {
  // in order of last use, to within a second
  const known = new Map<string, Session>()
  /** By principal, which may make the gateway remember as many as it likes: of its own it forgets. */
  const ended = createFairShareCache<true>({
    maxBytes: MAX_ENDED_BYTES,
    maxBytesPerOwner: MAX_ENDED_BYTES,
    maxAgeMs: MAX_AGE_S * 1000
  })

  const sign = (payload: string) => createHmac('sha256', key).update(payload).digest('base64url')
  const addSession = (id: string, { p, e, r, c }: Pick<Claims, 'p' | 'e' | 'r' | 'c'>): Session => {
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
      serverRequests: null,
      callbacks: null,
      subscriptions: null,
      logLevel: undefined,
      visitor: null,
      lastUsed: performance.now()
    }
    known.set(id, session)
    return session
  }
  const drop = (session: Session) => {
    if (!known.delete(session.id)) return
    shares.give(session.principal)
    onEnd(session)
  }
  /** The longest idle one gives way, of all or of one principal. */
  const makeRoom = (principal?: string): boolean => {
    for (const session of known.values()) {
      if (principal !== undefined && session.principal !== principal) continue
      if (session.streams.size > 0 || session.calls.size > 0) continue
      drop(session)
      return true
    }
    return false
  }
  const reserve = (principal: string): SessionLimit | undefined => {
    if (!shares.take(principal) && !(makeRoom(principal) && shares.take(principal))) return 'limited'
    if (known.size < maxSessions || makeRoom()) return undefined
    shares.give(principal)
    return 'full'
  }
  const verify = (id: string): Claims | undefined => {
    const dot = id.indexOf('.')
    if (dot <= 0) return undefined
    const payload = id.slice(0, dot)
    const given = Buffer.from(id.slice(dot + 1))
    const expected = Buffer.from(sign(payload))
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined
    return JSON.parse(Buffer.from(payload, 'base64url').toString()) as Claims
  }
  const isEnded = ({ mark, principal }: EndedSession) => ended.newest(mark, { owner: principal }) !== undefined
  const revive = (id: string, principal: string, endpoint: string): Session | undefined => {
    if (isEnded({ mark: signatureOf(id), principal })) return undefined
    const claims = verify(id)
    if (claims?.p !== principal || claims.e !== endpoint) return undefined
    return nowSeconds() - claims.t > MAX_AGE_S || reserve(principal) ? undefined : addSession(id, claims)
  }
  const rememberEnd = ({ mark, principal }: EndedSession) => ended.set(principal, '', mark, true)
  const expire = (session: Session) => {
    if (isSigned(session)) rememberEnd({ mark: signatureOf(session.id), principal: session.principal })
    drop(session)
  }
  const endOf = (session: Session): SessionEnd | undefined => {
    const { id, principal } = session
    const claims = isSigned(session) ? verify(id) : undefined
    return claims && { mark: signatureOf(id), principal, expiresAt: (claims.t + MAX_AGE_S) * 1000 }
  }
  const end = (session: Session) => {
    expire(session)
    const over = endOf(session)
    if (over) announceEnd(over)
  }
  const endedElsewhere = (ends: readonly EndedSession[]) => {
    const unknown = ends.filter((end) => !isEnded(end))
    for (const end of unknown) rememberEnd(end)
    const marks = new Set(unknown.map(({ mark }) => mark))
    if (marks.size === 0) return
    for (const session of known.values()) if (isSigned(session) && marks.has(signatureOf(session.id))) drop(session)
  }
  const sweep = () => {
    const now = performance.now()
    for (const session of known.values()) {
      if (session.streams.size > 0 || session.calls.size > 0) session.lastUsed = now
      else if (now - session.lastUsed > idleMs) expire(session)
    }
  }
  const timer = setInterval(sweep, Math.min(SWEEP_MS, idleMs)).unref()

  return {
    create(principal, endpoint, version, capabilities) {
      const limit = reserve(principal)
      if (limit) return limit
      const claims: Claims = {
        p: principal,
        e: endpoint,
        r: version,
        c: capabilities,
        t: nowSeconds(),
        n: randomBytes(16).toString('base64url')
      }
      const payload = Buffer.from(JSON.stringify(claims)).toString('base64url')
      return addSession(`${payload}.${sign(payload)}`, claims)
    },
    open(principal, endpoint) {
      return (
        reserve(principal) ??
        addSession(randomBytes(16).toString('base64url'), { p: principal, e: endpoint, r: '', c: {} })
      )
    },
    find(id, principal, endpoint) {
      const session = known.get(id) ?? revive(id, principal, endpoint)
      if (!session || session.principal !== principal || session.endpoint !== endpoint) return undefined
      const now = performance.now()
      if (now - session.lastUsed > REORDER_MS) {
        known.delete(id)
        known.set(id, session)
      }
      session.lastUsed = now
      if (session.visitor) session.visitor.seenAt = Date.now()
      return session
    },
    end,
    endOf,
    expire,
    endedElsewhere,
    *withOpenStream() {
      for (const session of known.values()) if (session.streams.size > 0) yield session
    },
    filter: (matches) => [...known.values()].filter(matches),
    countCalls() {
      let count = 0
      for (const { calls } of known.values()) count += calls.size
      return count
    },
    get size() {
      return known.size
    },
    close() {
      clearInterval(timer)
      for (const session of known.values()) drop(session)
    }
  }
}
