import type { ExtraParams } from './notifications.ts'

/** One who wants to hear when a resource changes. */
export interface Subscriber {
  /** `uri` is the upstream's own, of the resource or of a part of it; `said` what it says besides. */
  updated(uri: string, extra: ExtraParams): void
  /** Whether it may not hear of it any more; then it does not count on it either. */
  isLost(): boolean
}

/** Who follows which resources, counted by server and the upstream's own URI (mcp-proxy.md#subscriptions). */
export interface Subscriptions {
  /** Settles when the upstream knows, or could not be told. The same subscriber twice is one. */
  add(server: string, uri: string, subscriber: Subscriber): Promise<void>
  delete(server: string, uri: string, subscriber: Subscriber): void
  /** The URIs that the upstream is asked to tell of. */
  followed(server: string): ReadonlySet<string>
  /** A server says that a resource has changed. */
  updated(server: string, uri: string, extra: ExtraParams): void
  /** Lets go of those who are lost. */
  review(): void
  close(): void
}

interface Followed {
  readonly subscribers: Set<Subscriber>
  /** Runs while nobody subscribes any more. */
  leaving: NodeJS.Timeout | null
}

/** Who comes back within this time costs the upstream nothing. */
const LEAVE_DELAY_MS = 5_000
/** Resources of all servers that wait for that; past it the upstream is told at once. */
const MAX_LEAVING_BYTES = 4_194_304
const ENTRY_BYTES = 512
const sizeOf = (uri: string) => ENTRY_BYTES + 2 * uri.length

/** An upstream may tell of a part of what was subscribed to. */
export const isPartOf = (uri: string, whole: string) =>
  uri === whole || (uri.startsWith(whole) && (/[/?#]$/.test(whole) || /^[/?#]/.test(uri.slice(whole.length))))

/** `follow` is called when what is followed at a server is another set. */
export function createSubscriptions(follow: (server: string) => Promise<void>): Subscriptions {
  const servers = new Map<string, Map<string, Followed>>()
  let leavingBytes = 0

  const stay = (entry: Followed, uri: string) => {
    if (!entry.leaving) return
    clearTimeout(entry.leaving)
    entry.leaving = null
    leavingBytes -= sizeOf(uri)
  }
  const leave = (server: string, uri: string) => {
    const entry = servers.get(server)?.get(uri)
    if (entry) stay(entry, uri)
    const uris = servers.get(server)
    uris?.delete(uri)
    if (uris?.size === 0) servers.delete(server)
    void follow(server)
  }
  const remove = (server: string, uri: string, subscriber: Subscriber) => {
    const entry = servers.get(server)?.get(uri)
    if (!entry?.subscribers.delete(subscriber) || entry.subscribers.size > 0) return
    if (entry.leaving) return
    if (leavingBytes + sizeOf(uri) > MAX_LEAVING_BYTES) return leave(server, uri)
    leavingBytes += sizeOf(uri)
    entry.leaving = setTimeout(leave, LEAVE_DELAY_MS, server, uri).unref()
  }
  return {
    async add(server, uri, subscriber) {
      const uris = servers.get(server) ?? new Map<string, Followed>()
      servers.set(server, uris)
      const known = uris.get(uri)
      const entry = known ?? { subscribers: new Set<Subscriber>(), leaving: null }
      stay(entry, uri)
      entry.subscribers.add(subscriber)
      uris.set(uri, entry)
      await follow(server)
    },
    delete: remove,
    followed: (server) => new Set(servers.get(server)?.keys()),
    updated(server, uri, extra) {
      for (const [whole, { subscribers }] of servers.get(server) ?? []) {
        if (!isPartOf(uri, whole)) continue
        for (const subscriber of subscribers) subscriber.updated(uri, extra)
      }
    },
    review() {
      for (const [server, uris] of servers) {
        for (const [uri, { subscribers }] of uris) {
          for (const subscriber of subscribers) if (subscriber.isLost()) remove(server, uri, subscriber)
        }
      }
    },
    close() {
      for (const uris of servers.values()) {
        for (const { leaving } of uris.values()) if (leaving) clearTimeout(leaving)
      }
      servers.clear()
    }
  }
}
