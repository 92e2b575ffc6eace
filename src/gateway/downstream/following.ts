import { setTimeout as wait } from 'node:timers/promises'
import type { ExtraParams } from '../notifications.ts'
import { aliasOf, type ResourceTarget } from '../scope.ts'
import { isPartOf } from '../subscriptions.ts'
import type { RequestContext } from './exchange.ts'
import { canFollow } from '../tried-methods.ts'
import type { SessionSubscriptions } from './session.ts'

/** Sends a request about a resource in the client's own session with a server; false: there is none, or it was refused. */
export type SubscribeUpstream = (
  server: string,
  method: 'resources/subscribe' | 'resources/unsubscribe',
  uri: string
) => Promise<boolean>

/** What one client may follow, and what may be kept of it. */
export const MAX_SUBSCRIPTIONS = 1_000
const MAX_SUBSCRIPTION_BYTES = 4_194_304
/** What a resource that is followed takes beside its URIs, about: here, with who else follows it, and upstream. */
const ENTRY_BYTES = 1_024
const SUBSCRIBE_TIMEOUT_MS = 5_000

/** What comes of telling an upstream, or `late` where it takes too long. */
export async function withSubscribeTimeout<T>(result: Promise<T>, fallback: T): Promise<T> {
  const stop = new AbortController()
  const timer = wait(SUBSCRIBE_TIMEOUT_MS, fallback, { signal: stop.signal, ref: false }).catch(() => fallback)
  try {
    return await Promise.race([result, timer])
  } finally {
    stop.abort()
  }
}

/** Whether a resource that the caller sees can be followed. */
export const isSubscribable = (target: ResourceTarget | undefined): target is ResourceTarget =>
  target !== undefined && canFollow(target.server.stored.verdict)

interface SubscribedResource {
  readonly server: string
  /** The upstream's own. */
  readonly uri: string
  readonly isAlias: boolean
  /** What is kept of it. */
  readonly bytes: number
  /** Told of in the client's own session. What the gateway's session hears of it is the same, and not told again. */
  isOwn: boolean
  readonly stop: () => void
}

/**
 * `tell` gets the URI in the form that the client used; called only while the client may see the resource. Servers tell of
 * changes in the gateway's own session; some only in that of the client, which `own` subscribes in besides.
 */
export function createSessionSubscriptions(
  { mcp, caller, endpoint }: RequestContext,
  sendUpdate: (uri: string, said: ExtraParams) => void,
  subscribeUpstream: SubscribeUpstream = async () => false
): SessionSubscriptions {
  const { dataPlane, subscriptions } = mcp
  const { subscriptions: shares, subscriptionBytes } = mcp.quotas
  const entries = new Map<string, SubscribedResource>()
  let usedBytes = 0

  const take = (bytes: number): boolean => {
    if (usedBytes + bytes > MAX_SUBSCRIPTION_BYTES || !shares.take(caller.key)) return false
    if (!subscriptionBytes.take(caller.key, bytes)) {
      shares.give(caller.key)
      return false
    }
    usedBytes += bytes
    return true
  }
  const give = (bytes: number) => {
    usedBytes -= bytes
    shares.give(caller.key)
    subscriptionBytes.give(caller.key, bytes)
  }

  const formOf = ({ server, isAlias }: SubscribedResource, changed: string) =>
    isAlias ? aliasOf(server, changed) : changed
  const isVisible = (server: string, uri: string) => {
    const scope = dataPlane.scope(caller, endpoint)
    return scope.resolve(scope.isBare ? uri : aliasOf(server, uri))?.server.name === server
  }

  const subscribeOwn = async (entry: SubscribedResource) => {
    entry.isOwn = true
    if (!(await subscribeUpstream(entry.server, 'resources/subscribe', entry.uri))) entry.isOwn = false
  }
  const remove = (asked: string) => {
    const entry = entries.get(asked)
    if (!entry) return
    entries.delete(asked)
    give(entry.bytes)
    entry.stop()
    const { server, uri, isOwn } = entry
    const isLast = [...entries.values()].every((other) => other.server !== server || other.uri !== uri)
    if (isOwn && isLast) void subscribeUpstream(server, 'resources/unsubscribe', uri)
  }
  const follow = (asked: string, { server: { name }, uri, isAlias }: ResourceTarget, bytes: number) => {
    const subscriber = {
      updated(changed: string, said: ExtraParams) {
        if (!entry.isOwn && isVisible(name, changed)) sendUpdate(formOf(entry, changed), said)
      },
      isLost() {
        if (dataPlane.allows(caller, name)) return false
        remove(asked)
        return true
      }
    }
    const stop = () => subscriptions.delete(name, uri, subscriber)
    const entry: SubscribedResource = { server: name, uri, isAlias, bytes, isOwn: false, stop }
    entries.set(asked, entry)
    return Promise.all([subscriptions.add(name, uri, subscriber), subscribeOwn(entry)])
  }
  return {
    get size() {
      return entries.size
    },
    async add(asked, target) {
      if (entries.has(asked)) return true
      const bytes = ENTRY_BYTES + 2 * (asked.length + target.uri.length)
      if (!take(bytes)) return false
      await withSubscribeTimeout<unknown>(follow(asked, target, bytes), undefined)
      return true
    },
    delete: remove,
    notifyUpdated(server, uri, said) {
      const isMeant = (entry: SubscribedResource) => entry.isOwn && entry.server === server && isPartOf(uri, entry.uri)
      const forms = [...entries.values()].filter(isMeant).map((entry) => formOf(entry, uri))
      if (forms.length === 0 || !isVisible(server, uri)) return
      for (const form of new Set(forms)) sendUpdate(form, said)
    },
    resubscribe(server) {
      for (const entry of entries.values()) if (entry.server === server && !entry.isOwn) void subscribeOwn(entry)
    },
    markSessionClosed(server) {
      for (const entry of entries.values()) if (entry.server === server) entry.isOwn = false
    },
    close() {
      for (const { stop, bytes } of entries.values()) {
        give(bytes)
        stop()
      }
      entries.clear()
    }
  }
}
