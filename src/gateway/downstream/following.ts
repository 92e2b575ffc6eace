import { setTimeout as wait } from 'node:timers/promises'
import type { ExtraParams } from '../notifications.ts'
import { aliasOf, type ResourceTarget } from '../scope.ts'
import { isPartOf } from '../subscriptions.ts'
import { canFollow } from '../watching.ts'
import type { Exchange } from './exchange.ts'

/** Resources that one client follows, each by the URI that it used itself. */
export interface Following {
  readonly size: number
  /**
   * Settles when the upstream knows, could not be told, or takes too long; false: its client, or its principal, has its
   * share already.
   */
  add(asked: string, target: ResourceTarget): Promise<boolean>
  /** Does nothing where it is not followed. */
  delete(asked: string): void
  /** A server says in the client's own session that a resource has changed. */
  heard(server: string, uri: string, said: ExtraParams): void
  /** The client has a session of its own with a server from now on. */
  opened(server: string): void
  /** It has none any more. */
  closed(server: string): void
  close(): void
}

/** Sends a request about a resource in the client's own session with a server; false: there is none, or it was refused. */
export type TellUpstream = (
  server: string,
  method: 'resources/subscribe' | 'resources/unsubscribe',
  uri: string
) => Promise<boolean>

/** What one client may follow, and what may be kept of it. */
export const MAX_FOLLOWED = 1_000
const MAX_FOLLOWED_BYTES = 4_194_304
/** What a resource that is followed takes beside its URIs, about: here, with who else follows it, and upstream. */
const ENTRY_BYTES = 1_024
const TOLD_MS = 5_000

/** What comes of telling an upstream, or `late` where it takes too long. */
export async function withinToldTime<T>(told: Promise<T>, late: T): Promise<T> {
  const stop = new AbortController()
  const timer = wait(TOLD_MS, late, { signal: stop.signal, ref: false }).catch(() => late)
  try {
    return await Promise.race([told, timer])
  } finally {
    stop.abort()
  }
}

/** Whether a resource that the caller sees can be followed. */
export const canBeFollowed = (target: ResourceTarget | undefined): target is ResourceTarget =>
  target !== undefined && canFollow(target.server.stored.verdict)

interface Followed {
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
export function createFollowing(
  { edge, caller, endpoint }: Exchange,
  tell: (uri: string, said: ExtraParams) => void,
  own: TellUpstream = async () => false
): Following {
  const { core, subscriptions } = edge
  const { subscriptions: shares, subscriptionBytes } = edge.shares
  const followed = new Map<string, Followed>()
  let held = 0

  const take = (bytes: number): boolean => {
    if (held + bytes > MAX_FOLLOWED_BYTES || !shares.take(caller.key)) return false
    if (!subscriptionBytes.take(caller.key, bytes)) {
      shares.give(caller.key)
      return false
    }
    held += bytes
    return true
  }
  const give = (bytes: number) => {
    held -= bytes
    shares.give(caller.key)
    subscriptionBytes.give(caller.key, bytes)
  }

  const formOf = ({ server, isAlias }: Followed, changed: string) => (isAlias ? aliasOf(server, changed) : changed)
  const isVisible = (server: string, uri: string) => {
    const scope = core.scope(caller, endpoint)
    return scope.resolve(scope.isBare ? uri : aliasOf(server, uri))?.server.name === server
  }

  const subscribeOwn = async (entry: Followed) => {
    entry.isOwn = true
    if (!(await own(entry.server, 'resources/subscribe', entry.uri))) entry.isOwn = false
  }
  const remove = (asked: string) => {
    const entry = followed.get(asked)
    if (!entry) return
    followed.delete(asked)
    give(entry.bytes)
    entry.stop()
    const { server, uri, isOwn } = entry
    const isLast = [...followed.values()].every((other) => other.server !== server || other.uri !== uri)
    if (isOwn && isLast) void own(server, 'resources/unsubscribe', uri)
  }
  const follow = (asked: string, { server: { name }, uri, isAlias }: ResourceTarget, bytes: number) => {
    const subscriber = {
      updated(changed: string, said: ExtraParams) {
        if (!entry.isOwn && isVisible(name, changed)) tell(formOf(entry, changed), said)
      },
      isLost() {
        if (core.allows(caller, name)) return false
        remove(asked)
        return true
      }
    }
    const stop = () => subscriptions.delete(name, uri, subscriber)
    const entry: Followed = { server: name, uri, isAlias, bytes, isOwn: false, stop }
    followed.set(asked, entry)
    return Promise.all([subscriptions.add(name, uri, subscriber), subscribeOwn(entry)])
  }
  return {
    get size() {
      return followed.size
    },
    async add(asked, target) {
      if (followed.has(asked)) return true
      const bytes = ENTRY_BYTES + 2 * (asked.length + target.uri.length)
      if (!take(bytes)) return false
      await withinToldTime<unknown>(follow(asked, target, bytes), undefined)
      return true
    },
    delete: remove,
    heard(server, uri, said) {
      const isMeant = (entry: Followed) => entry.isOwn && entry.server === server && isPartOf(uri, entry.uri)
      const forms = [...followed.values()].filter(isMeant).map((entry) => formOf(entry, uri))
      if (forms.length === 0 || !isVisible(server, uri)) return
      for (const form of new Set(forms)) tell(form, said)
    },
    opened(server) {
      for (const entry of followed.values()) if (entry.server === server && !entry.isOwn) void subscribeOwn(entry)
    },
    closed(server) {
      for (const entry of followed.values()) if (entry.server === server) entry.isOwn = false
    },
    close() {
      for (const { stop, bytes } of followed.values()) {
        give(bytes)
        stop()
      }
      followed.clear()
    }
  }
}
