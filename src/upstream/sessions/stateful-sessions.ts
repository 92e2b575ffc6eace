import type { Connection } from '../transport/connection.ts'
import { createCapabilityFilter } from '../transport/capability-filter.ts'
import type { IdleSession, SessionRequest, SessionCounts } from './upstream-sessions.ts'
import type { MayReclaim } from './slot-pool.ts'
import type { PendingConnection } from './spare-pool.ts'
import { ConnectTimings } from '../../observe/connect-timings.ts'

export interface StatefulSessionsOptions {
  /** Name of the server. */
  readonly name: string
  /** Milliseconds without a request before a session is closed. */
  readonly sessionIdleMs: number
  readonly open: (request: SessionRequest, timings: ConnectTimings) => Promise<Connection>
  /** Called when a session has closed, for any reason. */
  readonly onEnd: (connection: Connection) => void
  /** Called when a session has become idle and could be reclaimed. */
  readonly onIdle: () => void
}

/** Sessions of a stateful server: each belongs to one caller and is kept between its calls. */
export interface StatefulSessions {
  /** Returns the connection directly if it is open, which is the case for every call but the first. */
  acquire(request: SessionRequest): Connection | Promise<Connection>
  /** Ends the use of a connection after a request. Ignores connections that are not stateful sessions. */
  release(connection: Connection): void
  /** Returns the session that has been idle longest among those that `mayReclaim` allows. */
  findLongestIdle(mayReclaim: MayReclaim): IdleSession | undefined
  /** Sends a notification on the owner's open sessions; a session being opened sees the current state anyway. */
  notifyOwner(owner: string, method: string): void
  /** Closes the sessions of an owner. */
  closeOwner(owner: string): void
  counts(): Pick<SessionCounts, 'open' | 'idle'>
  close(): void
}

interface StatefulSession extends PendingConnection {
  readonly owner: string
  readonly holder: string | undefined
  connection: Connection | null
  users: number
  lastUsed: number
}

const SWEEP_MS = 10_000

export function createStatefulSessions({
  name,
  sessionIdleMs,
  open,
  onEnd,
  onIdle
}: StatefulSessionsOptions): StatefulSessions {
  const sessions = new Map<string, StatefulSession>()
  const byConnection = new WeakMap<Connection, StatefulSession>()
  const filterCapabilities = createCapabilityFilter()
  let sweeper: NodeJS.Timeout | null = null

  const sweep = () => {
    const now = performance.now()
    for (const session of sessions.values()) {
      if (session.users === 0 && now - session.lastUsed > sessionIdleMs) session.connection?.close()
    }
    if (sessions.size > 0 || !sweeper) return
    clearInterval(sweeper)
    sweeper = null
  }
  const startSession = (key: string, request: SessionRequest): StatefulSession => {
    const timings = new ConnectTimings()
    timings.requester = request.observation ?? null
    const session: StatefulSession = {
      owner: request.owner,
      holder: request.holder,
      connecting: open(request, timings),
      timings,
      connection: null,
      users: 0,
      lastUsed: performance.now()
    }
    const { callbacks } = request
    const forget = () => sessions.get(key) === session && sessions.delete(key)
    const handleClose = () => {
      forget()
      if (session.connection) onEnd(session.connection)
      callbacks?.onClose(name)
    }
    session.connecting.then((connection) => {
      session.connection = connection
      byConnection.set(connection, session)
      connection.onClose = handleClose
      if (connection.closed) handleClose()
      else callbacks?.onOpen(name)
    }, forget)
    sessions.set(key, session)
    sweeper ??= setInterval(sweep, Math.min(SWEEP_MS, sessionIdleMs)).unref()
    return session
  }
  const waitFor = async (session: StatefulSession, request: SessionRequest): Promise<Connection> => {
    request.observation?.markConnecting(session.timings)
    try {
      return await session.connecting
    } catch (error) {
      session.users--
      throw error
    }
  }
  return {
    acquire(request) {
      const { callbacks } = request
      const capabilities = callbacks ? request.capabilities : filterCapabilities(request.capabilities)
      const key = `${request.era} ${request.owner} ${request.lane ?? 0} ${capabilities}`
      const known = sessions.get(key)
      const session =
        known && !known.connection?.closed
          ? known
          : startSession(key, callbacks ? request : { ...request, capabilities })
      session.users++
      return session.connection ?? waitFor(session, request)
    },
    release(connection) {
      const session = byConnection.get(connection)
      if (!session) return
      session.users--
      session.lastUsed = performance.now()
      if (session.users === 0) onIdle()
    },
    findLongestIdle(mayReclaim) {
      let found: StatefulSession | undefined
      for (const session of sessions.values()) {
        const isIdle = session.users === 0 && session.connection !== null && mayReclaim(session.holder)
        if (isIdle && (!found || session.lastUsed < found.lastUsed)) found = session
      }
      const connection = found?.connection
      return found && connection ? { since: found.lastUsed, close: () => connection.close() } : undefined
    },
    notifyOwner(owner, method) {
      for (const session of sessions.values()) {
        if (session.owner === owner && session.connection?.era === 'legacy') session.connection.notify(method, '')
      }
    },
    closeOwner(owner) {
      for (const session of sessions.values()) {
        if (session.owner !== owner) continue
        session.connecting.then(
          (connection) => connection.close(),
          () => {}
        )
      }
    },
    counts() {
      const openSessions = [...sessions.values()].filter(({ connection }) => connection !== null)
      return { open: openSessions.length, idle: openSessions.filter(({ users }) => users === 0).length }
    },
    close() {
      if (sweeper) clearInterval(sweeper)
      for (const session of sessions.values()) session.connection?.close()
    }
  }
}
