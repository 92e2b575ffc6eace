import type { ItemKind } from '../../registry/model/model.ts'
import { comma, type Listing, type Page } from '../../catalog/list-cache.ts'
import { shownListings } from '../../catalog/search-listing.ts'
import type { Scope } from '../../catalog/scope.ts'

const PAGE_SIZE = 1_000
/** Estimated size of a cached page beside its bytes and key. */
const ENTRY_BYTES = 200

/** Member that holds the list in its result. */
export const listMembers: Record<ItemKind, string> = {
  tool: 'tools',
  prompt: 'prompts',
  resource: 'resources',
  template: 'resourceTemplates',
  skill: 'skills'
}

/** Returns the entries `from` … `to` (exclusive) of a listing, without copying. */
function slice({ bytes, ends }: Listing, from: number, to: number): Buffer {
  const start = from === 0 ? 0 : ends[from - 1]! + 1
  return bytes.subarray(start, ends[to - 1])
}

interface PagePart {
  readonly listing: Listing
  readonly bytes: Buffer
}

interface PageParts extends Page {
  readonly parts: readonly PagePart[]
}

/** Joins the parts; a single part is not copied. */
const join = (parts: readonly PagePart[]): Buffer =>
  parts.length === 1
    ? parts[0]!.bytes
    : Buffer.concat(parts.flatMap(({ bytes }, i) => (i === 0 ? bytes : [comma, bytes])))

function collectPage(scope: Scope, kind: ItemKind, index: number): PageParts {
  const parts: PagePart[] = []
  let skip = index
  let room = PAGE_SIZE
  const end = (next?: number): PageParts => ({ bytes: join(parts), next, parts })
  for (const listing of shownListings(scope, kind)) {
    const count = listing.ends.length
    if (skip >= count) {
      skip -= count
      continue
    }
    if (room === 0) return end(index + PAGE_SIZE)
    const to = Math.min(count, skip + room)
    parts.push({ listing, bytes: slice(listing, skip, to) })
    room -= to - skip
    if (to < count) return end(index + PAGE_SIZE)
    skip = 0
  }
  return end()
}

/** Returns the bytes that only this page keeps alive: listings of whole servers live as long as their catalog. */
function sizeOf({ bytes, parts }: PageParts, { servers, isBare }: Scope, kind: ItemKind): number {
  const only = parts.length === 1 ? parts[0] : undefined
  const isShared = only && servers.some((server) => server.listing(kind, isBare) === only.listing)
  return isShared ? 0 : bytes.buffer.byteLength
}

/**
 * Returns up to 1,000 entries of a scope's list, starting at `index`, ordered by server name and then by the upstream's
 * order (mcp-proxy.md#lists). Pages are cached and shared by all callers that see the same part of the catalog.
 */
export function listPage(scope: Scope, kind: ItemKind, index: number): Page {
  const { pages } = scope.catalog
  const key = `${kind} ${index} ${scope.contentHash}`
  const known = pages.get(key)
  if (known) return known
  const made = collectPage(scope, kind, index)
  const page = { bytes: made.bytes, next: made.next }
  pages.set(key, page, { size: sizeOf(made, scope, kind) + 2 * key.length + ENTRY_BYTES })
  return page
}
