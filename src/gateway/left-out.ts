import { truncate, escapeText } from '../domain/text.ts'
import type { ItemKind, LeftOut } from '../registry/model.ts'
import type { LeftOutCode, LeftOutItem } from '../schemas/left-out.ts'

/** Bounds of what is kept of one server; what exceeds them is counted. */
const MAX_ENTRIES = 100
const MAX_BYTES = 65_536
/** UTF-16 units of an upstream's name, and of a reason, before they are escaped. */
const MAX_NAME = 200
const MAX_REASON = 300

/** Why an item cannot be served. */
export interface Problem {
  readonly code: LeftOutCode
  readonly reason: string
}

/** Gathers items that are left out, within bounds. */
export interface LeftOutList {
  /** `name`: the upstream's own, of any length and content; undefined where it has none. */
  add(kind: ItemKind, name: string | undefined, problem: Problem): void
  /** Entries that are complete already, and how many more there are. */
  include(other: LeftOut): void
  /** Undefined where nothing is left out. */
  result(): LeftOut | undefined
}

export function createLeftOut(): LeftOutList {
  const items: LeftOutItem[] = []
  let bytes = 0
  let more = 0
  const take = (item: LeftOutItem) => {
    // later ones are not taken either: the first entries of a list are always the same
    if (more > 0 || items.length === MAX_ENTRIES) return void more++
    const size = Buffer.byteLength(JSON.stringify(item))
    if (bytes + size > MAX_BYTES) return void more++
    bytes += size
    items.push(item)
  }
  return {
    add(kind, name, { code, reason }) {
      const cleaned = name === undefined ? {} : { name: escapeText(name, MAX_NAME) }
      take({ kind, ...cleaned, code, reason: truncate(reason, MAX_REASON) })
    },
    include(other) {
      for (const item of other.items) take(item)
      more += other.more
    },
    result: () => (items.length + more === 0 ? undefined : { items, more })
  }
}

/** How many items are left out, those without an entry included. */
export const leftOutCount = (leftOut: LeftOut | undefined): number =>
  leftOut === undefined ? 0 : leftOut.items.length + leftOut.more

interface CheckedItem {
  readonly kind: ItemKind
  readonly name: string
  readonly problem: Problem | undefined
}

/** Stored items that cannot be served, then what the last reading left out; undefined where that is nothing. */
export function leftOutOf(items: readonly CheckedItem[], unread: LeftOut | undefined): LeftOut | undefined {
  const found = createLeftOut()
  for (const { kind, name, problem } of items) if (problem) found.add(kind, name, problem)
  if (unread) found.include(unread)
  return found.result()
}
