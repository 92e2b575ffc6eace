import type { ItemKind } from '../registry/model/model.ts'
import type { Listing } from '../catalog/list-cache.ts'
import { shownListings } from '../catalog/search-listing.ts'
import type { Scope } from '../catalog/scope.ts'
import { type ListKind, listKinds } from '../domain/mcp-constants.ts'

/** Skills have no notification of their own: the official SDKs announce them as resources (mcp-proxy.md#skills). */
const itemKinds: Record<ListKind, readonly ItemKind[]> = {
  tools: ['tool'],
  prompts: ['prompt'],
  resources: ['resource', 'template', 'skill']
}

/** An open stream that receives `list_changed` notifications for its scope. */
export interface ListChangeSubscriber {
  readonly principal: string
  /** Path of the stream's endpoint. */
  readonly endpoint: string
  /** Returns the current scope. */
  scope(): Scope
  notifyListChanged(list: ListKind): void
  /** Returns true while a call's response may have to be sent on this stream; absent if that cannot happen. */
  hasActiveCalls?(): boolean
  /** Ends the stream: the endpoint or principal was removed, or the gateway stops. */
  end(): void
}

/** Lists that a server reported as changed. */
export interface ServerListChange {
  readonly server: string
  readonly lists: Iterable<ListKind>
}

export interface ListChangeNotifier {
  /** Number of open streams. */
  readonly size: number
  add(subscriber: ListChangeSubscriber): void
  delete(subscriber: ListChangeSubscriber): void
  /**
   * Schedules a comparison: each subscriber whose lists differ is notified; bursts are merged
   * (mcp-proxy.md#list-changes). A change that a server announced itself is always passed on to the subscribers whose
   * scope includes the server.
   */
  schedule(announced?: ServerListChange): void
  /** Returns the names of the servers in the scope of any subscriber. */
  servers(): ReadonlySet<string>
  /** Removes the matching subscribers and ends their streams. */
  end(matches: (subscriber: ListChangeSubscriber) => boolean): void
  /** Ends all subscribers, and any added later. */
  close(): void
}

const DEBOUNCE_MS = 100
const MAX_DELAY_MS = 1_000

const sameListing = (a: Listing | undefined, b: Listing | undefined) =>
  a === b || (a !== undefined && b !== undefined && a.bytes.equals(b.bytes))

/** Servers without entries do not affect the comparison. */
const nonEmptyListings = (scope: Scope, kind: ItemKind) =>
  shownListings(scope, kind).filter(({ ends }) => ends.length > 0)

function sameList(before: Scope, after: Scope, kind: ItemKind): boolean {
  const old = nonEmptyListings(before, kind)
  const now = nonEmptyListings(after, kind)
  return old.length === now.length && old.every((listing, i) => sameListing(listing, now[i]))
}

/** Returns the announced lists, and the others that differ: listings of announced ones need not be built to compare. */
const changedLists = (before: Scope, after: Scope, announced: ReadonlySet<ListKind>): ListKind[] =>
  listKinds.filter(
    (list) =>
      announced.has(list) || (before !== after && !itemKinds[list].every((kind) => sameList(before, after, kind)))
  )

/** Creates a notifier; `onSubscribersChange` is called when a subscriber is added or removed. */
export function createListChangeNotifier(onSubscribersChange: () => void = () => {}): ListChangeNotifier {
  const lastScopes = new Map<ListChangeSubscriber, Scope>()
  const announced = new Map<string, Set<ListKind>>()
  let timer: NodeJS.Timeout | null = null
  let firstNotice = 0
  let isClosed = false

  const announcedIn = ({ servers }: Scope) =>
    new Set(announced.size === 0 ? [] : servers.flatMap(({ name }) => [...(announced.get(name) ?? [])]))
  const flush = () => {
    timer = null
    const known = new Map<Scope, Map<Scope, ListKind[]>>()
    const difference = (before: Scope, after: Scope) => {
      const row = known.get(before) ?? new Map<Scope, ListKind[]>()
      known.set(before, row)
      const lists = row.get(after) ?? changedLists(before, after, announcedIn(after))
      row.set(after, lists)
      return lists
    }
    for (const [subscriber, before] of lastScopes) {
      const after = subscriber.scope()
      lastScopes.set(subscriber, after)
      for (const list of difference(before, after)) subscriber.notifyListChanged(list)
    }
    announced.clear()
  }
  const end = (matches: (subscriber: ListChangeSubscriber) => boolean) => {
    for (const subscriber of lastScopes.keys()) {
      if (!matches(subscriber)) continue
      lastScopes.delete(subscriber)
      subscriber.end()
    }
  }
  return {
    get size() {
      return lastScopes.size
    },
    add(subscriber) {
      if (isClosed) return subscriber.end()
      lastScopes.set(subscriber, subscriber.scope())
      onSubscribersChange()
    },
    delete(subscriber) {
      if (lastScopes.delete(subscriber)) onSubscribersChange()
    },
    servers: () =>
      new Set(
        [...new Set([...lastScopes.keys()].map((each) => each.scope()))].flatMap(({ servers }) =>
          servers.map(({ name }) => name)
        )
      ),
    schedule(change) {
      if (change) announced.set(change.server, new Set([...(announced.get(change.server) ?? []), ...change.lists]))
      const now = performance.now()
      if (timer) clearTimeout(timer)
      else firstNotice = now
      timer = setTimeout(flush, Math.max(0, Math.min(DEBOUNCE_MS, firstNotice + MAX_DELAY_MS - now))).unref()
    },
    end,
    close() {
      isClosed = true
      if (timer) clearTimeout(timer)
      end(() => true)
    }
  }
}
