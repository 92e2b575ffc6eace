import type { SessionMode, StoredServer, Transport, Verdict } from '../../registry/model.ts'
import type { Observation, Observer } from '../observation.ts'
import type { Breaker } from './breaker.ts'
import type { Connection, Era, TransportClient } from './connection.ts'
import { UpstreamFailure } from './failure.ts'
import { bringHome, type Home } from './home.ts'
import type { Slots } from './slots.ts'
import { Opening } from './stages.ts'

/** Who needs a connection, and as what. */
export interface Need {
  readonly era: Era
  /** JSON text of the client capabilities to declare. */
  readonly capabilities: string
  /** Whom a stateful session belongs to: an MCP session, or a principal. */
  readonly owner: string
  /** Tells sessions of the same owner and capabilities apart, where one does not do. Absent: 0. */
  readonly lane?: number
  /** The client itself where the owner is one: what comes outside of calls is for it. */
  readonly home?: Home | undefined
  /** Whether the caller wants the upstream's log messages. */
  readonly wantsLogs?: boolean
  /** The call that it is for: told what it waits for. */
  readonly observation?: Pick<Observation, 'awaits'> | null
}

export interface SessionsOptions {
  /** The server's name. */
  readonly name: string
  readonly client: TransportClient
  readonly transport: Transport
  readonly mode: SessionMode
  readonly verdict: Verdict
  /** Places for processes; for stdio only. */
  readonly slots: Slots | undefined
  readonly breaker: Breaker
  readonly connectMs: number
  readonly observer: Pick<Observer, 'connected' | 'failed'>
  /** A stateful session that nobody used for so long is closed. */
  readonly idleMs: number
  /** What connections report besides answers; `isOpening` in their first moments. */
  readonly onNotification: (method: string, params: string, isOpening: boolean) => void
}

/** The connections of one upstream, by its session mode (architecture, idea 6). */
export interface Sessions {
  /** A connection for one request; give it back with `release`. Rejects with UpstreamFailure. */
  acquire(need: Need): Connection | Promise<Connection>
  /** The request is over. A connection that served one call is closed after the answer has gone out. */
  release(connection: Connection): void
  /** The stateful session that nobody has used for longest. */
  longestIdle(): Idle | undefined
  /** Tells the stateful sessions of an owner; those that are only being opened know it already. */
  notifyOwner(owner: string, method: string): void
  /** Closes the stateful sessions of an owner that is gone. */
  endOwner(owner: string): void
  /** How many are open, and how many of them nobody uses at present. */
  counts(): SessionCounts
  /** Closes all of them; those in use fail. */
  close(): void
}

export interface SessionCounts {
  readonly open: number
  readonly idle: number
}

/** A session that can give way. */
export interface Idle {
  /** `performance.now()` time of its last use. */
  readonly since: number
  close(): void
}

interface Owned {
  readonly owner: string
  readonly opening: Promise<Connection>
  readonly stages: Opening
  connection: Connection | null
  users: number
  lastUsed: number
}

const SWEEP_MS = 10_000
/** What a server says of its lists in the first moments of a session is mostly what it says in each. */
const OPENING_MS = 1_000

/** Ended or held up on our side: says nothing about the upstream. */
const ours: ReadonlySet<unknown> = new Set(['cancelled', 'overloaded', 'denied', 'unreadable'])

/** What a failure tells of connecting: only one before anything was sent is such. */
export function noteFailure(breaker: Breaker, error: unknown): void {
  const { reason } = error as { reason?: unknown }
  if (reason === 'timeout') breaker.timedOut()
  else if (!ours.has(reason)) breaker.reacted()
}

/** Modern HTTP, and legacy HTTP that issues no session id: a connection that everybody may use at once. */
const isShared = ({ transport, verdict }: SessionsOptions, era: Era) =>
  transport === 'streamable_http' && (era === 'modern' || !verdict.hasSessions)

/** Whether each client has a legacy session of its own with the server. */
export const givesSessions = ({ transport, session_mode, verdict }: StoredServer): boolean =>
  session_mode === 'stateful' &&
  typeof verdict?.legacy === 'string' &&
  (transport !== 'streamable_http' || verdict.hasSessions)

export function createSessions(options: SessionsOptions): Sessions {
  const { name, client, transport, mode, verdict, slots, breaker, connectMs, observer, idleMs, onNotification } =
    options
  const shared = new Map<Era, Connection>()
  const openingShared = new Map<Era, Promise<Connection>>()
  const owned = new Map<string, Owned>()
  const byConnection = new WeakMap<Connection, Owned>()
  const single = new Set<Connection>()
  let sweeper: NodeJS.Timeout | null = null
  let isClosed = false

  /** A principal may be several clients, a session with a home is of one. */
  const hear = (connection: Connection, { capabilities, home, wantsLogs }: Omit<Need, 'owner'>) => {
    const logs = wantsLogs && verdict.capabilities.logging !== undefined
    const updates = home && mode === 'stateful' && verdict.capabilities.resources !== undefined
    if (capabilities !== '{}' || logs || updates) connection.hear?.(mode === 'stateful' && !home)
  }
  const open = async (need: Omit<Need, 'owner'>, opening: Opening): Promise<Connection> => {
    const { era, capabilities, home } = need
    const askedAt = performance.now()
    if (slots) opening.queuedAt = askedAt
    const giveBack = await slots?.take(askedAt + connectMs)
    const startedAt = performance.now()
    try {
      const connection = await client.open({ era, capabilities, deadline: startedAt + connectMs, opening })
      opening.openAt = performance.now()
      observer.connected(name, transport, opening.openAt - startedAt)
      if (giveBack) void (connection.ended ?? Promise.resolve()).then(giveBack)
      const openedAt = performance.now()
      connection.onNotification = (method, params) =>
        onNotification(method, params, performance.now() - openedAt < OPENING_MS)
      if (home && mode === 'stateful') bringHome(connection, name, home)
      hear(connection, need)
      if (!isClosed) return connection
      connection.close()
      throw new UpstreamFailure('unreachable', 'the server was removed or replaced', { taken: false })
    } catch (error) {
      if (error instanceof UpstreamFailure) observer.failed(name, error.reason, error.message)
      noteFailure(breaker, error)
      giveBack?.()
      throw error
    }
  }
  const openOwn = async (need: Need, opening: Opening): Promise<Connection> => {
    breaker.admit()
    const connection = await open(need, opening)
    breaker.reacted()
    return connection
  }
  /** Connects when something is sent, so that it is open says nothing. */
  const openShared = async (era: Era): Promise<Connection> => {
    try {
      const connection = await open({ era, capabilities: '{}' }, new Opening())
      connection.onClose = () => shared.get(era) === connection && shared.delete(era)
      if (!connection.closed) shared.set(era, connection)
      return connection
    } finally {
      openingShared.delete(era)
    }
  }
  const acquireShared = (era: Era): Connection | Promise<Connection> => {
    breaker.admit()
    const ready = shared.get(era)
    if (ready && !ready.closed) return ready
    const opening = openingShared.get(era) ?? openShared(era)
    openingShared.set(era, opening)
    return opening
  }
  const acquireSingle = async (need: Need): Promise<Connection> => {
    const opening = new Opening()
    need.observation?.awaits(opening)
    const connection = await openOwn(need, opening)
    single.add(connection)
    return connection
  }
  const sweep = () => {
    const now = performance.now()
    for (const session of owned.values()) {
      if (session.users === 0 && now - session.lastUsed > idleMs) session.connection?.close()
    }
    if (owned.size > 0 || !sweeper) return
    clearInterval(sweeper)
    sweeper = null
  }
  const openOwned = (key: string, need: Need): Owned => {
    const stages = new Opening()
    const session: Owned = {
      owner: need.owner,
      opening: openOwn(need, stages),
      stages,
      connection: null,
      users: 0,
      lastUsed: performance.now()
    }
    const { home } = need
    const forget = () => owned.get(key) === session && owned.delete(key)
    const end = () => {
      forget()
      home?.closed(name)
    }
    session.opening.then((connection) => {
      session.connection = connection
      byConnection.set(connection, session)
      connection.onClose = end
      if (connection.closed) end()
      else home?.opened(name)
    }, forget)
    owned.set(key, session)
    sweeper ??= setInterval(sweep, Math.min(SWEEP_MS, idleMs)).unref()
    return session
  }
  const acquireOwned = async (need: Need): Promise<Connection> => {
    const key = `${need.era} ${need.owner} ${need.lane ?? 0} ${need.capabilities}`
    const known = owned.get(key)
    const session = known && !known.connection?.closed ? known : openOwned(key, need)
    session.users++
    if (session.connection === null) need.observation?.awaits(session.stages)
    try {
      return await session.opening
    } catch (error) {
      session.users--
      throw error
    }
  }
  const releaseOwned = (connection: Connection) => {
    const session = byConnection.get(connection)
    if (!session) return
    session.users--
    session.lastUsed = performance.now()
    if (session.users === 0) slots?.relieve()
  }
  const longestIdle = (): Idle | undefined => {
    if (!slots) return undefined
    let found: Owned | undefined
    for (const session of owned.values()) {
      const isIdle = session.users === 0 && session.connection !== null
      if (isIdle && (!found || session.lastUsed < found.lastUsed)) found = session
    }
    const connection = found?.connection
    return found && connection ? { since: found.lastUsed, close: () => connection.close() } : undefined
  }
  const closeSingle = (connection: Connection) => {
    connection.close()
  }

  return {
    acquire(need) {
      if (isShared(options, need.era)) return acquireShared(need.era)
      return mode === 'stateful' ? acquireOwned(need) : acquireSingle(need)
    },
    release(connection) {
      if (single.delete(connection)) setImmediate(closeSingle, connection)
      else releaseOwned(connection)
    },
    longestIdle,
    notifyOwner(owner, method) {
      for (const session of owned.values()) {
        if (session.owner === owner && session.connection?.era === 'legacy') session.connection.notify(method, '')
      }
    },
    endOwner(owner) {
      for (const session of owned.values()) {
        if (session.owner === owner) void session.opening.then(closeSingle, () => {})
      }
    },
    counts() {
      const kept = [...owned.values()].filter(({ connection }) => connection !== null)
      return {
        open: shared.size + single.size + kept.length,
        idle: kept.filter(({ users }) => users === 0).length
      }
    },
    close() {
      isClosed = true
      if (sweeper) clearInterval(sweeper)
      for (const connection of [...shared.values(), ...single]) connection.close()
      for (const session of owned.values()) session.connection?.close()
    }
  }
}
