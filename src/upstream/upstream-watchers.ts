import type { StoredServer, Negotiation } from '../registry/model/model.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { WatchSession } from './watch/watch-session.ts'
import { configurationOf } from './upstreams.ts'
import { hasMember, canFollow } from '../catalog/undeclared-methods.ts'

/** Watch sessions, which receive the notifications of the servers in the catalog (mcp-proxy.md#upstream-sessions). */
export interface UpstreamWatchers {
  /** Opens missing sessions and closes unneeded ones, after a change of the catalog or of the listening clients. */
  review(): void
  /** Calls `review` after a short delay, in which further clients may come or go. */
  reviewSoon(): void
  /** Updates the resource subscriptions at a server. Resolves once the upstream has been asked or failed. */
  updateSubscriptions(server: string): Promise<void>
  close(): void
}

export interface UpstreamWatchersOptions {
  catalog(): Catalog
  create(stored: StoredServer, delayMs: number): WatchSession
  /** Returns the servers whose notifications are sent to at least one client. */
  listenedServers(): ReadonlySet<string>
  /** Returns the resources of a server that clients subscribed to. */
  subscribedUris(server: string): ReadonlySet<string>
}

interface Entry {
  readonly stored: StoredServer
  readonly configuration: string
  readonly session: WatchSession
  closeTimer: NodeJS.Timeout | null
}

/** Delay before closing, so that a client that reconnects finds its process running. */
const CLOSE_DELAY_MS = 5_000
const OPEN_DELAY_MS = 250
const REVIEW_DELAY_MS = 50
/** Milliseconds per server over which the opening of all sessions is spread at random. */
const SPREAD_MS = 20
const MAX_SPREAD_MS = 5_000

/** Returns true if an upstream declares that it sends notifications of changes. */
const canNotify = (negotiation: Negotiation | null) =>
  canFollow(negotiation) ||
  ['tools', 'prompts', 'resources'].some((list) => hasMember(negotiation?.capabilities[list], 'listChanged'))

export function createUpstreamWatchers({
  catalog,
  create,
  listenedServers,
  subscribedUris
}: UpstreamWatchersOptions): UpstreamWatchers {
  const entries = new Map<string, Entry>()
  const pendingUpdates = new Map<string, Promise<void>>()
  let reviewTimer: NodeJS.Timeout | null = null
  let isClosed = false

  /** Subscribed resources count even if the server does not declare support. */
  const mayNotify = ({ name, enabled, negotiation }: StoredServer) =>
    enabled && (canNotify(negotiation) || subscribedUris(name).size > 0)

  /**
   * A process is kept running only if a client needs its notifications. In stateless mode those are only updates of
   * subscribed resources.
   */
  const isNeeded = (stored: StoredServer, listened: ReadonlySet<string>) => {
    const { name, transport, session_mode } = stored
    if (!mayNotify(stored)) return false
    if (transport !== 'stdio' || subscribedUris(name).size > 0) return true
    return session_mode === 'stateful' && listened.has(name)
  }
  const end = (name: string, entry: Entry) => {
    if (entry.closeTimer) clearTimeout(entry.closeTimer)
    entries.delete(name)
    entry.session.close()
  }
  const reviewEntry = (name: string, entry: Entry, stored: StoredServer | undefined, listened: ReadonlySet<string>) => {
    const isSame = entry.stored === stored || (stored && entry.configuration === configurationOf(stored))
    if (!stored || !isSame || !mayNotify(stored)) return end(name, entry)
    if (isNeeded(stored, listened)) {
      if (entry.closeTimer) clearTimeout(entry.closeTimer)
      entry.closeTimer = null
    } else entry.closeTimer ??= setTimeout(end, CLOSE_DELAY_MS, name, entry).unref()
  }
  const start = (stored: StoredServer, servers: number) => {
    const spread = Math.random() * Math.min(MAX_SPREAD_MS, SPREAD_MS * servers)
    const session = create(stored, stored.transport === 'stdio' ? 0 : OPEN_DELAY_MS + spread)
    entries.set(stored.name, { stored, configuration: configurationOf(stored), session, closeTimer: null })
    void session.subscribe(subscribedUris(stored.name))
  }
  const review = () => {
    if (reviewTimer) clearTimeout(reviewTimer)
    reviewTimer = null
    const { servers } = catalog()
    const listened = listenedServers()
    const current = new Map(servers.map(({ stored }) => [stored.name, stored]))
    for (const [name, entry] of entries) reviewEntry(name, entry, current.get(name), listened)
    for (const stored of current.values()) {
      if (!entries.has(stored.name) && isNeeded(stored, listened)) start(stored, servers.length)
    }
  }
  /** Sends all changes of one turn of the event loop in one update. */
  const sendUpdate = async (server: string) => {
    await new Promise(setImmediate)
    pendingUpdates.delete(server)
    if (isClosed) return
    review()
    await entries.get(server)?.session.subscribe(subscribedUris(server))
  }
  return {
    review,
    reviewSoon() {
      if (!isClosed) reviewTimer ??= setTimeout(review, REVIEW_DELAY_MS).unref()
    },
    updateSubscriptions(server) {
      const update = pendingUpdates.get(server) ?? sendUpdate(server)
      pendingUpdates.set(server, update)
      return update
    },
    close() {
      isClosed = true
      if (reviewTimer) clearTimeout(reviewTimer)
      for (const [name, entry] of entries) end(name, entry)
    }
  }
}
