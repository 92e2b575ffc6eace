import type { StoredServer, Negotiation } from '../../registry/model/model.ts'
import type { Observation, Observer } from '../../observe/observation.ts'
import type { Call, Sink } from '../transport/call.ts'
import { acceptsRequests } from '../transport/capability-filter.ts'
import type { Connection, Era } from '../transport/connection.ts'
import { UpstreamFailure } from '../../protocol/upstream-failure.ts'
import { attachCallbacks, type SessionCallbacks } from '../transport/session-callbacks.ts'
import { createConnector, type ConnectorOptions } from './connector.ts'
import { createStatefulSessions } from './stateful-sessions.ts'
import type { MayReclaim, SlotPool } from './slot-pool.ts'
import {
  createSparePool,
  type SparePoolKey,
  type SparePool,
  type SparePoolOptions,
  type PendingConnection
} from './spare-pool.ts'
import { ConnectTimings } from '../../observe/connect-timings.ts'
import { StartMeter, type StartTimes } from './start-meter.ts'

/** Request for a connection: era, capabilities and owner. */
export interface SessionRequest {
  readonly era: Era
  /** JSON text of the client capabilities to declare. */
  readonly capabilities: string
  /** Owner of a stateful session: an MCP session, or a principal. */
  readonly owner: string
  /** Principal whose quota a slot counts towards; undefined: none. */
  readonly holder?: string | undefined
  /** The call that waits for the connection; absent if none does. */
  readonly call?: Pick<Call, 'stopped'>
  /** Distinguishes sessions with the same owner and capabilities when one is not enough. Default 0. */
  readonly lane?: number
  /** Callbacks to the client, if the owner is an MCP session: they receive messages outside of calls. */
  readonly callbacks?: SessionCallbacks | undefined
  /** True if the caller wants the upstream's log messages. */
  readonly wantsLogs?: boolean
  /** Observation of the call; it records the connect stages that the call waits for. */
  readonly observation?: Pick<Observation, 'markConnecting' | 'caller' | 'requestId'> | null
  /** Answers requests that the upstream has sent on a spare session before the call. */
  readonly sink: Sink
  /** True if the session must be newly opened, because a spare one has failed. */
  readonly mustBeFresh?: boolean
}

/** Parameters for opening a connection and its session stream. */
type ConnectionParameters = Pick<SessionRequest, 'era' | 'capabilities' | 'callbacks' | 'wantsLogs'>

export interface UpstreamSessionsOptions extends ConnectorOptions {
  readonly negotiation: Negotiation
  /** Slots for processes; stdio only. */
  readonly processSlots: SlotPool | undefined
  /** Slots for stateful sessions that are not processes. */
  readonly sessionSlots?: SlotPool | undefined
  readonly observer: Pick<Observer, 'onConnected' | 'onConnectionFailure' | 'onSessionTaken'>
  /** Milliseconds without a request before a stateful session is closed. */
  readonly sessionIdleMs: number
  /** Options of the spare pool in stateless mode. */
  readonly sparePool: Pick<SparePoolOptions, 'maxSize' | 'spareIdleMs' | 'runInTurn'> & {
    readonly onChange: () => void
  }
}

/** Connections of one upstream, managed according to its session mode. */
export interface UpstreamSessions {
  /** Returns a connection for one request, to be given back with `release`. Rejects with UpstreamFailure. */
  acquire(request: SessionRequest): Connection | Promise<Connection>
  /** Ends the use of a connection. A connection that serves a single call is closed after its answer has been sent. */
  release(connection: Connection): void
  /** Returns a session that holds a slot of `pool` and may be closed: a spare one, or the stateful one idle longest. */
  findLongestIdle(pool: SlotPool, mayReclaim: MayReclaim): IdleSession | undefined
  /**
   * Sends a notification on the owner's open stateful sessions; a session being opened sees the current state anyway.
   */
  notifyOwner(owner: string, method: string): void
  /** Closes the stateful sessions of an owner that has gone. */
  closeOwner(owner: string): void
  /** Returns the numbers of open, idle and spare sessions. */
  counts(): SessionCounts
  /** Returns the meter of calls of that era; undefined if they need no session of their own. */
  meterFor(era: Era): StartMeter | undefined
  /** Returns what starts and calls took; undefined without enough of both. */
  startTimes(): StartTimes | undefined
  /** Closes spare sessions, because the upstream or the way to reach it may have changed. */
  discardSpareSessions(): void
  /** Closes the spare pool for good. */
  closeSparePool(): void
  /** Closes all connections; calls in flight fail. */
  close(): void
}

export interface SessionCounts {
  /** Includes spare sessions. */
  readonly open: number
  /** Stateful sessions without a request in flight. */
  readonly idle: number
  /** Spare sessions; undefined if this upstream has no spare pool. */
  readonly spare: number | undefined
}

/** A session that can be closed to free its slot. */
export interface IdleSession {
  /** `performance.now()` time of its last use; 0 for a spare session. */
  readonly since: number
  close(): void
}

/** True for modern HTTP, and for legacy HTTP without session ids: all callers share one connection. */
const usesSharedConnection = ({ transport, negotiation }: UpstreamSessionsOptions, era: Era) =>
  transport === 'streamable_http' && (era === 'modern' || !negotiation.hasSessions)

/** True if each call, of one era at least, opens its own session with a handshake. */
const usesSessionPerCall = ({ transport, mode, negotiation }: UpstreamSessionsOptions) =>
  mode === 'stateless' && (transport !== 'streamable_http' || (negotiation.legacy !== null && negotiation.hasSessions))

/** True if each client has its own legacy session with the server. */
export const hasClientSessions = ({ transport, session_mode, negotiation }: StoredServer): boolean =>
  session_mode === 'stateful' &&
  typeof negotiation?.legacy === 'string' &&
  (transport !== 'streamable_http' || negotiation.hasSessions)

/** Opens the connections of one upstream, each with the slots that it needs. */
class SessionOpener {
  /** Slot releases by connection. */
  readonly releases = new WeakMap<Connection, () => void>()
  /** Set for good when the upstream is closed; a connection opened later is closed at once. */
  isClosed = false
  /** Receives the milliseconds that the opening of each session took, without the wait for a slot. */
  onOpened: ((ms: number) => void) | null = null
  readonly connect: ReturnType<typeof createConnector>
  readonly #options: UpstreamSessionsOptions

  constructor(options: UpstreamSessionsOptions) {
    this.#options = options
    this.connect = createConnector(options)
  }

  /** A process holds its slot until nothing is left of it, any other session until it is closed. */
  async openStateful(request: SessionRequest, timings: ConnectTimings): Promise<Connection> {
    const { sessionSlots } = this.#options
    if (!sessionSlots) return this.openOwn(request, timings)
    const releaseSlot = await sessionSlots.acquire(0, request.holder)
    try {
      const connection = await this.openOwn(request, timings)
      this.releases.set(connection, releaseSlot)
      return connection
    } catch (error) {
      releaseSlot()
      throw error
    }
  }

  /** `isWanted` is false once a connection that only one call can use is no longer waited for. */
  async openOwn(request: SessionRequest, timings: ConnectTimings, isWanted?: () => boolean): Promise<Connection> {
    const { breaker, processSlots, connectMs } = this.#options
    breaker.assertClosed()
    if (!processSlots) return this.#open(request, timings)
    timings.queuedAt = performance.now()
    return this.#open(
      request,
      timings,
      await processSlots.acquire(timings.queuedAt + connectMs, request.holder, isWanted)
    )
  }

  /** Opens a spare session only if a slot is free at once. */
  openSpare(key: SparePoolKey, timings: ConnectTimings): Promise<Connection> | undefined {
    const { processSlots } = this.#options
    const releaseSlot = processSlots?.tryAcquire()
    return processSlots && !releaseSlot ? undefined : this.#open(key, timings, releaseSlot)
  }

  /** Returns an open connection; throws once the upstream is closed. */
  checkOpen(connection: Connection): Connection {
    if (!this.isClosed) return connection
    connection.close()
    throw new UpstreamFailure('unreachable', 'the server was removed or replaced', { maybeProcessed: false })
  }

  /**
   * Opens the session stream if the caller can receive anything on it. A principal may be several clients; a session
   * with callbacks belongs to one.
   */
  openStreamIfNeeded(connection: Connection, { capabilities, callbacks, wantsLogs }: ConnectionParameters): void {
    const { mode, negotiation } = this.#options
    const logs = wantsLogs && negotiation.capabilities.logging !== undefined
    const updates = callbacks && mode === 'stateful' && negotiation.capabilities.resources !== undefined
    if (acceptsRequests(capabilities) || logs || updates)
      connection.openSessionStream?.(mode === 'stateful' && !callbacks)
  }

  async #open(
    parameters: ConnectionParameters,
    timings: ConnectTimings,
    releaseSlot?: () => void
  ): Promise<Connection> {
    const { name, mode, breaker } = this.#options
    const startedAt = performance.now()
    const connection = this.checkOpen(await this.connect(parameters, timings, releaseSlot))
    if (releaseSlot) this.releases.set(connection, releaseSlot)
    this.onOpened?.(timings.openedAt - startedAt)
    breaker.recordResponse()
    if (parameters.callbacks && mode === 'stateful') attachCallbacks(connection, name, parameters.callbacks)
    this.openStreamIfNeeded(connection, parameters)
    return connection
  }
}

/** Connections that all callers of an era share. */
class SharedConnections {
  readonly ready = new Map<Era, Connection>()
  readonly #opening = new Map<Era, Promise<Connection>>()
  readonly #opener: SessionOpener

  constructor(opener: SessionOpener) {
    this.#opener = opener
  }

  acquire(era: Era): Connection | Promise<Connection> {
    const ready = this.ready.get(era)
    if (ready && !ready.closed) return ready
    const connecting = this.#opening.get(era) ?? this.#open(era)
    this.#opening.set(era, connecting)
    return connecting
  }

  /** The connection opens its sockets on the first request, so its success says nothing about the upstream. */
  async #open(era: Era): Promise<Connection> {
    try {
      const opener = this.#opener
      const connection = opener.checkOpen(await opener.connect({ era, capabilities: '{}' }, new ConnectTimings()))
      connection.onClose = () => this.ready.get(era) === connection && this.ready.delete(era)
      if (!connection.closed) this.ready.set(era, connection)
      return connection
    } finally {
      this.#opening.delete(era)
    }
  }
}

/** Returns the request of all callers together, which declares no capabilities and receives nothing outside of calls. */
const ofAll = (request: SessionRequest): SessionRequest => ({
  ...request,
  owner: '',
  holder: undefined,
  capabilities: '{}',
  callbacks: undefined,
  wantsLogs: false
})

function createPool(options: UpstreamSessionsOptions, opener: SessionOpener): SparePool | null {
  const { client, processSlots, breaker, sparePool } = options
  if (sparePool.maxSize <= 0) return null
  const pool = createSparePool({
    ...sparePool,
    open: (key, timings) => opener.openSpare(key, timings),
    isAvailable: () => breaker.state === 'closed',
    fingerprint: () => client.fingerprint,
    onChange(isReady) {
      // a waiting call may need the slot of the spare session
      if (isReady) processSlots?.reclaimForWaiting()
      sparePool.onChange()
    }
  })
  return pool
}

export function createUpstreamSessions(options: UpstreamSessionsOptions): UpstreamSessions {
  const { name, mode, processSlots, sessionSlots, breaker, observer, sessionIdleMs } = options
  const opener = new SessionOpener(options)
  const shared = new SharedConnections(opener)
  const isSingleUse = usesSessionPerCall(options)
  const sparePool = isSingleUse ? createPool(options, opener) : null
  const meter = isSingleUse ? new StartMeter() : undefined
  opener.onOpened = (ms) => {
    sparePool?.recordOpened(ms)
    meter?.recordStart(ms)
  }
  const stateful = createStatefulSessions({
    name,
    sessionIdleMs,
    open: (request, timings) => opener.openStateful(request, timings),
    onEnd(connection) {
      if (sessionSlots) opener.releases.get(connection)?.()
    },
    onIdle: () => processSlots?.reclaimForWaiting()
  })
  const singleUse = new Set<Connection>()
  const openSingle = (request: SessionRequest): PendingConnection => {
    const timings = new ConnectTimings()
    timings.requester = request.observation ?? null
    const { call } = request
    return { connecting: opener.openOwn(request, timings, call && (() => !call.stopped)), timings }
  }
  const acquireSingle = (request: SessionRequest): Connection | Promise<Connection> => {
    const activate = (connection: Connection) => {
      // a spare or joined session was opened without this call's wishes for its session stream
      opener.openStreamIfNeeded(connection, request)
      const release = opener.releases.get(connection)
      if (release && request.holder !== undefined) processSlots?.assign(release, request.holder)
      singleUse.add(connection)
      sparePool?.recordTaken()
      return connection
    }
    const isLimited = request.holder !== undefined && processSlots?.isLimited(request.holder) === true
    const spareSession = request.mustBeFresh || isLimited ? undefined : sparePool?.take(request, request.sink)
    if (sparePool && !request.mustBeFresh) observer.onSessionTaken(name, spareSession !== undefined)
    if (spareSession) return activate(spareSession)
    const { connecting, timings } = (isLimited ? undefined : sparePool?.joinOpening(request)) ?? openSingle(request)
    request.observation?.markConnecting(timings)
    return connecting.then(activate)
  }
  const closeSingle = (connection: Connection) => {
    connection.close()
  }

  return {
    acquire(request) {
      if (!usesSharedConnection(options, request.era))
        return mode === 'stateless'
          ? acquireSingle(request)
          : stateful.acquire(mode === 'shared' ? ofAll(request) : request)
      breaker.assertClosed()
      return shared.acquire(request.era)
    },
    release(connection) {
      if (!singleUse.delete(connection)) return stateful.release(connection)
      setImmediate(closeSingle, connection)
      sparePool?.recordCallEnd()
    },
    findLongestIdle(pool, mayReclaim) {
      if (pool === sessionSlots) return stateful.findLongestIdle(mayReclaim)
      if (pool !== processSlots) return undefined
      const spareSession = mayReclaim(undefined) ? sparePool?.findLeastUsed() : undefined
      return spareSession ? { since: 0, close: spareSession.close } : stateful.findLongestIdle(mayReclaim)
    },
    notifyOwner: (owner, method) => stateful.notifyOwner(owner, method),
    closeOwner: (owner) => stateful.closeOwner(owner),
    counts() {
      const { open, idle } = stateful.counts()
      const spare = sparePool?.ready
      return { open: shared.ready.size + singleUse.size + open + (spare ?? 0), idle, spare }
    },
    meterFor: (era) => (meter && !usesSharedConnection(options, era) ? meter : undefined),
    startTimes: () => meter?.times(),
    discardSpareSessions: () => sparePool?.discard(),
    closeSparePool: () => sparePool?.close(),
    close() {
      opener.isClosed = true
      sparePool?.close()
      for (const connection of [...shared.ready.values(), ...singleUse]) connection.close()
      stateful.close()
    }
  }
}
