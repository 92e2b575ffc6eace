import { createLruCache, type LruCache } from './bounded.ts'

/** List entries of one server and kind as ready bytes, joined by commas, so that pages are cut without copying. */
export interface Listing {
  readonly bytes: Buffer
  /** Offset behind each entry; the next one begins one byte later, behind the comma. */
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

/** The entries at these indices, in this order; copied, so that they do not keep the whole listing. */
export function pickEntries({ bytes, ends }: Listing, indices: readonly number[]): Listing {
  const pieces: Buffer[] = []
  const picked: number[] = []
  let end = -1
  for (const index of indices) {
    const start = index === 0 ? 0 : ends[index - 1]! + 1
    if (pieces.length > 0) pieces.push(comma)
    pieces.push(bytes.subarray(start, ends[index]))
    end += 1 + ends[index]! - start
    picked.push(end)
  }
  return { bytes: Buffer.concat(pieces), ends: picked }
}

/** A part of a scope's list. */
export interface Page {
  /** Entries joined by commas. */
  readonly bytes: Buffer
  /** Index behind the last entry of the page, undefined on the last page. */
  readonly next: number | undefined
}

/** Listings that were made from a server's own, by what they show of it (architecture, idea 2). */
export interface ListingCache {
  /** What `make` made for this key from this very source, or makes it. */
  get(key: string, source: Listing, make: () => Listing): Listing
  /** Bytes that are held. */
  readonly bytes: number
}

const MAX_BYTES = 33_554_432

export const createPageCache = (): LruCache<Page> => createLruCache(MAX_BYTES)

/** Many groups over many tools cost no more than `maxBytes`. */
export function createListingCache(maxBytes = MAX_BYTES): ListingCache {
  const known = createLruCache<{ readonly source: WeakRef<Listing>; readonly listing: Listing }>(maxBytes)
  return {
    get(key, source, make) {
      const found = known.get(key)
      if (found?.source.deref() === source) return found.listing
      // before the new one is made: it may be large
      known.delete(key)
      const listing = make()
      const size = listing.bytes.length + 8 * listing.ends.length + 2 * key.length
      known.set(key, { source: new WeakRef(source), listing }, size)
      return listing
    },
    get bytes() {
      return known.bytes
    }
  }
}
