import type { SessionMode, StoredServer, Verdict } from '../../registry/model.ts'
import type { Observation, Observer } from '../observation.ts'
import type { Sink } from './call.ts'
import type { Connection, Era } from './connection.ts'
import { UpstreamFailure } from './failure.ts'
import { attachCallbacks, type SessionCallbacks } from './home.ts'
import { createOpener, type OpenerOptions } from './opener.ts'
import { createOwnedSessions } from './owned-sessions.ts'
import type { MayEnd, Slots } from './slots.ts'
import { createSpares, type Kind, type Spares, type SparesOptions, type Underway } from './spares.ts'
import { Opening } from './stages.ts'

/** Who needs a connection, and as what. */
export interface Need {
  readonly era: Era
  /** JSON text of the client capabilities to declare. */
  readonly capabilities: string
  /** Whom a stateful session belongs to: an MCP session, or a principal. */
  readonly owner: string
  /** The principal whose share a place of its own is part of; undefined: nobody's. */
  readonly holder?: string | undefined
  /** Tells sessions of the same owner and capabilities apart, where one does not do. Absent: 0. */
  readonly lane?: number
  /** The client itself where the owner is one: what comes outside of calls is for it. */
  readonly home?: SessionCallbacks | undefined
  /** Whether the caller wants the upstream's log messages. */
  readonly wantsLogs?: boolean
  /** The call that it is for: told what it waits for. */
  readonly observation?: Pick<Observation, 'markConnecting' | 'caller' | 'requestId'> | null
  /** Answers what the upstream has asked of its client before the call. */
  readonly sink: Sink
  /** Whether it must be a session that was opened just now: another one proved to be of no use. */
  readonly mustBeFresh?: boolean
}

/** As what a connection is opened, and who is to hear of it. */
type Wanted = Pick<Need, 'era' | 'capabilities' | 'home' | 'wantsLogs'>

export interface SessionsOptions extends OpenerOptions {
  readonly mode: SessionMode
  readonly verdict: Verdict
  /** Places for processes; for stdio only. */
  readonly slots: Slots | undefined
  /** Places for stateful sessions that are no processes. */
  readonly places?: Slots | undefined
  readonly observer: Pick<Observer, 'onConnected' | 'onConnectionFailure' | 'onSessionTaken'>
  /** A stateful session that nobody used for so long is closed. */
  readonly idleMs: number
  /** Sessions that are kept ready in stateless mode. */
  readonly spares: Pick<SparesOptions, 'most' | 'idleMs' | 'inTurn'> & { readonly onChange: () => void }
}

/** The connections of one upstream, by its session mode (architecture, idea 6). */
export interface Sessions {
  /** A connection for one request; give it back with `release`. Rejects with UpstreamFailure. */
  acquire(need: Need): Connection | Promise<Connection>
  /** The request is over. A connection that served one call is closed after the answer has gone out. */
  release(connection: Connection): void
  /** What has a place of `pool` and may give it up: a spare session, or the stateful one that nobody has used for longest. */
  longestIdle(pool: Slots, mayEnd: MayEnd): Idle | undefined
  /** Tells the stateful sessions of an owner; those that are only being opened know it already. */
  notifyOwner(owner: string, method: string): void
  /** Closes the stateful sessions of an owner that is gone. */
  endOwner(owner: string): void
  /** How many are open, and how many of them nobody uses at present. */
  counts(): SessionCounts
  /** The upstream, or how it is reached, may not be the same any more: spare sessions are closed. */
  discardSpares(): void
  /** From now on no session is kept ready. */
  endSpares(): void
  /** Closes all of them; those in use fail. */
  close(): void
}

export interface SessionCounts {
  /** Spare ones included. */
  readonly open: number
  /** Stateful ones that nobody uses at present. */
  readonly idle: number
  /** Ready for a call, used by none so far; undefined where there is no use for such. */
  readonly spare: number | undefined
}

/** A session that can give way. */
export interface Idle {
  /** `performance.now()` time of its last use; 0 of one that was never used. */
  readonly since: number
  close(): void
}

/** Modern HTTP, and legacy HTTP that issues no session id: a connection that everybody may use at once. */
const isShared = ({ transport, verdict }: SessionsOptions, era: Era) =>
  transport === 'streamable_http' && (era === 'modern' || !verdict.hasSessions)

/** Whether calls, of one era at least, have a session each: that is a handshake each. */
const isPerCall = ({ transport, mode, verdict }: SessionsOptions) =>
  mode === 'stateless' && (transport !== 'streamable_http' || (verdict.legacy !== null && verdict.hasSessions))

/** Whether each client has a legacy session of its own with the server. */
export const givesSessions = ({ transport, session_mode, verdict }: StoredServer): boolean =>
  session_mode === 'stateful' &&
  typeof verdict?.legacy === 'string' &&
  (transport !== 'streamable_http' || verdict.hasSessions)

export function createSessions(options: SessionsOptions): Sessions {
  const { name, client, mode, verdict, slots, places, breaker, connectMs, observer, idleMs } = options
  const openWith = createOpener(options)
  const shared = new Map<Era, Connection>()
  const openingShared = new Map<Era, Promise<Connection>>()
  const single = new Set<Connection>()
  /** Of connections that have a place, its release. */
  const releases = new WeakMap<Connection, () => void>()
  let isClosed = false

  /** A principal may be several clients, a session with a home is of one. */
  const hear = (connection: Connection, { capabilities, home, wantsLogs }: Wanted) => {
    const logs = wantsLogs && verdict.capabilities.logging !== undefined
    const updates = home && mode === 'stateful' && verdict.capabilities.resources !== undefined
    if (capabilities !== '{}' || logs || updates) connection.openSessionStream?.(mode === 'stateful' && !home)
  }
  const checkOpen = (connection: Connection): Connection => {
    if (!isClosed) return connection
    connection.close()
    throw new UpstreamFailure('unreachable', 'the server was removed or replaced', { maybeProcessed: false })
  }
  const openNew = async (wanted: Wanted, opening: Opening, giveBack?: () => void): Promise<Connection> => {
    const startedAt = performance.now()
    const connection = checkOpen(await openWith(wanted, opening, giveBack))
    if (giveBack) releases.set(connection, giveBack)
    spares?.opened(opening.openAt - startedAt)
    breaker.recordResponse()
    if (wanted.home && mode === 'stateful') attachCallbacks(connection, name, wanted.home)
    hear(connection, wanted)
    return connection
  }
  const openOwn = async (need: Need, opening: Opening): Promise<Connection> => {
    breaker.assertClosed()
    if (!slots) return openNew(need, opening)
    opening.queuedAt = performance.now()
    return openNew(need, opening, await slots.take(opening.queuedAt + connectMs, need.holder))
  }
  /** A process has its place until nothing is left of it, another session until it is closed. */
  const openOwned = async (need: Need, opening: Opening): Promise<Connection> => {
    if (!places) return openOwn(need, opening)
    const giveBack = await places.take(0, need.holder)
    try {
      const connection = await openOwn(need, opening)
      releases.set(connection, giveBack)
      return connection
    } catch (error) {
      giveBack()
      throw error
    }
  }
  const owned = createOwnedSessions({
    name,
    idleMs,
    open: openOwned,
    onEnd(connection) {
      if (places) releases.get(connection)?.()
    },
    onIdle: () => slots?.relieve()
  })
  /** Takes what place there is, and waits for none. */
  const openSpare = (kind: Kind, stages: Opening): Promise<Connection> | undefined => {
    const giveBack = slots?.takeSpare()
    return slots && !giveBack ? undefined : openNew(kind, stages, giveBack)
  }
  const spares: Spares | null =
    isPerCall(options) && options.spares.most > 0
      ? createSpares({
          ...options.spares,
          open: openSpare,
          isAvailable: () => breaker.state === 'closed',
          basis: () => client.fingerprint,
          onChange(isReady) {
            // it gives way where somebody waits for its place
            if (isReady) slots?.relieve()
            options.spares.onChange()
          }
        })
      : null
  /** Connects when something is sent, so that it is open says nothing. */
  const openShared = async (era: Era): Promise<Connection> => {
    try {
      const connection = checkOpen(await openWith({ era, capabilities: '{}' }, new Opening()))
      connection.onClose = () => shared.get(era) === connection && shared.delete(era)
      if (!connection.closed) shared.set(era, connection)
      return connection
    } finally {
      openingShared.delete(era)
    }
  }
  const acquireShared = (era: Era): Connection | Promise<Connection> => {
    breaker.assertClosed()
    const ready = shared.get(era)
    if (ready && !ready.closed) return ready
    const opening = openingShared.get(era) ?? openShared(era)
    openingShared.set(era, opening)
    return opening
  }
  const openSingle = (need: Need): Underway => {
    const stages = new Opening()
    stages.by = need.observation ?? null
    return { opening: openOwn(need, stages), stages }
  }
  const acquireSingle = (need: Need): Connection | Promise<Connection> => {
    const use = (connection: Connection) => {
      // a spare, and one that was joined, was not opened for what this call wants to hear
      hear(connection, need)
      const release = releases.get(connection)
      if (release && need.holder !== undefined) slots?.assign(release, need.holder)
      single.add(connection)
      spares?.given()
      return connection
    }
    const isLimited = need.holder !== undefined && slots?.isLimited(need.holder) === true
    const spare = need.mustBeFresh || isLimited ? undefined : spares?.take(need, need.sink)
    if (spares && !need.mustBeFresh) observer.onSessionTaken(name, spare !== undefined)
    if (spare) return use(spare)
    const { opening, stages } = (isLimited ? undefined : spares?.join(need)) ?? openSingle(need)
    need.observation?.markConnecting(stages)
    return opening.then(use)
  }
  const closeSingle = (connection: Connection) => {
    connection.close()
  }

  return {
    acquire(need) {
      if (isShared(options, need.era)) return acquireShared(need.era)
      return mode === 'stateful' ? owned.acquire(need) : acquireSingle(need)
    },
    release(connection) {
      if (!single.delete(connection)) return owned.release(connection)
      setImmediate(closeSingle, connection)
      spares?.settled()
    },
    longestIdle(pool, mayEnd) {
      if (pool === places) return owned.longestIdle(mayEnd)
      if (pool !== slots) return undefined
      const spare = mayEnd(undefined) ? spares?.leastWanted() : undefined
      return spare ? { since: 0, close: spare.end } : owned.longestIdle(mayEnd)
    },
    notifyOwner: (owner, method) => owned.notifyOwner(owner, method),
    endOwner: (owner) => owned.endOwner(owner),
    counts() {
      const { open, idle } = owned.counts()
      const spare = spares?.ready
      return { open: shared.size + single.size + open + (spare ?? 0), idle, spare }
    },
    discardSpares: () => spares?.discard(),
    endSpares: () => spares?.close(),
    close() {
      isClosed = true
      spares?.close()
      for (const connection of [...shared.values(), ...single]) connection.close()
      owned.close()
    }
  }
}
