import { MAX_TIMER_MS } from '../domain/timers.ts'
import type { UpstreamOffer, StoredServer } from '../registry/model.ts'
import type { Catalog } from './catalog.ts'

export interface RefresherOptions {
  /** Milliseconds between re-reads of each enabled server's lists; 0: no periodic reads, and none after the start. */
  readonly intervalMs: number
  catalog(): Catalog
  /** Claims a read; false if this or another replica began to read the lists in the last `withinMs` milliseconds. */
  claim(stored: StoredServer, withinMs: number): Promise<boolean>
  /** Reads an upstream's lists. */
  read(stored: StoredServer): Promise<UpstreamOffer>
  /** Stores the lists; writes nothing if they are unchanged. */
  store(stored: StoredServer, offer: UpstreamOffer): Promise<{ readonly unchanged: boolean }>
  /** Called after each requested read, whether it succeeded or not. */
  readonly onRead?: (stored: StoredServer) => void
  readonly log: { warn(details: object, text: string): void }
}

/** Keeps the lists of upstreams fresh in the background (http-contract.md#registration-input). */
export interface Refresher {
  /** Reads the lists of all servers except stdio ones, which are read when their process runs (`refreshIfStale`). */
  start(): void
  /**
   * Reads the lists of a stdio server if they are older than the start; called when its process runs or is about to.
   */
  refreshIfStale(id: string): void
  /**
   * Re-reads a server's lists soon, after its `list_changed` notification. Requests in quick succession are combined.
   * For a server that notifies during every read, the delay doubles up to five seconds.
   */
  requestRefresh(id: string): void
  /**
   * Re-reads after a notification that may be meaningless: many servers announce their lists at the start of each
   * session. Each read without a difference doubles the delay of the next, up to a minute.
   */
  suggestRefresh(id: string): void
  /** Adapts timers and state to the servers in the catalog; to be called when the catalog has changed. */
  reviewServers(): void
  close(): void
}

/** A scheduled re-read. */
interface PendingRefresh {
  readonly timer: NodeJS.Timeout
  readonly isRequest: boolean
  /** `performance.now()` of the latest notification: a read that began later already covers it. */
  notifiedAt: number
}

const DELAY_MS = 100
/** Reading, storing and serving ten thousand new items in a loop would keep the gateway busy. */
const MAX_DELAY_MS = 5_000
const CONCURRENCY = 4
/** Minimum for the lifetime that an upstream declares for its lists. */
const MIN_TTL_MS = 10_000
const FIRST_SUGGESTION_DELAY_MS = 1_000
const MAX_SUGGESTION_DELAY_MS = 60_000
/** Delays the first re-read until the start has finished; a random part keeps replicas apart. */
const START_DELAY_MS = 250
/** Milliseconds per server of the random part of the delay. */
const SPREAD_MS = 20
const MAX_SPREAD_MS = 5_000
/** A read that another replica began slightly early counts as well. */
const claimWindow = (ms: number) => ms * 0.9

export function createRefresher(options: RefresherOptions): Refresher {
  const { intervalMs, catalog, claim, read, store, onRead, log } = options
  const requested = new Map<string, PendingRefresh>()
  const running = new Set<string>()
  /** Lifetimes in milliseconds that servers last declared for their lists, and the timers for their ends. */
  const ttls = new Map<string, number>()
  const expiryTimers = new Map<string, NodeJS.Timeout>()
  /** Delays after a suggestion, for servers whose last suggested read found no difference. */
  const suggestionDelays = new Map<string, number>()
  /** Stdio servers whose lists are older than the start. */
  const staleProcesses = new Set<string>()
  let startedAt = 0
  /** Delays of the last requests, and times at which the last reads ended. */
  const requestDelays = new Map<string, number>()
  const lastReadEnds = new Map<string, number>()
  let timer: NodeJS.Timeout | null = null
  let isClosed = false

  const findEnabled = (id: string) =>
    catalog().servers.find((server) => server.stored.id === id && server.enabled)?.stored
  /** Reads and stores a server's lists. Returns whether they differed; undefined if they were not read or stored. */
  const refresh = async (stored: StoredServer, withinMs: number): Promise<boolean | undefined> => {
    const { id, name } = stored
    if (running.has(id)) return undefined
    running.add(id)
    staleProcesses.delete(id)
    try {
      if (!(await claim(stored, withinMs)) || isClosed) return undefined
      const offer = await read(stored)
      if (isClosed) return undefined
      ttls.set(id, offer.verdict.listTtlMs ?? 0)
      return !(await store(stored, offer)).unchanged
    } catch (error) {
      if (!isClosed) log.warn({ err: error, server: name }, 'the lists of a server could not be refreshed')
      return undefined
    } finally {
      running.delete(id)
      lastReadEnds.set(id, performance.now())
      scheduleExpiry(stored)
    }
  }

  const enabledServers = () => catalog().servers.flatMap((server) => (server.enabled ? [server.stored] : []))
  /** Reads servers with a few workers, so that a slow upstream blocks only one of them. */
  const readAll = async (servers: readonly StoredServer[], withinMs: () => number) => {
    const queue = servers.map(({ id }) => id)
    const work = async () => {
      for (let id = queue.shift(); id !== undefined && !isClosed; id = queue.shift()) {
        const stored = findEnabled(id)
        if (stored) await refresh(stored, withinMs())
      }
    }
    await Promise.all(Array.from({ length: CONCURRENCY }, work))
  }
  const round = () => readAll(enabledServers(), () => claimWindow(intervalMs))
  const schedule = () => {
    timer = setTimeout(() => void round().finally(schedule), intervalMs).unref()
    if (isClosed) clearTimeout(timer)
  }
  /** Skips servers that another replica has begun to read since this one started. */
  const firstRound = () =>
    readAll(
      enabledServers().filter(({ transport }) => transport !== 'stdio'),
      () => performance.now() - startedAt
    )
  const scheduleFirstRound = () => {
    startedAt = performance.now()
    const servers = enabledServers()
    for (const { id, transport } of servers) if (transport === 'stdio') staleProcesses.add(id)
    const spread = Math.random() * Math.min(MAX_SPREAD_MS, SPREAD_MS * servers.length)
    timer = setTimeout(() => void firstRound().finally(schedule), START_DELAY_MS + spread).unref()
  }

  const refreshExpired = (id: string, afterMs: number) => {
    expiryTimers.delete(id)
    const stored = findEnabled(id)
    if (stored) void refresh(stored, claimWindow(afterMs))
  }
  /** Schedules a re-read for the end of the lifetime that the server declared for its lists, if any. */
  function scheduleExpiry({ id, verdict }: StoredServer): void {
    const ttlMs = ttls.get(id) ?? verdict?.listTtlMs ?? 0
    if (isClosed || ttlMs === 0 || expiryTimers.has(id)) return
    const afterMs = Math.min(Math.max(ttlMs, MIN_TTL_MS), MAX_TIMER_MS)
    expiryTimers.set(id, setTimeout(refreshExpired, afterMs, id, afterMs).unref())
  }
  const review = () => {
    const known = new Map(catalog().servers.flatMap(({ enabled, stored }) => (enabled ? [[stored.id, stored]] : [])))
    for (const [id, pending] of expiryTimers) {
      if (known.has(id)) continue
      clearTimeout(pending)
      expiryTimers.delete(id)
    }
    for (const state of [ttls, suggestionDelays, staleProcesses, requestDelays, lastReadEnds]) {
      for (const id of state.keys()) if (!known.has(id)) state.delete(id)
    }
    for (const stored of known.values()) scheduleExpiry(stored)
  }

  const updateSuggestionDelay = (id: string, isDifferent: boolean | undefined) => {
    if (isDifferent === undefined) return
    const next = Math.min((suggestionDelays.get(id) ?? FIRST_SUGGESTION_DELAY_MS / 2) * 2, MAX_SUGGESTION_DELAY_MS)
    if (isDifferent) suggestionDelays.delete(id)
    else suggestionDelays.set(id, next)
  }
  /** Performs a scheduled re-read. A read in progress may have missed the change, so the request waits for its end. */
  const runPending = async (id: string) => {
    const { isRequest, notifiedAt } = requested.get(id)!
    requested.delete(id)
    if (running.has(id)) return schedulePending(id, isRequest, DELAY_MS, notifiedAt)
    const stored = findEnabled(id)
    if (!stored) return
    const isDifferent = await refresh(stored, performance.now() - notifiedAt)
    if (!isRequest) updateSuggestionDelay(id, isDifferent)
    else if (!isClosed) onRead?.(stored)
  }
  function schedulePending(id: string, isRequest: boolean, delayMs: number, notifiedAt = performance.now()): void {
    const pending = requested.get(id)
    if (isClosed) return
    if (pending && (pending.isRequest || !isRequest))
      return void (pending.notifiedAt = Math.max(pending.notifiedAt, notifiedAt))
    if (pending) clearTimeout(pending.timer)
    const begin = setTimeout((due: string) => void runPending(due), delayMs, id).unref()
    requested.set(id, { timer: begin, isRequest, notifiedAt })
  }
  const requestRefresh = (id: string) => {
    const last = requestDelays.get(id) ?? 0
    const isRepeated = running.has(id) || performance.now() - (lastReadEnds.get(id) ?? -Infinity) < 2 * last
    const delayMs = isRepeated ? Math.min(Math.max(2 * last, DELAY_MS), MAX_DELAY_MS) : DELAY_MS
    if (!requested.get(id)?.isRequest) requestDelays.set(id, delayMs)
    schedulePending(id, true, delayMs)
  }
  return {
    start() {
      if (intervalMs > 0) scheduleFirstRound()
      review()
    },
    refreshIfStale(id) {
      if (staleProcesses.delete(id)) schedulePending(id, true, DELAY_MS, startedAt)
    },
    requestRefresh,
    suggestRefresh: (id) => schedulePending(id, false, suggestionDelays.get(id) ?? DELAY_MS),
    reviewServers: review,
    close() {
      isClosed = true
      if (timer) clearTimeout(timer)
      for (const pending of requested.values()) clearTimeout(pending.timer)
      for (const pending of expiryTimers.values()) clearTimeout(pending)
      requested.clear()
      expiryTimers.clear()
    }
  }
}
