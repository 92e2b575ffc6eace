import { truncate, escapeText } from '../../domain/text/text.ts'
import type { ItemKind, LeftOut } from '../../registry/model/model.ts'
import type { LeftOutCode, LeftOutItem } from '../../schemas/left-out.ts'

/** Limits of the list per server; items beyond them are only counted. */
const MAX_ENTRIES = 100
const MAX_BYTES = 65_536
/** UTF-16 units of a name and of a reason before escaping. */
const MAX_NAME = 200
const MAX_REASON = 300

/** Reason that an item cannot be served. */
export interface Problem {
  readonly code: LeftOutCode
  readonly reason: string
}

/** Bounded list of items that are not served. */
export interface LeftOutList {
  /** Adds an item. `name`: the upstream's name, of any length and content; undefined if it has none. */
  add(kind: ItemKind, name: string | undefined, problem: Problem): void
  /** Adds the entries and the count of another list. */
  include(other: LeftOut): void
  /** Returns the list; undefined if it is empty. */
  result(): LeftOut | undefined
}

export function createLeftOut(): LeftOutList {
  const items: LeftOutItem[] = []
  let bytes = 0
  let more = 0
  const append = (item: LeftOutItem) => {
    // after the first rejected item all others are rejected, so that the list is a stable prefix
    if (more > 0 || items.length === MAX_ENTRIES) return void more++
    const size = Buffer.byteLength(JSON.stringify(item))
    if (bytes + size > MAX_BYTES) return void more++
    bytes += size
    items.push(item)
  }
  return {
    add(kind, name, { code, reason }) {
      const cleaned = name === undefined ? {} : { name: escapeText(name, MAX_NAME) }
      append({ kind, ...cleaned, code, reason: truncate(reason, MAX_REASON) })
    },
    include(other) {
      for (const item of other.items) append(item)
      more += other.more
    },
    result: () => (items.length + more === 0 ? undefined : { items, more })
  }
}

/** Returns the number of items that are not served, including items without an entry. */
export const leftOutCount = (leftOut: LeftOut | undefined): number =>
  leftOut === undefined ? 0 : leftOut.items.length + leftOut.more

interface CheckedItem {
  readonly kind: ItemKind
  readonly name: string
  readonly problem: Problem | undefined
}

/** Lists the stored items with a problem, then `unread`, the items that the last refresh skipped; undefined if none. */
export function leftOutOf(items: readonly CheckedItem[], unread: LeftOut | undefined): LeftOut | undefined {
  const found = createLeftOut()
  for (const { kind, name, problem } of items) if (problem) found.add(kind, name, problem)
  if (unread) found.include(unread)
  return found.result()
}
