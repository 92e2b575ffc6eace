import { LRUCache } from 'lru-cache'

export interface FairShareCacheOptions {
  /** Limit of all entries. */
  readonly maxBytes: number
  /** Limit of each owner's entries. */
  readonly maxBytesPerOwner: number
  /** Time after which an entry expires, counted from its last `set`. */
  readonly maxAgeMs: number
}

/**
 * Bounded cache of values that upstreams (owners) cause the gateway to store for principals (holders).
 * An owner above its limit loses its own entries; above the total limit, the largest owner loses entries. Within an
 * owner the largest holder loses its least recently set entries first. So nobody can evict the entries of others.
 */
export interface FairShareCache<T> {
  /** Stores an entry. Returns false if the entry is larger than a limit. */
  set(owner: string, holder: string, key: string, value: T): boolean
  /** Returns the entry under a key that was set last. */
  newest(key: string, filter: EntryFilter): EntryMatch<T> | undefined
  /** Returns the entry under a key that was first set earliest; setting an entry again keeps its position. */
  oldest(key: string, filter: EntryFilter): EntryMatch<T> | undefined
  delete(owner: string, holder: string, key: string): void
  /** Deletes all matching entries; linear in the size of the cache. */
  deleteWhere(matches: (value: T) => boolean): void
  readonly size: number
  readonly bytes: number
}

/** Owner and holder of an entry; an absent member matches all. */
export interface EntryFilter {
  readonly owner?: string
  readonly holder?: string
}

export interface EntryMatch<T> {
  readonly owner: string
  readonly holder: string
  readonly value: T
}

/** Approximate size of an entry without its key. */
export const ENTRY_BYTES = 256
const SWEEPS_PER_AGE = 12

interface Entry<T> {
  readonly value: T
  /** Sequence number of the last `set`. */
  readonly order: number
  /** Sequence number of the first `set`. */
  readonly since: number
}

type Holder<T> = LRUCache<string, Entry<T>>

interface Owner<T> {
  bytes: number
  readonly holders: Map<string, Holder<T>>
}

const largest = <K, V>(all: Map<K, V>, bytesOf: (value: V) => number): [K, V] =>
  [...all].reduce((a, b) => (bytesOf(b[1]) > bytesOf(a[1]) ? b : a))

/** Returns all entries of a map, or the entry with a name. */
function entriesOf<V>(all: ReadonlyMap<string, V>, name: string | undefined): Iterable<[string, V]> {
  if (name === undefined) return all
  const value = all.get(name)
  return value === undefined ? [] : [[name, value]]
}

export function createFairShareCache<T>({
  maxBytes,
  maxBytesPerOwner,
  maxAgeMs
}: FairShareCacheOptions): FairShareCache<T> {
  const owners = new Map<string, Owner<T>>()
  let bytes = 0
  let order = 0
  let sweeper: NodeJS.Timeout | undefined

  /** Runs a change of a holder and updates the byte counts. Every change goes through here. */
  const change = (name: string, owner: Owner<T>, holderName: string, holder: Holder<T>, work: () => unknown) => {
    const before = holder.calculatedSize
    work()
    const by = holder.calculatedSize - before
    owner.bytes += by
    bytes += by
    if (holder.size === 0) owner.holders.delete(holderName)
    if (owner.holders.size === 0) owners.delete(name)
  }
  const makeRoomIn = (name: string, owner: Owner<T>, limit: number) => {
    while (owner.bytes > limit) {
      const [holderName, holder] = largest(owner.holders, ({ calculatedSize }) => calculatedSize)
      change(name, owner, holderName, holder, () => holder.pop())
    }
  }
  const makeRoom = () => {
    while (bytes > maxBytes) {
      const [name, owner] = largest(owners, (each) => each.bytes)
      makeRoomIn(name, owner, Math.max(0, owner.bytes - (bytes - maxBytes)))
    }
  }
  const forEach = (work: (holder: Holder<T>) => unknown) => {
    for (const [name, owner] of owners) {
      for (const [holderName, holder] of owner.holders) change(name, owner, holderName, holder, () => work(holder))
    }
  }
  const sweep = () => {
    forEach((holder) => holder.purgeStale())
    if (owners.size > 0) return
    clearInterval(sweeper)
    sweeper = undefined
  }
  const ownerOf = (name: string): Owner<T> => {
    const owner = owners.get(name) ?? { bytes: 0, holders: new Map<string, Holder<T>>() }
    owners.set(name, owner)
    return owner
  }
  const holderOf = ({ holders }: Owner<T>, name: string): Holder<T> => {
    const holder = holders.get(name) ?? new LRUCache<string, Entry<T>>({ maxSize: maxBytesPerOwner, ttl: maxAgeMs })
    holders.set(name, holder)
    return holder
  }
  const pick = (key: string, { owner, holder }: EntryFilter, isBetter: (a: Entry<T>, b: Entry<T>) => boolean) => {
    let found: (EntryMatch<T> & Entry<T>) | undefined
    for (const [ownerName, { holders }] of entriesOf(owners, owner)) {
      for (const [holderName, entries] of entriesOf(holders, holder)) {
        const entry = entries.peek(key)
        if (entry && (!found || isBetter(entry, found))) found = { ...entry, owner: ownerName, holder: holderName }
      }
    }
    return found
  }
  return {
    set(ownerName, holderName, key, value) {
      const size = ENTRY_BYTES + 2 * key.length
      if (size > Math.min(maxBytesPerOwner, maxBytes)) return false
      const owner = ownerOf(ownerName)
      const holder = holderOf(owner, holderName)
      const since = holder.peek(key)?.since ?? ++order
      change(ownerName, owner, holderName, holder, () => holder.set(key, { value, order: ++order, since }, { size }))
      makeRoomIn(ownerName, owner, maxBytesPerOwner)
      makeRoom()
      sweeper ??= setInterval(sweep, maxAgeMs / SWEEPS_PER_AGE).unref()
      return true
    },
    newest: (key, filter) => pick(key, filter, (a, b) => a.order > b.order),
    oldest: (key, filter) => pick(key, filter, (a, b) => a.since < b.since),
    delete(ownerName, holderName, key) {
      const owner = owners.get(ownerName)
      const holder = owner?.holders.get(holderName)
      if (owner && holder) change(ownerName, owner, holderName, holder, () => holder.delete(key))
    },
    deleteWhere(matches) {
      forEach((holder) => {
        for (const [key, { value }] of holder.entries()) if (matches(value)) holder.delete(key)
      })
    },
    get size() {
      let size = 0
      for (const { holders } of owners.values()) for (const holder of holders.values()) size += holder.size
      return size
    },
    get bytes() {
      return bytes
    }
  }
}
