import type { StoredServer, Verdict } from '../registry/model.ts'
import type { Catalog } from './catalog.ts'
import type { WatchSession } from './upstream/watch-session.ts'
import { configurationOf } from './upstreams.ts'
import { hasMember, canFollow } from './tried-methods.ts'

/** The watch sessions of the servers in the catalog (mcp-proxy.md#upstream-sessions). */
export interface Watching {
  /** Opens what is missing and closes what is wanted no more, where the catalog or who listens has changed. */
  review(): void
  /** The same after a moment, in which others may come or go. */
  reviewSoon(): void
  /** What is followed at a server has changed. Settles when the upstream knows, or could not be told. */
  follow(server: string): Promise<void>
  close(): void
}

export interface WatchingOptions {
  catalog(): Catalog
  create(stored: StoredServer, delayMs: number): WatchSession
  /** The servers whose changes some client hears of now. */
  listenedTo(): ReadonlySet<string>
  /** The resources of a server that clients subscribed to. */
  followed(server: string): ReadonlySet<string>
}

interface Entry {
  readonly stored: StoredServer
  readonly configuration: string
  readonly session: WatchSession
  closing: NodeJS.Timeout | null
}

/** A client that comes back at once finds the process that it left. */
const CLOSE_DELAY_MS = 5_000
const OPEN_DELAY_MS = 250
const REVIEW_DELAY_MS = 50
/** Each server widens the time over which all of them are opened. */
const SPREAD_MS = 20
const MAX_SPREAD_MS = 5_000

/** Whether an upstream has said that it tells anything by itself. */
const canTell = (verdict: Verdict | null) =>
  canFollow(verdict) ||
  ['tools', 'prompts', 'resources'].some((list) => hasMember(verdict?.capabilities[list], 'listChanged'))

export function createWatching({ catalog, create, listenedTo, followed }: WatchingOptions): Watching {
  const entries = new Map<string, Entry>()
  const telling = new Map<string, Promise<void>>()
  let soon: NodeJS.Timeout | null = null
  let isClosed = false

  /** What is followed may have turned out to be so without the server's word. */
  const mayTell = ({ name, enabled, verdict }: StoredServer) => enabled && (canTell(verdict) || followed(name).size > 0)

  /** A process is worth its price only to somebody; one without state has nothing to tell but of what is followed. */
  const isWanted = (stored: StoredServer, heard: ReadonlySet<string>) => {
    const { name, transport, session_mode } = stored
    if (!mayTell(stored)) return false
    if (transport !== 'stdio' || followed(name).size > 0) return true
    return session_mode === 'stateful' && heard.has(name)
  }
  const end = (name: string, entry: Entry) => {
    if (entry.closing) clearTimeout(entry.closing)
    entries.delete(name)
    entry.session.close()
  }
  const keep = (name: string, entry: Entry, stored: StoredServer | undefined, heard: ReadonlySet<string>) => {
    const isSame = entry.stored === stored || (stored && entry.configuration === configurationOf(stored))
    if (!stored || !isSame || !mayTell(stored)) return end(name, entry)
    if (isWanted(stored, heard)) {
      if (entry.closing) clearTimeout(entry.closing)
      entry.closing = null
    } else entry.closing ??= setTimeout(end, CLOSE_DELAY_MS, name, entry).unref()
  }
  const start = (stored: StoredServer, servers: number) => {
    const spread = Math.random() * Math.min(MAX_SPREAD_MS, SPREAD_MS * servers)
    const session = create(stored, stored.transport === 'stdio' ? 0 : OPEN_DELAY_MS + spread)
    entries.set(stored.name, { stored, configuration: configurationOf(stored), session, closing: null })
    void session.subscribe(followed(stored.name))
  }
  const review = () => {
    if (soon) clearTimeout(soon)
    soon = null
    const { servers } = catalog()
    const heard = listenedTo()
    const current = new Map(servers.map(({ stored }) => [stored.name, stored]))
    for (const [name, entry] of entries) keep(name, entry, current.get(name), heard)
    for (const stored of current.values()) {
      if (!entries.has(stored.name) && isWanted(stored, heard)) start(stored, servers.length)
    }
  }
  /** What changes in one turn of the event loop is told at once. */
  const tell = async (server: string) => {
    await new Promise(setImmediate)
    telling.delete(server)
    if (isClosed) return
    review()
    await entries.get(server)?.session.subscribe(followed(server))
  }
  return {
    review,
    reviewSoon() {
      if (!isClosed) soon ??= setTimeout(review, REVIEW_DELAY_MS).unref()
    },
    follow(server) {
      const told = telling.get(server) ?? tell(server)
      telling.set(server, told)
      return told
    },
    close() {
      isClosed = true
      if (soon) clearTimeout(soon)
      for (const [name, entry] of entries) end(name, entry)
    }
  }
}
