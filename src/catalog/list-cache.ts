import { LRUCache } from 'lru-cache'

/** List entries of one server and kind as serialised JSON, joined by commas: a page is a slice of the bytes. */
export interface Listing {
  readonly bytes: Buffer
  /** End offset of each entry; the next entry begins after the comma. */
  readonly ends: readonly number[]
}

export function joinListing(texts: readonly string[]): Listing {
  const ends: number[] = []
  let end = -1
  for (const text of texts) {
    end += 1 + Buffer.byteLength(text)
    ends.push(end)
  }
  return { bytes: Buffer.from(texts.join(',')), ends }
}

export const comma = Buffer.from(',')

/**
 * Copies entries in this order: those at an index of the listing, or new ones as UTF-8. A slice would keep the whole
 * listing in memory.
 */
export function pickEntries({ bytes, ends }: Listing, entries: readonly (number | Buffer)[]): Listing {
  const pieces: Buffer[] = []
  const picked: number[] = []
  let end = -1
  for (const entry of entries) {
    const piece =
      typeof entry === 'number' ? bytes.subarray(entry === 0 ? 0 : ends[entry - 1]! + 1, ends[entry]) : entry
    if (pieces.length > 0) pieces.push(comma)
    pieces.push(piece)
    end += 1 + piece.length
    picked.push(end)
  }
  return { bytes: Buffer.concat(pieces), ends: picked }
}

/** One page of a scope's list. */
export interface Page {
  /** Entries joined by commas. */
  readonly bytes: Buffer
  /** Index of the next page's first entry; undefined on the last page. */
  readonly next: number | undefined
}

/** Cache of listings derived from a server's full listing, such as a group's selection of its tools. */
export interface ListingCache {
  /** Returns the cached listing for this key and this `source` object, or else the result of `make`. */
  get(key: string, source: Listing, make: () => Listing): Listing
  /** Size of all cached listings. */
  readonly bytes: number
}

const MAX_BYTES = 33_554_432

export type PageCache = LRUCache<string, Page>

export const createPageCache = (): PageCache => new LRUCache({ maxSize: MAX_BYTES })

/** Creates a cache of at most `maxBytes`, however many groups and tools there are. */
export function createListingCache(maxBytes = MAX_BYTES): ListingCache {
  const cache = new LRUCache<string, { readonly source: WeakRef<Listing>; readonly listing: Listing }>({
    maxSize: maxBytes
  })
  return {
    get(key, source, make) {
      const found = cache.get(key)
      if (found?.source.deref() === source) return found.listing
      // drops the old listing before the new one is built: both may be large
      cache.delete(key)
      const listing = make()
      const size = listing.bytes.length + 8 * listing.ends.length + 2 * key.length
      cache.set(key, { source: new WeakRef(source), listing }, { size })
      return listing
    },
    get bytes() {
      return cache.calculatedSize
    }
  }
}
