import type { Connection } from './connection.ts'
import { createCapabilityFilter } from './carried.ts'
import type { Idle, Need, SessionCounts } from './sessions.ts'
import type { MayEnd } from './slots.ts'
import type { Underway } from './spares.ts'
import { Opening } from './stages.ts'

export interface OwnedSessionsOptions {
  /** The server's name. */
  readonly name: string
  /** One that nobody used for so long is closed. */
  readonly idleMs: number
  readonly open: (need: Need, stages: Opening) => Promise<Connection>
  /** One that was opened is closed, by whomever. */
  readonly onEnd: (connection: Connection) => void
  /** One is not in use any more: it could give way. */
  readonly onIdle: () => void
}

/** Sessions of a stateful server: each belongs to one caller, and is kept between its calls. */
export interface OwnedSessions {
  /** Without a promise where it is open: that is every call but the first. */
  acquire(need: Need): Connection | Promise<Connection>
  /** The request is over. Does nothing where the connection is none of these. */
  release(connection: Connection): void
  /** Of those whose holder may lose one, the one that nobody has used for longest. */
  longestIdle(mayEnd: MayEnd): Idle | undefined
  /** Tells those of an owner; those that are only being opened know it already. */
  notifyOwner(owner: string, method: string): void
  /** Closes those of an owner. */
  endOwner(owner: string): void
  counts(): Pick<SessionCounts, 'open' | 'idle'>
  close(): void
}

interface Owned extends Underway {
  readonly owner: string
  readonly holder: string | undefined
  connection: Connection | null
  users: number
  lastUsed: number
}

const SWEEP_MS = 10_000

export function createOwnedSessions({ name, idleMs, open, onEnd, onIdle }: OwnedSessionsOptions): OwnedSessions {
  const owned = new Map<string, Owned>()
  const byConnection = new WeakMap<Connection, Owned>()
  const carried = createCapabilityFilter()
  let sweeper: NodeJS.Timeout | null = null

  const sweep = () => {
    const now = performance.now()
    for (const session of owned.values()) {
      if (session.users === 0 && now - session.lastUsed > idleMs) session.connection?.close()
    }
    if (owned.size > 0 || !sweeper) return
    clearInterval(sweeper)
    sweeper = null
  }
  const begin = (key: string, need: Need): Owned => {
    const stages = new Opening()
    stages.by = need.observation ?? null
    const session: Owned = {
      owner: need.owner,
      holder: need.holder,
      opening: open(need, stages),
      stages,
      connection: null,
      users: 0,
      lastUsed: performance.now()
    }
    const { home } = need
    const forget = () => owned.get(key) === session && owned.delete(key)
    const end = () => {
      forget()
      if (session.connection) onEnd(session.connection)
      home?.onClose(name)
    }
    session.opening.then((connection) => {
      session.connection = connection
      byConnection.set(connection, session)
      connection.onClose = end
      if (connection.closed) end()
      else home?.onOpen(name)
    }, forget)
    owned.set(key, session)
    sweeper ??= setInterval(sweep, Math.min(SWEEP_MS, idleMs)).unref()
    return session
  }
  const waitFor = async (session: Owned, need: Need): Promise<Connection> => {
    need.observation?.markConnecting(session.stages)
    try {
      return await session.opening
    } catch (error) {
      session.users--
      throw error
    }
  }
  return {
    acquire(need) {
      const { home } = need
      const capabilities = home ? need.capabilities : carried(need.capabilities)
      const key = `${need.era} ${need.owner} ${need.lane ?? 0} ${capabilities}`
      const known = owned.get(key)
      const session = known && !known.connection?.closed ? known : begin(key, home ? need : { ...need, capabilities })
      session.users++
      return session.connection ?? waitFor(session, need)
    },
    release(connection) {
      const session = byConnection.get(connection)
      if (!session) return
      session.users--
      session.lastUsed = performance.now()
      if (session.users === 0) onIdle()
    },
    longestIdle(mayEnd) {
      let found: Owned | undefined
      for (const session of owned.values()) {
        const isIdle = session.users === 0 && session.connection !== null && mayEnd(session.holder)
        if (isIdle && (!found || session.lastUsed < found.lastUsed)) found = session
      }
      const connection = found?.connection
      return found && connection ? { since: found.lastUsed, close: () => connection.close() } : undefined
    },
    notifyOwner(owner, method) {
      for (const session of owned.values()) {
        if (session.owner === owner && session.connection?.era === 'legacy') session.connection.notify(method, '')
      }
    },
    endOwner(owner) {
      for (const session of owned.values()) {
        if (session.owner !== owner) continue
        session.opening.then(
          (connection) => connection.close(),
          () => {}
        )
      }
    },
    counts() {
      const kept = [...owned.values()].filter(({ connection }) => connection !== null)
      return { open: kept.length, idle: kept.filter(({ users }) => users === 0).length }
    },
    close() {
      if (sweeper) clearInterval(sweeper)
      for (const session of owned.values()) session.connection?.close()
    }
  }
}
