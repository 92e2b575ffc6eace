import type { ItemKind } from '../../registry/model.ts'
import type { Listing } from '../listing.ts'
import type { Scope } from '../scope.ts'

const PAGE_SIZE = 1_000
const comma = Buffer.from(',')

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

export interface Page {
  /** Entries joined by commas, in pieces. */
  readonly pieces: Buffer[]
  /** Index behind the last entry of the page, undefined on the last page. */
  readonly next: number | undefined
}

/** Up to 1,000 entries of a scope's list from `index` on: server name, then the upstream's order (proxy page 3.5). */
export function listPage(scope: Scope, kind: ItemKind, index: number): Page {
  const pieces: Buffer[] = []
  let skip = index
  let room = PAGE_SIZE
  for (const listing of scope.listings(kind)) {
    const count = listing.ends.length
    if (skip >= count) {
      skip -= count
      continue
    }
    if (room === 0) return { pieces, next: index + PAGE_SIZE }
    const to = Math.min(count, skip + room)
    if (pieces.length > 0) pieces.push(comma)
    pieces.push(slice(listing, skip, to))
    room -= to - skip
    if (to < count) return { pieces, next: index + PAGE_SIZE }
    skip = 0
  }
  return { pieces, next: undefined }
}
