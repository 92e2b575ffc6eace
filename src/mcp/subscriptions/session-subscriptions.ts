import { withTimeout } from '../../lib/with-timeout.ts'
import type { ExtraParams } from '../../protocol/notifications.ts'
import { addressOf, formatAddress, type AddressForm } from '../../catalog/resource-uris.ts'
import type { ResourceTarget } from '../../catalog/resource-resolution.ts'
import type { CurrentScopes } from '../../catalog/scope.ts'
import type { Quota } from '../../lib/quota.ts'
import { isPartOf, type Subscriptions } from './resource-subscriptions.ts'
import type { RequestContext } from '../sessions/request-context.ts'
import { canFollow } from '../../catalog/undeclared-methods.ts'
import type { SessionSubscriptions } from '../sessions/client-sessions.ts'

/** Sends a subscription request in the client's own session with a server; false if there is none or it was refused. */
export type SubscribeUpstream = (
  server: string,
  method: 'resources/subscribe' | 'resources/unsubscribe',
  uri: string
) => Promise<boolean>

/** Limits per client: number of subscriptions, and bytes stored for them. */
export const MAX_SUBSCRIPTIONS = 1_000
const MAX_SUBSCRIPTION_BYTES = 4_194_304
/** Estimated size of a subscription beside its URIs: here, in the shared subscriptions and upstream. */
const ENTRY_BYTES = 1_024
const SUBSCRIBE_TIMEOUT_MS = 5_000

/** Returns the result of a subscription request, or undefined after the timeout. */
export const withSubscribeTimeout = <T>(result: Promise<T>) => withTimeout(SUBSCRIBE_TIMEOUT_MS, result)

/** Returns true if the resource is visible to the caller and its server declares subscriptions. */
export const isSubscribable = (target: ResourceTarget | undefined): target is ResourceTarget =>
  target !== undefined && canFollow(target.server.stored.negotiation)

interface SubscribedResource {
  readonly server: string
  /** The upstream's URI. */
  readonly uri: string
  readonly form: AddressForm
  /** Bytes counted for the subscription. */
  readonly bytes: number
  /**
   * True if the client's own upstream session reports updates. The gateway's shared session reports the same ones,
   * which are then ignored.
   */
  isOwn: boolean
  readonly stop: () => void
}

/** Parts that the subscriptions of all clients share. */
export interface SubscriptionParts {
  readonly scopes: CurrentScopes
  readonly subscriptions: Subscriptions
  /** Subscribed resources per principal. */
  readonly countQuota: Quota
  /** Bytes stored for subscriptions per principal. */
  readonly byteQuota: Quota
}

/**
 * Creates the subscriptions of one client. `sendUpdate` gets the URI in the form that the client used, and is called
 * only while the resource is visible to the client. The gateway's shared session is always subscribed;
 * `subscribeUpstream` also subscribes the client's own session, because some servers notify only that one.
 */
export function createSessionSubscriptions(
  { scopes, subscriptions, countQuota, byteQuota }: SubscriptionParts,
  { caller, endpoint }: Pick<RequestContext, 'caller' | 'endpoint'>,
  sendUpdate: (uri: string, extraParams: ExtraParams) => void,
  subscribeUpstream: SubscribeUpstream = async () => false
): SessionSubscriptions {
  const entries = new Map<string, SubscribedResource>()
  let usedBytes = 0

  const reserve = (bytes: number): boolean => {
    if (usedBytes + bytes > MAX_SUBSCRIPTION_BYTES || !countQuota.acquire(caller.key)) return false
    if (!byteQuota.acquire(caller.key, bytes)) {
      countQuota.release(caller.key)
      return false
    }
    usedBytes += bytes
    return true
  }
  const release = (bytes: number) => {
    usedBytes -= bytes
    countQuota.release(caller.key)
    byteQuota.release(caller.key, bytes)
  }

  const shownUri = ({ server, form }: SubscribedResource, changed: string) => formatAddress(form, server, changed)
  const isVisible = (server: string, uri: string) => {
    const scope = scopes.scope(caller, endpoint)
    const target = scope.resolve(scope.isBare ? uri : addressOf(server, uri))
    return target?.server.name === server && scopes.allows(caller, server, uri)
  }

  const subscribeOwn = async (entry: SubscribedResource) => {
    entry.isOwn = true
    if (!(await subscribeUpstream(entry.server, 'resources/subscribe', entry.uri))) entry.isOwn = false
  }
  const remove = (requestedUri: string) => {
    const entry = entries.get(requestedUri)
    if (!entry) return
    entries.delete(requestedUri)
    release(entry.bytes)
    entry.stop()
    const { server, uri, isOwn } = entry
    const isLast = [...entries.values()].every((other) => other.server !== server || other.uri !== uri)
    if (isOwn && isLast) void subscribeUpstream(server, 'resources/unsubscribe', uri)
  }
  const subscribe = (requestedUri: string, { server: { name }, uri, form }: ResourceTarget, bytes: number) => {
    const subscriber = {
      onUpdated(changed: string, extraParams: ExtraParams) {
        if (!entry.isOwn && isVisible(name, changed)) sendUpdate(shownUri(entry, changed), extraParams)
      },
      isRevoked() {
        if (scopes.allows(caller, name, uri)) return false
        remove(requestedUri)
        return true
      }
    }
    const stop = () => subscriptions.delete(name, uri, subscriber)
    const entry: SubscribedResource = { server: name, uri, form, bytes, isOwn: false, stop }
    entries.set(requestedUri, entry)
    return Promise.all([subscriptions.add(name, uri, subscriber), subscribeOwn(entry)])
  }
  return {
    get size() {
      return entries.size
    },
    async add(requestedUri, target) {
      if (entries.has(requestedUri)) return true
      const bytes = ENTRY_BYTES + 2 * (requestedUri.length + target.uri.length)
      if (!reserve(bytes)) return false
      await withSubscribeTimeout(subscribe(requestedUri, target, bytes))
      return true
    },
    delete: remove,
    notifyUpdated(server, uri, extraParams) {
      const isAffected = (entry: SubscribedResource) =>
        entry.isOwn && entry.server === server && isPartOf(uri, entry.uri)
      const forms = [...entries.values()].filter(isAffected).map((entry) => shownUri(entry, uri))
      if (forms.length === 0 || !isVisible(server, uri)) return
      for (const form of new Set(forms)) sendUpdate(form, extraParams)
    },
    resubscribe(server) {
      for (const entry of entries.values()) if (entry.server === server && !entry.isOwn) void subscribeOwn(entry)
    },
    markSessionClosed(server) {
      for (const entry of entries.values()) if (entry.server === server) entry.isOwn = false
    },
    close() {
      for (const { stop, bytes } of entries.values()) {
        release(bytes)
        stop()
      }
      entries.clear()
    }
  }
}
