import type { Offer, StoredServer } from '../registry/model.ts'
import type { Catalog } from './catalog.ts'

export interface RefresherOptions {
  /** Milliseconds between two re-reads of each enabled server's lists; 0 = never. */
  readonly intervalMs: number
  catalog(): Catalog
  /** Reads an upstream's lists anew. */
  read(stored: StoredServer): Promise<Offer>
  /** Stores what was read; writes nothing where nothing differs. */
  store(stored: StoredServer, offer: Offer): Promise<unknown>
  /** A request has been answered: the lists are as new as they can be had. */
  readonly onAnswered?: (stored: StoredServer) => void
  readonly log: { warn(details: object, text: string): void }
}

/** Keeps the lists of upstreams fresh in the background (decisions "Servers"). */
export interface Refresher {
  start(): void
  /** Re-reads one server soon, because it said that its lists changed. Requests in quick succession are one. */
  request(id: string): void
  close(): void
}

const DELAY_MS = 100
const CONCURRENCY = 4

export function createRefresher(options: RefresherOptions): Refresher {
  const { intervalMs, catalog, read, store, onAnswered, log } = options
  const requested = new Map<string, NodeJS.Timeout>()
  const running = new Set<string>()
  let timer: NodeJS.Timeout | null = null
  let isClosed = false

  const refresh = async (stored: StoredServer) => {
    if (running.has(stored.id)) return
    running.add(stored.id)
    try {
      const offer = await read(stored)
      if (!isClosed) await store(stored, offer)
    } catch (error) {
      if (!isClosed) log.warn({ err: error, server: stored.name }, 'the lists of a server could not be refreshed')
    } finally {
      running.delete(stored.id)
    }
  }
  const current = (id: string) => catalog().servers.find((server) => server.stored.id === id && server.enabled)?.stored

  /** A slow upstream holds up one of the workers, not the round. */
  const round = async () => {
    const queue = catalog()
      .servers.filter((server) => server.enabled)
      .map(({ stored }) => stored.id)
    const work = async () => {
      for (let id = queue.shift(); id !== undefined && !isClosed; id = queue.shift()) {
        const stored = current(id)
        if (stored) await refresh(stored)
      }
    }
    await Promise.all(Array.from({ length: CONCURRENCY }, work))
  }
  const schedule = () => {
    timer = setTimeout(() => void round().finally(schedule), intervalMs).unref()
    if (isClosed) clearTimeout(timer)
  }
  /** What changed during a read may have come too late for it, so that the request waits for the read's end. */
  const answer = (id: string) => {
    requested.delete(id)
    if (running.has(id)) return request(id)
    const stored = current(id)
    if (stored) void refresh(stored).then(() => void (isClosed || onAnswered?.(stored)))
  }
  const request = (id: string) => {
    if (isClosed || requested.has(id)) return
    requested.set(id, setTimeout(answer, DELAY_MS, id).unref())
  }
  return {
    start() {
      if (intervalMs > 0) schedule()
    },
    request,
    close() {
      isClosed = true
      if (timer) clearTimeout(timer)
      for (const pending of requested.values()) clearTimeout(pending)
      requested.clear()
    }
  }
}
