import type { ItemKind } from '../../registry/model.ts'
import type { Listing } from '../listing.ts'
import type { Scope } from '../scope.ts'
import { type ListKind, listKinds } from '../../domain/protocol.ts'

const itemKinds: Record<ListKind, readonly ItemKind[]> = {
  tools: ['tool'],
  prompts: ['prompt'],
  resources: ['resource', 'template']
}

/** An open stream that wants to hear when the lists of its scope change. */
export interface ListChangeSubscriber {
  readonly principal: string
  /** Path of the endpoint that it listens at. */
  readonly endpoint: string
  /** The scope as it is now. */
  scope(): Scope
  notifyListChanged(list: ListKind): void
  /** True while the answer to a call may have to go out on this stream; absent where none can. */
  hasActiveCalls?(): boolean
  /** The endpoint or the principal is no more, or the gateway stops. */
  end(): void
}

/** A server has said that some of its lists changed. */
export interface ServerListChange {
  readonly server: string
  readonly lists: Iterable<ListKind>
}

export interface ListChangeNotifier {
  /** Streams that are open. */
  readonly size: number
  add(watcher: ListChangeSubscriber): void
  delete(watcher: ListChangeSubscriber): void
  /**
   * Something may have changed: each watcher whose own lists differ is told, bursts folded
   * (mcp-proxy.md#list-changes). Of what a
   * server in its scope said itself it is told even if nothing differs.
   */
  schedule(announced?: ServerListChange): void
  /** Names of the servers that somebody watches. */
  servers(): ReadonlySet<string>
  /** Lets go of these watchers and ends each. */
  end(matches: (watcher: ListChangeSubscriber) => boolean): void
  /** Ends every watcher, and any that is added later. */
  close(): void
}

const DEBOUNCE_MS = 100
const MAX_DELAY_MS = 1_000

const sameListing = (a: Listing | undefined, b: Listing | undefined) =>
  a === b || (a !== undefined && b !== undefined && a.bytes.equals(b.bytes))

/** Servers without entries make no difference. */
const nonEmptyListings = (scope: Scope, kind: ItemKind) => scope.listings(kind).filter(({ ends }) => ends.length > 0)

function sameList(before: Scope, after: Scope, kind: ItemKind): boolean {
  const old = nonEmptyListings(before, kind)
  const now = nonEmptyListings(after, kind)
  return old.length === now.length && old.every((listing, i) => sameListing(listing, now[i]))
}

const changedLists = (before: Scope, after: Scope): ListKind[] =>
  before === after ? [] : listKinds.filter((list) => !itemKinds[list].every((kind) => sameList(before, after, kind)))

/** `onWatchers` is called when a watcher has come or gone. */
export function createListChangeNotifier(onWatchers: () => void = () => {}): ListChangeNotifier {
  const lastScopes = new Map<ListChangeSubscriber, Scope>()
  const announced = new Map<string, Set<ListKind>>()
  let timer: NodeJS.Timeout | null = null
  let firstNotice = 0
  let isClosed = false

  const announcedIn = ({ servers }: Scope) =>
    announced.size === 0 ? [] : servers.flatMap(({ name }) => [...(announced.get(name) ?? [])])
  const flush = () => {
    timer = null
    const known = new Map<Scope, Map<Scope, ListKind[]>>()
    const difference = (before: Scope, after: Scope) => {
      const row = known.get(before) ?? new Map<Scope, ListKind[]>()
      known.set(before, row)
      const lists = row.get(after) ?? [...new Set([...changedLists(before, after), ...announcedIn(after)])]
      row.set(after, lists)
      return lists
    }
    for (const [watcher, before] of lastScopes) {
      const after = watcher.scope()
      lastScopes.set(watcher, after)
      for (const list of difference(before, after)) watcher.notifyListChanged(list)
    }
    announced.clear()
  }
  const end = (matches: (watcher: ListChangeSubscriber) => boolean) => {
    for (const watcher of lastScopes.keys()) {
      if (!matches(watcher)) continue
      lastScopes.delete(watcher)
      watcher.end()
    }
  }
  return {
    get size() {
      return lastScopes.size
    },
    add(watcher) {
      if (isClosed) return watcher.end()
      lastScopes.set(watcher, watcher.scope())
      onWatchers()
    },
    delete(watcher) {
      if (lastScopes.delete(watcher)) onWatchers()
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
