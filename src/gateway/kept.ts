import { LRUCache } from 'lru-cache'

export interface FairShareCacheOptions {
  /** Of all entries. */
  readonly maxBytes: number
  /** Of one owner. */
  readonly maxBytesPerOwner: number
  /** An entry is forgotten so long after it was set. */
  readonly maxAgeMs: number
}

/**
 * Values that upstreams (the owners) make the gateway keep for principals (the holders), bounded in bytes and age. Past its
 * share an owner loses its own entries, past the total the owner with most does; of these the holder with most gives way,
 * the oldest entry first. So nobody pushes out what others need.
 */
export interface FairShareCache<T> {
  /** False where it is too large to be kept. */
  set(owner: string, holder: string, key: string, value: T): boolean
  /** What was set last under that key, of those that fit. */
  newest(key: string, of: EntryFilter): EntryMatch<T> | undefined
  /** What has been there for longest under that key, of those that fit; what is set again keeps its place. */
  oldest(key: string, of: EntryFilter): EntryMatch<T> | undefined
  delete(owner: string, holder: string, key: string): void
  /** Looks at every entry. */
  deleteWhere(matches: (value: T) => boolean): void
  readonly size: number
  readonly bytes: number
}

/** Absent members fit all. */
export interface EntryFilter {
  readonly owner?: string
  readonly holder?: string
}

export interface EntryMatch<T> {
  readonly owner: string
  readonly holder: string
  readonly value: T
}

/** What an entry takes beside its key, about. */
export const ENTRY_BYTES = 256
const SWEEPS_PER_AGE = 12

interface Entry<T> {
  readonly value: T
  /** Counts up with each `set`. */
  readonly order: number
  /** Its `order` when it was set first. */
  readonly since: number
}

type Holder<T> = LRUCache<string, Entry<T>>

interface Owner<T> {
  bytes: number
  readonly holders: Map<string, Holder<T>>
}

const largest = <K, V>(all: Map<K, V>, bytesOf: (value: V) => number): [K, V] =>
  [...all].reduce((a, b) => (bytesOf(b[1]) > bytesOf(a[1]) ? b : a))

/** All of a map, or the one under a name. */
function entriesOf<V>(all: ReadonlyMap<string, V>, name: string | undefined): Iterable<[string, V]> {
  if (name === undefined) return all
  const one = all.get(name)
  return one === undefined ? [] : [[name, one]]
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

  /** Every change of a holder goes through here, so that the sums stay right. */
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
    newest: (key, of) => pick(key, of, (a, b) => a.order > b.order),
    oldest: (key, of) => pick(key, of, (a, b) => a.since < b.since),
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
