import { LRUCache } from 'lru-cache'
import type { Sink } from '../transport/call.ts'
import { acceptsRequests } from '../transport/capability-filter.ts'
import type { Connection, Era } from '../transport/connection.ts'
import { createPoolSizer, allocateSessions, type PoolSizer } from './spare-pool-sizing.ts'
import { createSpareSession, type SpareSession, type SpareSessionOptions } from './spare-session.ts'
import { ConnectTimings } from '../../observe/connect-timings.ts'

/** Pool key of a spare session: era and the client capabilities declared in its handshake. */
export interface SparePoolKey {
  readonly era: Era
  /** JSON text of the declared client capabilities. */
  readonly capabilities: string
}

/** A connection being opened, with its timings so far. */
export interface PendingConnection {
  readonly connecting: Promise<Connection>
  readonly timings: ConnectTimings
}

export interface SparePoolOptions extends Pick<SpareSessionOptions, 'fingerprint'> {
  /** Limit of spare sessions, including those being opened. */
  readonly maxSize: number
  /** Milliseconds after the last matching call before a spare session is closed. */
  readonly spareIdleMs: number
  /** Opens a session; undefined if no slot is free. Rejects with UpstreamFailure. */
  readonly open: (key: SparePoolKey, stages: ConnectTimings) => Promise<Connection> | undefined
  /** Runs the opening when it is this pool's turn. */
  readonly runInTurn: (work: () => Promise<void>) => Promise<void>
  /** True if the upstream may be contacted without a call that needs it. */
  readonly isAvailable: () => boolean
  /** Called when a spare session was added (`isReady`) or removed. */
  readonly onChange: (isReady: boolean) => void
}

/**
 * Spare pool of one upstream: sessions opened ahead of the calls that will use and then close them. They are opened
 * after calls, for the next ones.
 */
export interface SparePool {
  readonly ready: number
  /**
   * Returns a spare session for a call with that key, undefined if none is ready. `sink` answers the requests that the
   * upstream has sent so far.
   */
  take(key: SparePoolKey, sink: Sink): Connection | undefined
  /** Returns a session being opened, for a call that found none ready. */
  joinOpening(key: SparePoolKey): PendingConnection | undefined
  /** Records that a session was opened in so many milliseconds, by the pool or by a call: the upstream is reachable. */
  recordOpened(ms: number): void
  /** Records that a call has its session; replacing it earlier would compete with the call's own connect. */
  recordTaken(): void
  /** Records that a call has ended: time to replace its session. */
  recordCallEnd(): void
  /** Closes all spare sessions, because the upstream or the way to reach it has changed. */
  discard(): void
  /** Returns the oldest spare session of the key with the least load, of equal ones the least recently used; if any. */
  findLeastUsed(): SpareSession | undefined
  close(): void
}

/** A spare session being opened, or waiting for its turn. */
interface PendingSession {
  readonly generation: number
  connection: PendingConnection | null
  isTaken: boolean
}

interface PoolGroup extends SparePoolKey {
  readonly sizer: PoolSizer
  readonly ready: Set<SpareSession>
  readonly openings: Set<PendingSession>
}

/** Delay before the session of a long call is replaced while the call still runs. */
const REPLACE_DELAY_MS = 100
/** Delay after finding no free slot, in which used processes can end. */
const NO_SLOT_MS = 500
/** Access tokens and programs change without notice, so the pool is checked at least this often. */
const MAX_REBALANCE_MS = 10_000
/** Limit of pool keys; a caller whose capabilities change with every call gets no spare sessions. */
const MAX_GROUPS = 16
const MAX_CAPABILITIES = 4_096

const keyOf = ({ era, capabilities }: SparePoolKey) => `${era} ${capabilities}`
const countSessions = ({ ready, openings }: PoolGroup) => ready.size + openings.size

export const createSparePool = (options: SparePoolOptions): SparePool => new GroupedSparePool(options)

class GroupedSparePool implements SparePool {
  readonly #options: SparePoolOptions
  /** By pool key. A group that is evicted or deleted closes its spare sessions. */
  readonly #groups = new LRUCache<string, PoolGroup>({ max: MAX_GROUPS, disposeAfter: closeReady })
  /** Moving average of the milliseconds that opening a session takes. */
  #openMs = 0
  /** Number of times that all sessions were discarded; a session of an earlier generation is not used. */
  #generation = 0
  /**
   * True after a failed opening or the death of a spare session: no more are opened until a call, which has to connect
   * anyway, succeeds.
   */
  #isSuspect = false
  #isClosed = false
  #timer: NodeJS.Timeout | undefined
  #dueAt = Infinity

  constructor(options: SparePoolOptions) {
    this.#options = options
  }

  get ready(): number {
    let sum = 0
    for (const { ready } of this.#groups.values()) sum += ready.size
    return sum
  }

  take(key: SparePoolKey, sink: Sink): Connection | undefined {
    if (this.#isClosed || key.capabilities.length > MAX_CAPABILITIES) return undefined
    const group = this.#groupOf(key)
    group.sizer.recordCall(performance.now(), REPLACE_DELAY_MS + this.#openMs)
    return takeReady(group, sink)
  }

  joinOpening(key: SparePoolKey): PendingConnection | undefined {
    const openings = this.#groups.peek(keyOf(key))?.openings ?? new Set<PendingSession>()
    const pending = [...openings].find((each) => each.connection && each.generation === this.#generation)
    if (!pending) return undefined
    pending.isTaken = true
    openings.delete(pending)
    return pending.connection!
  }

  recordOpened(ms: number): void {
    this.#isSuspect = false
    this.#openMs = this.#openMs === 0 ? ms : this.#openMs * 0.7 + ms * 0.3
  }

  recordTaken(): void {
    this.#schedule(REPLACE_DELAY_MS)
  }

  recordCallEnd(): void {
    this.#schedule(0)
  }

  discard(): void {
    this.#generation++
    for (const group of this.#groups.values()) closeReady(group)
    if (this.#groups.size > 0) this.#schedule(REPLACE_DELAY_MS)
  }

  findLeastUsed(): SpareSession | undefined {
    const now = performance.now()
    // least recently used first, which decides between equal loads
    const full = [...this.#groups.values()].toReversed().filter(({ ready }) => ready.size > 0)
    const [least] = full.sort((a, b) => a.sizer.targetAt(now).load - b.sizer.targetAt(now).load)
    return least?.ready.values().next().value
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
    this.#groups.clear()
  }

  #groupOf(poolKey: SparePoolKey): PoolGroup {
    const { era, capabilities } = poolKey
    const { maxSize, spareIdleMs } = this.#options
    const key = keyOf(poolKey)
    const known = this.#groups.get(key)
    if (known) return known
    const sizer = createPoolSizer(maxSize, spareIdleMs)
    const group: PoolGroup = { era, capabilities, sizer, ready: new Set(), openings: new Set() }
    this.#groups.set(key, group)
    return group
  }

  #schedule(ms: number): void {
    const at = performance.now() + ms
    if (this.#isClosed || at >= this.#dueAt) return
    clearTimeout(this.#timer)
    this.#dueAt = at
    this.#timer = setTimeout(() => this.#rebalance(), ms).unref()
  }

  #rebalance(): void {
    this.#dueAt = Infinity
    const now = performance.now()
    this.#removeExpired(now)
    // least recently used first
    const all = [...this.#groups.values()].toReversed()
    const allocation = allocateSessions(
      all.map((group) => ({ ...group.sizer.targetAt(now), count: countSessions(group) })),
      this.#options.maxSize
    )
    for (const [at, { ready }] of all.entries()) for (const session of [...ready].slice(allocation[at])) session.close()
    if (!this.#isSuspect && this.#options.isAvailable()) this.#openMissing(all, allocation)
    if (all.length > 0) this.#schedule(Math.min(MAX_REBALANCE_MS, ...all.map(({ sizer }) => sizer.expiresAt - now)))
  }

  #removeExpired(now: number): void {
    for (const [key, group] of [...this.#groups.entries()]) {
      if (group.sizer.expiresAt <= now) this.#groups.delete(key)
      for (const session of group.ready) if (!session.isUsable) session.close()
    }
  }

  #openMissing(all: readonly PoolGroup[], allocation: readonly number[]): void {
    let remaining = this.#options.maxSize - all.reduce((sum, group) => sum + countSessions(group), 0)
    for (const [at, group] of all.entries()) {
      for (; countSessions(group) < allocation[at]! && remaining > 0; remaining--) void this.#startOpening(group)
    }
  }

  async #startOpening(group: PoolGroup): Promise<void> {
    const pending: PendingSession = { generation: this.#generation, connection: null, isTaken: false }
    group.openings.add(pending)
    try {
      await this.#options.runInTurn(() => this.#openOne(group, pending))
    } catch {
      this.#isSuspect = true
    } finally {
      group.openings.delete(pending)
    }
  }

  async #openOne(group: PoolGroup, pending: PendingSession): Promise<void> {
    const { open, fingerprint } = this.#options
    if (!this.#isNeeded(group, pending)) return
    const before = fingerprint()
    const isSame = () => before === undefined || before === fingerprint()
    const timings = new ConnectTimings()
    const connecting = open(group, timings)
    if (!connecting) return this.#schedule(NO_SLOT_MS)
    pending.connection = { connecting, timings }
    const connection = await connecting
    if (pending.isTaken) return
    if (connection.closed) this.#isSuspect = true
    else if (this.#isNeeded(group, pending) && isSame()) return this.#addReady(group, connection)
    connection.close()
    this.#schedule(REPLACE_DELAY_MS)
  }

  #isNeeded(group: PoolGroup, { generation }: PendingSession): boolean {
    return !this.#isClosed && generation === this.#generation && [...this.#groups.values()].includes(group)
  }

  #addReady(group: PoolGroup, connection: Connection): void {
    const { fingerprint, onChange } = this.#options
    const session = createSpareSession(connection, {
      acceptsRequests: acceptsRequests(group.capabilities),
      fingerprint,
      onRemoved: (hasDied) => {
        group.ready.delete(session)
        this.#isSuspect ||= hasDied
        onChange(false)
      }
    })
    group.ready.add(session)
    onChange(true)
  }
}

function takeReady({ ready }: PoolGroup, sink: Sink): Connection | undefined {
  for (const session of ready) {
    if (session.isUsable) return session.take(sink)
    session.close()
  }
  return undefined
}

function closeReady({ ready }: PoolGroup): void {
  for (const session of ready) session.close()
}
