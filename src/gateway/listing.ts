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

const comma = Buffer.from(',')

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

/** Listings that were made from a server's own, by what they show of it (architecture, idea 2). */
export interface ListingCache {
  /** What `make` made for this key from this very source, or makes it. */
  get(key: string, source: Listing, make: () => Listing): Listing
  /** Bytes that are held. */
  readonly bytes: number
}

const MAX_BYTES = 33_554_432

/** Holds what was used last, up to so many bytes: many groups over many tools cost no more than that. */
export function createListingCache(maxBytes = MAX_BYTES): ListingCache {
  // in order of last use
  const entries = new Map<string, { source: WeakRef<Listing>; listing: Listing; size: number }>()
  let held = 0

  const drop = (key: string) => {
    held -= entries.get(key)?.size ?? 0
    entries.delete(key)
  }
  return {
    get(key, source, make) {
      const known = entries.get(key)
      if (known?.source.deref() === source) {
        entries.delete(key)
        entries.set(key, known)
        return known.listing
      }
      drop(key)
      const listing = make()
      const size = listing.bytes.length + 8 * listing.ends.length + 2 * key.length
      entries.set(key, { source: new WeakRef(source), listing, size })
      held += size
      for (const oldest of entries.keys()) {
        if (held <= maxBytes) break
        drop(oldest)
      }
      return listing
    },
    get bytes() {
      return held
    }
  }
}
