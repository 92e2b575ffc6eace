import type { ExtraParams } from './notifications.ts'

/** Receiver of updates of resources: a client session or a `subscriptions/listen` stream. */
export interface Subscriber {
  /** `uri`: the upstream's own URI of the resource or of a part; `extra`: further members of the notification. */
  updated(uri: string, extra: ExtraParams): void
  /** Returns true if the subscriber may no longer receive updates. */
  isLost(): boolean
}

/** Subscribers by server and the upstream's own URI (mcp-proxy.md#subscriptions). */
export interface Subscriptions {
  /**
   * Adds a subscriber; adding it twice has no effect. Resolves once the upstream has been asked to subscribe or failed.
   */
  add(server: string, uri: string, subscriber: Subscriber): Promise<void>
  delete(server: string, uri: string, subscriber: Subscriber): void
  /** Returns the URIs to subscribe to at the upstream. */
  followed(server: string): ReadonlySet<string>
  /** Notifies the subscribers of a resource that the server reported as updated. */
  updated(server: string, uri: string, extra: ExtraParams): void
  /** Removes subscribers whose `isLost` returns true. */
  review(): void
  close(): void
}

interface Followed {
  readonly subscribers: Set<Subscriber>
  /** Timer that unsubscribes upstream; set while there is no subscriber. */
  leaving: NodeJS.Timeout | null
}

/** Delay before unsubscribing upstream, so that a client that reconnects causes no request. */
const LEAVE_DELAY_MS = 5_000
/** Limit for all resources that wait for the delay; beyond it they are unsubscribed at once. */
const MAX_LEAVING_BYTES = 4_194_304
const ENTRY_BYTES = 512
const sizeOf = (uri: string) => ENTRY_BYTES + 2 * uri.length

/** Returns true if `uri` is `whole` or a sub-resource of it, for which an upstream may send updates as well. */
export const isPartOf = (uri: string, whole: string) =>
  uri === whole || (uri.startsWith(whole) && (/[/?#]$/.test(whole) || /^[/?#]/.test(uri.slice(whole.length))))

/** Creates the subscriptions. `follow` is called when the set of subscribed URIs of a server has changed. */
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
