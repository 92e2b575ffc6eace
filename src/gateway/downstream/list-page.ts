import type { ItemKind } from '../../registry/model.ts'
import { comma, type Listing, type Page } from '../listing.ts'
import type { Scope } from '../scope.ts'

const PAGE_SIZE = 1_000
/** What is held of a page beside its bytes and its key, about. */
const ENTRY_BYTES = 200

/** Name of the list's member in its result. */
export const listMembers: Record<ItemKind, string> = {
  tool: 'tools',
  prompt: 'prompts',
  resource: 'resources',
  template: 'resourceTemplates'
}

/** Entries `from` … `to` (exclusive) of a listing, without copying. */
function slice({ bytes, ends }: Listing, from: number, to: number): Buffer {
  const start = from === 0 ? 0 : ends[from - 1]! + 1
  return bytes.subarray(start, ends[to - 1])
}

interface Piece {
  readonly listing: Listing
  readonly bytes: Buffer
}

interface Cut extends Page {
  readonly pieces: readonly Piece[]
}

/** What is of one listing alone is not copied. */
const join = (pieces: readonly Piece[]): Buffer =>
  pieces.length === 1
    ? pieces[0]!.bytes
    : Buffer.concat(pieces.flatMap(({ bytes }, i) => (i === 0 ? bytes : [comma, bytes])))

function cut(scope: Scope, kind: ItemKind, index: number): Cut {
  const pieces: Piece[] = []
  let skip = index
  let room = PAGE_SIZE
  const end = (next?: number): Cut => ({ bytes: join(pieces), next, pieces })
  for (const listing of scope.listings(kind)) {
    const count = listing.ends.length
    if (skip >= count) {
      skip -= count
      continue
    }
    if (room === 0) return end(index + PAGE_SIZE)
    const to = Math.min(count, skip + room)
    pieces.push({ listing, bytes: slice(listing, skip, to) })
    room -= to - skip
    if (to < count) return end(index + PAGE_SIZE)
    skip = 0
  }
  return end()
}

/** Bytes that a page alone keeps alive: listings of whole servers live as long as their catalog. */
function sizeOf({ bytes, pieces }: Cut, { servers, isBare }: Scope, kind: ItemKind): number {
  const only = pieces.length === 1 ? pieces[0] : undefined
  const isShared = only && servers.some((server) => server.listing(kind, isBare) === only.listing)
  return isShared ? 0 : bytes.buffer.byteLength
}

/**
 * Up to 1,000 entries of a scope's list from `index` on: server name, then the upstream's order (mcp-proxy.md#lists).
 * Made once
 * for all who see the same of a catalog, and held while it is asked for.
 */
export function listPage(scope: Scope, kind: ItemKind, index: number): Page {
  const { pages } = scope.catalog
  const key = `${kind} ${index} ${scope.contentHash}`
  const known = pages.get(key)
  if (known) return known
  const made = cut(scope, kind, index)
  const page = { bytes: made.bytes, next: made.next }
  pages.set(key, page, sizeOf(made, scope, kind) + 2 * key.length + ENTRY_BYTES)
  return page
}
