import type { ExtraParams } from '../../protocol/notifications.ts'

/** Receiver of updates of resources: a client session or a `subscriptions/listen` stream. */
export interface Subscriber {
  /** `uri`: the upstream's own URI of the resource or of a part; `extra`: further members of the notification. */
  onUpdated(uri: string, extra: ExtraParams): void
  /** Returns true if the subscriber may no longer receive updates. */
  isRevoked(): boolean
}

/** Subscribers by server and the upstream's own URI (mcp-proxy.md#subscriptions). */
export interface Subscriptions {
  /**
   * Adds a subscriber; adding it twice has no effect. Resolves once the upstream has been asked to subscribe or failed.
   */
  add(server: string, uri: string, subscriber: Subscriber): Promise<void>
  delete(server: string, uri: string, subscriber: Subscriber): void
  /** Returns the URIs to subscribe to at the upstream. */
  subscribedUris(server: string): ReadonlySet<string>
  /** Notifies the subscribers of a resource that the server reported as updated. */
  notifyUpdated(server: string, uri: string, extra: ExtraParams): void
  /** Removes subscribers whose `isRevoked` returns true. */
  removeRevoked(): void
  close(): void
}

interface Subscription {
  readonly subscribers: Set<Subscriber>
  /** Timer that unsubscribes upstream; set while there is no subscriber. */
  unsubscribeTimer: NodeJS.Timeout | null
}

/** Delay before unsubscribing upstream, so that a client that reconnects causes no request. */
const UNSUBSCRIBE_DELAY_MS = 5_000
/** Limit for all resources that wait for the delay; beyond it they are unsubscribed at once. */
const MAX_WAITING_BYTES = 4_194_304
const ENTRY_BYTES = 512
const sizeOf = (uri: string) => ENTRY_BYTES + 2 * uri.length

/** Returns true if `uri` is `whole` or a sub-resource of it, for which an upstream may send updates as well. */
export const isPartOf = (uri: string, whole: string) =>
  uri === whole || (uri.startsWith(whole) && (/[/?#]$/.test(whole) || /^[/?#]/.test(uri.slice(whole.length))))

/** Creates the subscriptions. `follow` is called when the set of subscribed URIs of a server has changed. */
export function createSubscriptions(follow: (server: string) => Promise<void>): Subscriptions {
  const servers = new Map<string, Map<string, Subscription>>()
  let waitingBytes = 0

  const cancelUnsubscribe = (entry: Subscription, uri: string) => {
    if (!entry.unsubscribeTimer) return
    clearTimeout(entry.unsubscribeTimer)
    entry.unsubscribeTimer = null
    waitingBytes -= sizeOf(uri)
  }
  const unsubscribe = (server: string, uri: string) => {
    const entry = servers.get(server)?.get(uri)
    if (entry) cancelUnsubscribe(entry, uri)
    const uris = servers.get(server)
    uris?.delete(uri)
    if (uris?.size === 0) servers.delete(server)
    void follow(server)
  }
  const remove = (server: string, uri: string, subscriber: Subscriber) => {
    const entry = servers.get(server)?.get(uri)
    if (!entry?.subscribers.delete(subscriber) || entry.subscribers.size > 0) return
    if (entry.unsubscribeTimer) return
    if (waitingBytes + sizeOf(uri) > MAX_WAITING_BYTES) return unsubscribe(server, uri)
    waitingBytes += sizeOf(uri)
    entry.unsubscribeTimer = setTimeout(unsubscribe, UNSUBSCRIBE_DELAY_MS, server, uri).unref()
  }
  return {
    async add(server, uri, subscriber) {
      const uris = servers.get(server) ?? new Map<string, Subscription>()
      servers.set(server, uris)
      const known = uris.get(uri)
      const entry = known ?? { subscribers: new Set<Subscriber>(), unsubscribeTimer: null }
      cancelUnsubscribe(entry, uri)
      entry.subscribers.add(subscriber)
      uris.set(uri, entry)
      await follow(server)
    },
    delete: remove,
    subscribedUris: (server) => new Set(servers.get(server)?.keys()),
    notifyUpdated(server, uri, extra) {
      for (const [whole, { subscribers }] of servers.get(server) ?? []) {
        if (!isPartOf(uri, whole)) continue
        for (const subscriber of subscribers) subscriber.onUpdated(uri, extra)
      }
    },
    removeRevoked() {
      for (const [server, uris] of servers) {
        for (const [uri, { subscribers }] of uris) {
          for (const subscriber of subscribers) if (subscriber.isRevoked()) remove(server, uri, subscriber)
        }
      }
    },
    close() {
      for (const uris of servers.values()) {
        for (const { unsubscribeTimer } of uris.values()) if (unsubscribeTimer) clearTimeout(unsubscribeTimer)
      }
      servers.clear()
    }
  }
}
