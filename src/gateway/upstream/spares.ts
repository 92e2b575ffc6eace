import { LRUCache } from 'lru-cache'
import type { Sink } from './call.ts'
import type { Connection, Era } from './connection.ts'
import { createPoolSizer, allocateSessions, type PoolSizer } from './demand.ts'
import { createWarmSession, type WarmSession, type WarmSessionOptions } from './spare.ts'
import { ConnectTimings } from './stages.ts'

/** Pool key of a warm session: era and the client capabilities declared in its handshake. */
export interface WarmPoolKey {
  readonly era: Era
  /** JSON text of the declared client capabilities. */
  readonly capabilities: string
}

/** A connection being opened, with its timings so far. */
export interface PendingConnection {
  readonly connecting: Promise<Connection>
  readonly timings: ConnectTimings
}

export interface WarmPoolOptions extends Pick<WarmSessionOptions, 'fingerprint'> {
  /** Limit of warm sessions, including those being opened. */
  readonly maxSize: number
  /** Milliseconds after the last matching call before a warm session is closed. */
  readonly idleMs: number
  /** Opens a session; undefined if no slot is free. Rejects with UpstreamFailure. */
  readonly open: (key: WarmPoolKey, stages: ConnectTimings) => Promise<Connection> | undefined
  /** Runs the opening when it is this pool's turn. */
  readonly runInTurn: (work: () => Promise<void>) => Promise<void>
  /** True if the upstream may be contacted without a call that needs it. */
  readonly isAvailable: () => boolean
  /** Called when a warm session was added (`isReady`) or removed. */
  readonly onChange: (isReady: boolean) => void
}

/**
 * Warm pool of one upstream: sessions opened ahead of the calls that will use and then close them. They are opened
 * after calls, for the next ones.
 */
export interface WarmPool {
  readonly ready: number
  /**
   * Returns a warm session for a call with that key, undefined if none is ready. `sink` answers the requests that the
   * upstream has sent so far.
   */
  take(key: WarmPoolKey, sink: Sink): Connection | undefined
  /** Returns a session being opened, for a call that found none ready. */
  joinOpening(key: WarmPoolKey): PendingConnection | undefined
  /** Records that a session was opened in so many milliseconds, by the pool or by a call: the upstream is reachable. */
  recordOpened(ms: number): void
  /** Records that a call has its session; replacing it earlier would compete with the call's own connect. */
  recordTaken(): void
  /** Records that a call has ended: time to replace its session. */
  recordCallEnd(): void
  /** Closes all warm sessions, because the upstream or the way to reach it has changed. */
  discard(): void
  /** Returns the warm session with the least load on its key, if any. */
  findLeastUsed(): WarmSession | undefined
  close(): void
}

/** A warm session being opened, or waiting for its turn. */
interface PendingSession {
  readonly generation: number
  connection: PendingConnection | null
  isTaken: boolean
}

interface PoolGroup extends WarmPoolKey {
  readonly sizer: PoolSizer
  readonly ready: Set<WarmSession>
  readonly openings: Set<PendingSession>
}

/** Delay before the session of a long call is replaced while the call still runs. */
const REPLACE_DELAY_MS = 100
/** Delay after finding no free slot, in which used processes can end. */
const NO_SLOT_MS = 500
/** Access tokens and programs change without notice, so the pool is checked at least this often. */
const MAX_REBALANCE_MS = 10_000
/** Limit of pool keys; a caller whose capabilities change with every call gets no warm sessions. */
const MAX_GROUPS = 16
const MAX_CAPABILITIES = 4_096

const keyOf = ({ era, capabilities }: WarmPoolKey) => `${era} ${capabilities}`
const countSessions = ({ ready, openings }: PoolGroup) => ready.size + openings.size

export function createWarmPool(options: WarmPoolOptions): WarmPool {
  const { maxSize, idleMs, open, runInTurn, isAvailable, fingerprint, onChange } = options
  const closeReady = ({ ready }: PoolGroup) => {
    for (const session of ready) session.close()
  }
  /** By pool key. A group that is evicted or deleted closes its warm sessions. */
  const groups = new LRUCache<string, PoolGroup>({ max: MAX_GROUPS, disposeAfter: closeReady })
  let openMs = 0
  let generation = 0
  /**
   * True after a failed opening or the death of a warm session: no more are opened until a call, which has to connect
   * anyway, succeeds.
   */
  let isSuspect = false
  let isClosed = false
  let timer: NodeJS.Timeout | undefined
  let dueAt = Infinity

  const schedule = (ms: number) => {
    const at = performance.now() + ms
    if (isClosed || at >= dueAt) return
    clearTimeout(timer)
    dueAt = at
    timer = setTimeout(rebalance, ms).unref()
  }
  const groupOf = (poolKey: WarmPoolKey): PoolGroup => {
    const { era, capabilities } = poolKey
    const key = keyOf(poolKey)
    const known = groups.get(key)
    if (known) return known
    const sizer = createPoolSizer(maxSize, idleMs)
    const group: PoolGroup = { era, capabilities, sizer, ready: new Set(), openings: new Set() }
    groups.set(key, group)
    return group
  }

  const addReady = (group: PoolGroup, connection: Connection) => {
    const session = createWarmSession(connection, {
      acceptsRequests: group.capabilities !== '{}',
      fingerprint,
      onRemoved(hasDied) {
        group.ready.delete(session)
        isSuspect ||= hasDied
        onChange(false)
      }
    })
    group.ready.add(session)
    onChange(true)
  }
  const openOne = async (group: PoolGroup, pending: PendingSession) => {
    const isNeeded = () => !isClosed && pending.generation === generation && [...groups.values()].includes(group)
    if (!isNeeded()) return
    const before = fingerprint()
    const isSame = () => before === undefined || before === fingerprint()
    const timings = new ConnectTimings()
    const connecting = open(group, timings)
    if (!connecting) return schedule(NO_SLOT_MS)
    pending.connection = { connecting, timings }
    const connection = await connecting
    if (pending.isTaken) return
    if (connection.closed) isSuspect = true
    else if (isNeeded() && isSame()) return addReady(group, connection)
    connection.close()
    schedule(REPLACE_DELAY_MS)
  }
  const startOpening = async (group: PoolGroup) => {
    const pending: PendingSession = { generation, connection: null, isTaken: false }
    group.openings.add(pending)
    try {
      await runInTurn(() => openOne(group, pending))
    } catch {
      isSuspect = true
    } finally {
      group.openings.delete(pending)
    }
  }
  const removeExpired = (now: number) => {
    for (const [key, group] of [...groups.entries()]) {
      if (group.sizer.expiresAt <= now) groups.delete(key)
      for (const session of group.ready) if (!session.isUsable) session.close()
    }
  }
  const openMissing = (all: readonly PoolGroup[], allocation: readonly number[]) => {
    let remaining = maxSize - all.reduce((sum, group) => sum + countSessions(group), 0)
    for (const [at, group] of all.entries()) {
      for (; countSessions(group) < allocation[at]! && remaining > 0; remaining--) void startOpening(group)
    }
  }
  function rebalance(): void {
    dueAt = Infinity
    const now = performance.now()
    removeExpired(now)
    // least recently used first
    const all = [...groups.values()].toReversed()
    const allocation = allocateSessions(
      all.map((group) => ({ ...group.sizer.targetAt(now), count: countSessions(group) })),
      maxSize
    )
    for (const [at, { ready }] of all.entries()) for (const session of [...ready].slice(allocation[at])) session.close()
    if (!isSuspect && isAvailable()) openMissing(all, allocation)
    if (all.length > 0) schedule(Math.min(MAX_REBALANCE_MS, ...all.map(({ sizer }) => sizer.expiresAt - now)))
  }

  const takeReady = ({ ready }: PoolGroup, sink: Sink): Connection | undefined => {
    for (const session of ready) {
      if (session.isUsable) return session.take(sink)
      session.close()
    }
    return undefined
  }
  return {
    get ready() {
      let sum = 0
      for (const { ready } of groups.values()) sum += ready.size
      return sum
    },
    take(key, sink) {
      if (isClosed || key.capabilities.length > MAX_CAPABILITIES) return undefined
      const group = groupOf(key)
      group.sizer.recordCall(performance.now(), REPLACE_DELAY_MS + openMs)
      return takeReady(group, sink)
    },
    joinOpening(key) {
      const openings = groups.peek(keyOf(key))?.openings ?? new Set<PendingSession>()
      const pending = [...openings].find((each) => each.connection && each.generation === generation)
      if (!pending) return undefined
      pending.isTaken = true
      openings.delete(pending)
      return pending.connection!
    },
    recordOpened(ms) {
      isSuspect = false
      openMs = openMs === 0 ? ms : openMs * 0.7 + ms * 0.3
    },
    recordTaken: () => schedule(REPLACE_DELAY_MS),
    recordCallEnd: () => schedule(0),
    discard() {
      generation++
      for (const group of groups.values()) closeReady(group)
      if (groups.size > 0) schedule(REPLACE_DELAY_MS)
    },
    findLeastUsed() {
      const now = performance.now()
      const full = [...groups.values()].filter(({ ready }) => ready.size > 0)
      const [least] = full.sort((a, b) => a.sizer.targetAt(now).load - b.sizer.targetAt(now).load)
      return least?.ready.values().next().value
    },
    close() {
      isClosed = true
      clearTimeout(timer)
      groups.clear()
    }
  }
}
