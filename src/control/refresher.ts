import { MAX_TIMER_MS } from '../domain/timers.ts'
import type { UpstreamOffer, StoredServer } from '../registry/model/model.ts'
import type { Catalog } from '../catalog/catalog.ts'

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
   * For a server that notifies during every read, or soon after it, the delay doubles up to twenty times what the last
   * read took: at least five seconds, at most a minute.
   */
  requestRefresh(id: string): void
  /**
   * Re-reads after a notification that may be meaningless: many servers announce their lists at the start of each
   * session. Each read without a difference doubles the delay of the next, up to a minute; after a difference it is
   * twenty times what the read took.
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
/** Longest delay after a notification, for a server whose lists are read fast */
const MAX_DELAY_MS = 5_000
/**
 * The same as a multiple of what the last read took, for the others: reading, storing and serving ten thousand new items
 * in a loop would keep the gateway busy. It ends at `LONGEST_DELAY_MS`.
 */
const MAX_DELAY_PER_READ = 20
const LONGEST_DELAY_MS = 60_000
const CONCURRENCY = 4
/** Minimum for the lifetime that an upstream declares for its lists. */
const MIN_TTL_MS = 10_000
const FIRST_SUGGESTION_DELAY_MS = 1_000
/** Delays the first re-read until the start has finished; a random part keeps replicas apart. */
const START_DELAY_MS = 250
/** Milliseconds per server of the random part of the delay. */
const SPREAD_MS = 20
const MAX_SPREAD_MS = 5_000
/** A read that another replica began slightly early counts as well. */
const claimWindow = (ms: number) => ms * 0.9

export const createRefresher = (options: RefresherOptions): Refresher => new ListRefresher(options)

class ListRefresher implements Refresher {
  readonly #options: RefresherOptions
  readonly #requested = new Map<string, PendingRefresh>()
  readonly #running = new Set<string>()
  /** Lifetimes in milliseconds that servers last declared for their lists, and the timers for their ends. */
  readonly #ttls = new Map<string, number>()
  readonly #expiryTimers = new Map<string, NodeJS.Timeout>()
  /** Delays after a suggestion, for servers whose last suggested read found no difference. */
  readonly #suggestionDelays = new Map<string, number>()
  /** Stdio servers whose lists are older than the start. */
  readonly #staleProcesses = new Set<string>()
  #startedAt = 0
  /** Delays of the last requests, and when the last reads ended and how long they took, in milliseconds. */
  readonly #requestDelays = new Map<string, number>()
  readonly #lastReads = new Map<string, { readonly end: number; readonly ms: number }>()
  #timer: NodeJS.Timeout | null = null
  #isClosed = false

  constructor(options: RefresherOptions) {
    this.#options = options
  }

  start(): void {
    if (this.#options.intervalMs > 0) this.#scheduleFirstRound()
    this.reviewServers()
  }

  refreshIfStale(id: string): void {
    if (this.#staleProcesses.delete(id)) this.#schedulePending(id, true, DELAY_MS, this.#startedAt)
  }

  requestRefresh(id: string): void {
    const last = this.#requestDelays.get(id) ?? 0
    const lastEnd = this.#lastReads.get(id)?.end ?? -Infinity
    const longest = Math.max(MAX_DELAY_MS, this.#delayByCost(id))
    // a server that waits for the end of a shorter time would be read without pause
    const isRepeated = this.#running.has(id) || performance.now() - lastEnd < Math.max(2 * last, longest)
    const delayMs = isRepeated ? Math.min(Math.max(2 * last, DELAY_MS), longest) : DELAY_MS
    if (!this.#requested.get(id)?.isRequest) this.#requestDelays.set(id, delayMs)
    this.#schedulePending(id, true, delayMs)
  }

  suggestRefresh(id: string): void {
    this.#schedulePending(id, false, this.#suggestionDelays.get(id) ?? DELAY_MS)
  }

  reviewServers(): void {
    const enabled = new Map(this.#enabled().map((stored) => [stored.id, stored]))
    for (const [id, pending] of this.#expiryTimers) {
      if (enabled.has(id)) continue
      clearTimeout(pending)
      this.#expiryTimers.delete(id)
    }
    for (const state of [this.#ttls, this.#staleProcesses])
      for (const id of state.keys()) if (!enabled.has(id)) state.delete(id)
    // the delays of a disabled server are kept: it is no better when it is enabled again
    const known = new Set(this.#options.catalog().servers.map(({ stored }) => stored.id))
    for (const state of [this.#suggestionDelays, this.#requestDelays, this.#lastReads])
      for (const id of state.keys()) if (!known.has(id)) state.delete(id)
    for (const stored of enabled.values()) this.#scheduleExpiry(stored)
  }

  close(): void {
    this.#isClosed = true
    if (this.#timer) clearTimeout(this.#timer)
    for (const pending of this.#requested.values()) clearTimeout(pending.timer)
    for (const pending of this.#expiryTimers.values()) clearTimeout(pending)
    this.#requested.clear()
    this.#expiryTimers.clear()
  }

  #enabled(): StoredServer[] {
    return this.#options.catalog().servers.flatMap((server) => (server.enabled ? [server.stored] : []))
  }

  #current(id: string): StoredServer | undefined {
    return this.#options.catalog().servers.find((server) => server.stored.id === id && server.enabled)?.stored
  }

  #lastReadMs(id: string): number {
    return this.#lastReads.get(id)?.ms ?? 0
  }

  #delayByCost(id: string): number {
    return Math.min(MAX_DELAY_PER_READ * this.#lastReadMs(id), LONGEST_DELAY_MS)
  }

  /** Reads and stores a server's lists. Returns true if they differed; undefined if they were not read or stored. */
  async #refresh(stored: StoredServer, withinMs: number): Promise<boolean | undefined> {
    const { claim, read, store, log } = this.#options
    const { id, name } = stored
    if (this.#running.has(id)) return undefined
    this.#running.add(id)
    this.#staleProcesses.delete(id)
    let begun: number | undefined
    try {
      if (!(await claim(stored, withinMs)) || this.#isClosed) return undefined
      begun = performance.now()
      const offer = await read(stored)
      if (this.#isClosed) return undefined
      this.#ttls.set(id, offer.negotiation.listTtlMs ?? 0)
      return !(await store(stored, offer)).unchanged
    } catch (error) {
      if (!this.#isClosed) log.warn({ err: error, server: name }, 'the lists of a server could not be refreshed')
      return undefined
    } finally {
      this.#running.delete(id)
      const end = performance.now()
      this.#lastReads.set(id, { end, ms: begun === undefined ? this.#lastReadMs(id) : end - begun })
      this.#scheduleExpiry(stored)
    }
  }

  #scheduleFirstRound(): void {
    this.#startedAt = performance.now()
    const servers = this.#enabled()
    for (const { id, transport } of servers) if (transport === 'stdio') this.#staleProcesses.add(id)
    const spread = Math.random() * Math.min(MAX_SPREAD_MS, SPREAD_MS * servers.length)
    const firstRound = () => void this.#firstRound().finally(() => this.#scheduleRound())
    this.#timer = setTimeout(firstRound, START_DELAY_MS + spread).unref()
  }

  #scheduleRound(): void {
    const round = () => void this.#round().finally(() => this.#scheduleRound())
    this.#timer = setTimeout(round, this.#options.intervalMs).unref()
    if (this.#isClosed) clearTimeout(this.#timer)
  }

  /** Skips servers that another replica has begun to read since this one started. */
  #firstRound(): Promise<void> {
    return this.#readAll(
      this.#enabled().filter(({ transport }) => transport !== 'stdio'),
      () => performance.now() - this.#startedAt
    )
  }

  #round(): Promise<void> {
    return this.#readAll(this.#enabled(), () => claimWindow(this.#options.intervalMs))
  }

  /** Reads servers with a few workers, so that a slow upstream blocks only one of them. */
  async #readAll(servers: readonly StoredServer[], withinMs: () => number): Promise<void> {
    const queue = servers.map(({ id }) => id)
    const work = async () => {
      for (let id = queue.shift(); id !== undefined && !this.#isClosed; id = queue.shift()) {
        const stored = this.#current(id)
        if (stored) await this.#refresh(stored, withinMs())
      }
    }
    await Promise.all(Array.from({ length: CONCURRENCY }, work))
  }

  /** Schedules a re-read for the end of the lifetime that the server declared for its lists, if any. */
  #scheduleExpiry({ id, negotiation }: StoredServer): void {
    const ttlMs = this.#ttls.get(id) ?? negotiation?.listTtlMs ?? 0
    if (this.#isClosed || ttlMs === 0 || this.#expiryTimers.has(id)) return
    const afterMs = Math.min(Math.max(ttlMs, MIN_TTL_MS), MAX_TIMER_MS)
    this.#expiryTimers.set(id, setTimeout(() => this.#refreshExpired(id, afterMs), afterMs).unref())
  }

  #refreshExpired(id: string, afterMs: number): void {
    this.#expiryTimers.delete(id)
    const stored = this.#current(id)
    if (stored) void this.#refresh(stored, claimWindow(afterMs))
  }

  #schedulePending(id: string, isRequest: boolean, delayMs: number, notifiedAt = performance.now()): void {
    const pending = this.#requested.get(id)
    if (this.#isClosed) return
    if (pending && (pending.isRequest || !isRequest))
      return void (pending.notifiedAt = Math.max(pending.notifiedAt, notifiedAt))
    if (pending) clearTimeout(pending.timer)
    const timer = setTimeout(() => void this.#runPending(id), delayMs).unref()
    this.#requested.set(id, { timer, isRequest, notifiedAt })
  }

  /** Performs a scheduled re-read. A read in progress may have missed the change, so the request waits for its end. */
  async #runPending(id: string): Promise<void> {
    const { isRequest, notifiedAt } = this.#requested.get(id)!
    this.#requested.delete(id)
    if (this.#running.has(id)) return this.#schedulePending(id, isRequest, DELAY_MS, notifiedAt)
    const stored = this.#current(id)
    if (!stored) return
    const isDifferent = await this.#refresh(stored, performance.now() - notifiedAt)
    if (!isRequest) this.#updateSuggestionDelay(id, isDifferent)
    else if (!this.#isClosed) this.#options.onRead?.(stored)
  }

  #updateSuggestionDelay(id: string, isDifferent: boolean | undefined): void {
    if (isDifferent === undefined) return
    const last = Math.max(this.#suggestionDelays.get(id) ?? 0, FIRST_SUGGESTION_DELAY_MS / 2)
    if (isDifferent) this.#suggestionDelays.set(id, Math.max(DELAY_MS, this.#delayByCost(id)))
    else this.#suggestionDelays.set(id, Math.min(last * 2, LONGEST_DELAY_MS))
    const pending = this.#requested.get(id)
    if (!pending || pending.isRequest) return
    // it came during the read, when the delay after it was not known
    clearTimeout(pending.timer)
    this.#requested.delete(id)
    this.#schedulePending(id, false, this.#suggestionDelays.get(id)!, pending.notifiedAt)
  }
}
