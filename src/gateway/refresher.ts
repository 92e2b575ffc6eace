import type { UpstreamOffer, StoredServer } from '../registry/model.ts'
import type { Catalog } from './catalog.ts'

export interface RefresherOptions {
  /** Milliseconds between two re-reads of each enabled server's lists; 0 = never, also not after the start. */
  readonly intervalMs: number
  catalog(): Catalog
  /** False where somebody, here or in another replica, has begun to read the lists within so many milliseconds. */
  claim(stored: StoredServer, withinMs: number): Promise<boolean>
  /** Reads an upstream's lists anew. */
  read(stored: StoredServer): Promise<UpstreamOffer>
  /** Stores what was read; writes nothing where nothing differs. */
  store(stored: StoredServer, offer: UpstreamOffer): Promise<{ readonly unchanged: boolean }>
  /** A request has been answered: the lists are as new as they can be had. */
  readonly onAnswered?: (stored: StoredServer) => void
  readonly log: { warn(details: object, text: string): void }
}

/** Keeps the lists of upstreams fresh in the background (http-contract.md#registration-input). */
export interface Refresher {
  /** Begins with what may have changed while no gateway ran: all servers, but those that are processes (`used`). */
  start(): void
  /** A process of this server runs or is about to: its lists are read if they are from before the start. */
  used(id: string): void
  /**
   * Re-reads one server soon, because it said that its lists changed. Requests in quick succession are one; of a server that
   * goes on at each reading, each is later than the one before, but within five seconds.
   */
  request(id: string): void
  /**
   * The same where what was said may mean nothing: many servers announce their lists at the start of each session. The more
   * often nothing differs, the later it is looked at, but within a minute.
   */
  suggest(id: string): void
  /** The servers in the catalog have changed. */
  review(): void
  close(): void
}

/** A re-read that is about to begin. */
interface Pending {
  readonly timer: NodeJS.Timeout
  readonly isRequest: boolean
  /** When the last reason for it came (`performance.now()`): a read that begins later takes it in. */
  heardAt: number
}

const DELAY_MS = 100
/** Reading, storing and serving ten thousand new items again and again would leave time for little else. */
const LONGEST_DELAY_MS = 5_000
const CONCURRENCY = 4
/** However soon an upstream says that its lists are outdated. */
const MIN_TTL_MS = 10_000
const LONGEST_TIMER = 2 ** 31 - 1
const FIRST_QUIET_MS = 1_000
const LONGEST_QUIET_MS = 60_000
/** The first re-read comes after what a start has to do, and not in all replicas at the same moment. */
const START_DELAY_MS = 250
/** Each server widens the time in which the first re-read begins. */
const SPREAD_MS = 20
const MAX_SPREAD_MS = 5_000
/** A read that another replica began a little before its time counts. */
const isDueAfter = (ms: number) => ms * 0.9

export function createRefresher(options: RefresherOptions): Refresher {
  const { intervalMs, catalog, claim, read, store, onAnswered, log } = options
  const requested = new Map<string, Pending>()
  const running = new Set<string>()
  /** What servers last said that their lists are good for, and when that is over. */
  const ttls = new Map<string, number>()
  const outdating = new Map<string, NodeJS.Timeout>()
  /** How long to wait after a suggestion, where the last one meant nothing. */
  const quiet = new Map<string, number>()
  /** Processes whose lists are from before the start. */
  const unread = new Set<string>()
  let startedAt = 0
  /** How long the last request waited, and when the last read ended. */
  const delays = new Map<string, number>()
  const ends = new Map<string, number>()
  let timer: NodeJS.Timeout | null = null
  let isClosed = false

  const current = (id: string) => catalog().servers.find((server) => server.stored.id === id && server.enabled)?.stored
  /** Whether something differed; undefined where that is not known. */
  const refresh = async (stored: StoredServer, withinMs: number): Promise<boolean | undefined> => {
    const { id, name } = stored
    if (running.has(id)) return undefined
    running.add(id)
    unread.delete(id)
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
      ends.set(id, performance.now())
      expectEnd(stored)
    }
  }

  const enabled = () => catalog().servers.flatMap((server) => (server.enabled ? [server.stored] : []))
  /** A slow upstream holds up one of the workers, not the others. */
  const readAll = async (servers: readonly StoredServer[], withinMs: () => number) => {
    const queue = servers.map(({ id }) => id)
    const work = async () => {
      for (let id = queue.shift(); id !== undefined && !isClosed; id = queue.shift()) {
        const stored = current(id)
        if (stored) await refresh(stored, withinMs())
      }
    }
    await Promise.all(Array.from({ length: CONCURRENCY }, work))
  }
  const round = () => readAll(enabled(), () => isDueAfter(intervalMs))
  const schedule = () => {
    timer = setTimeout(() => void round().finally(schedule), intervalMs).unref()
    if (isClosed) clearTimeout(timer)
  }
  /** What a replica that runs already, or starts with this one, has begun to read since counts. */
  const firstRound = () =>
    readAll(
      enabled().filter(({ transport }) => transport !== 'stdio'),
      () => performance.now() - startedAt
    )
  const begin = () => {
    startedAt = performance.now()
    const servers = enabled()
    for (const { id, transport } of servers) if (transport === 'stdio') unread.add(id)
    const spread = Math.random() * Math.min(MAX_SPREAD_MS, SPREAD_MS * servers.length)
    timer = setTimeout(() => void firstRound().finally(schedule), START_DELAY_MS + spread).unref()
  }

  const outdated = (id: string, afterMs: number) => {
    outdating.delete(id)
    const stored = current(id)
    if (stored) void refresh(stored, isDueAfter(afterMs))
  }
  /** Waits for the end of what the server's lists are good for, where it says so. */
  function expectEnd({ id, verdict }: StoredServer): void {
    const ttlMs = ttls.get(id) ?? verdict?.listTtlMs ?? 0
    if (isClosed || ttlMs === 0 || outdating.has(id)) return
    const afterMs = Math.min(Math.max(ttlMs, MIN_TTL_MS), LONGEST_TIMER)
    outdating.set(id, setTimeout(outdated, afterMs, id, afterMs).unref())
  }
  const review = () => {
    const known = new Map(catalog().servers.flatMap(({ enabled, stored }) => (enabled ? [[stored.id, stored]] : [])))
    for (const [id, pending] of outdating) {
      if (known.has(id)) continue
      clearTimeout(pending)
      outdating.delete(id)
    }
    for (const state of [ttls, quiet, unread, delays, ends]) {
      for (const id of state.keys()) if (!known.has(id)) state.delete(id)
    }
    for (const stored of known.values()) expectEnd(stored)
  }

  const note = (id: string, isDifferent: boolean | undefined) => {
    if (isDifferent === undefined) return
    const next = Math.min((quiet.get(id) ?? FIRST_QUIET_MS / 2) * 2, LONGEST_QUIET_MS)
    if (isDifferent) quiet.delete(id)
    else quiet.set(id, next)
  }
  /** What changed during a read may have come too late for it, so that the request waits for the read's end. */
  const answer = async (id: string) => {
    const { isRequest, heardAt } = requested.get(id)!
    requested.delete(id)
    if (running.has(id)) return plan(id, isRequest, DELAY_MS, heardAt)
    const stored = current(id)
    if (!stored) return
    const isDifferent = await refresh(stored, performance.now() - heardAt)
    if (!isRequest) note(id, isDifferent)
    else if (!isClosed) onAnswered?.(stored)
  }
  function plan(id: string, isRequest: boolean, delayMs: number, heardAt = performance.now()): void {
    const pending = requested.get(id)
    if (isClosed) return
    if (pending && (pending.isRequest || !isRequest)) return void (pending.heardAt = Math.max(pending.heardAt, heardAt))
    if (pending) clearTimeout(pending.timer)
    const begin = setTimeout((due: string) => void answer(due), delayMs, id).unref()
    requested.set(id, { timer: begin, isRequest, heardAt })
  }
  const request = (id: string) => {
    const last = delays.get(id) ?? 0
    const goesOn = running.has(id) || performance.now() - (ends.get(id) ?? -Infinity) < 2 * last
    const delayMs = goesOn ? Math.min(Math.max(2 * last, DELAY_MS), LONGEST_DELAY_MS) : DELAY_MS
    if (!requested.get(id)?.isRequest) delays.set(id, delayMs)
    plan(id, true, delayMs)
  }
  return {
    start() {
      if (intervalMs > 0) begin()
      review()
    },
    used(id) {
      if (unread.delete(id)) plan(id, true, DELAY_MS, startedAt)
    },
    request,
    suggest: (id) => plan(id, false, quiet.get(id) ?? DELAY_MS),
    review,
    close() {
      isClosed = true
      if (timer) clearTimeout(timer)
      for (const pending of requested.values()) clearTimeout(pending.timer)
      for (const pending of outdating.values()) clearTimeout(pending)
      requested.clear()
      outdating.clear()
    }
  }
}
