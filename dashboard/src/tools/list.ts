import type { ServerStatus } from '../../../src/schemas/server-status.ts'
import { wordsOf, type ToolFilter } from './filter.ts'

/** Members common to tools, prompts and resources. */
export interface Item {
  readonly server: string
  readonly enabled: boolean
  readonly server_enabled: boolean
  readonly server_status: ServerStatus
  readonly tokens: number
  readonly flags: readonly string[]
}

/** Item with its searchable text, built once: 2,000 tools are filtered at each key press. */
export interface Entry<T extends Item> {
  readonly item: T
  readonly text: string
}

export interface Section<T extends Item> {
  readonly server: string
  readonly isServed: boolean
  readonly status: ServerStatus
  /** Number of items of the server, regardless of the filter. */
  readonly total: number
  readonly disabled: number
  readonly items: readonly T[]
}

export interface ItemList<T extends Item> {
  readonly sections: readonly Section<T>[]
  /** Items that match the filter. */
  readonly shown: readonly T[]
}

export const entriesOf = <T extends Item>(
  items: readonly T[],
  texts: (item: T) => readonly (string | undefined)[]
): Entry<T>[] =>
  items.map((item) => ({
    item,
    text: texts(item)
      .map((text) => text ?? '')
      .join('\n')
      .toLowerCase()
  }))

const isIn = (item: Item, { server, state }: ToolFilter): boolean => {
  if (server !== '' && item.server !== server) return false
  if (state === 'flagged') return item.flags.length > 0
  return state === 'all' || item.enabled === (state === 'enabled')
}

/** Returns the sections in the order of the entries, without sections that have no match. */
export function listItems<T extends Item>(entries: readonly Entry<T>[], filter: ToolFilter): ItemList<T> {
  const words = wordsOf(filter.q)
  const sections = new Map<string, { first: T; total: number; disabled: number; items: T[] }>()
  const shown: T[] = []
  for (const { item, text } of entries) {
    const section = sections.get(item.server) ?? { first: item, total: 0, disabled: 0, items: [] }
    if (section.first === item) sections.set(item.server, section)
    section.total++
    if (!item.enabled) section.disabled++
    if (isIn(item, filter) && words.every((word) => text.includes(word))) {
      section.items.push(item)
      shown.push(item)
    }
  }
  const kept = [...sections].filter(([, { items }]) => items.length > 0)
  return {
    sections: kept.map(([server, { first, ...rest }]) => ({
      server,
      isServed: first.server_enabled,
      status: first.server_status,
      ...rest
    })),
    shown
  }
}

/** Returns true if clients can use the item. */
export const isServed = ({ enabled, server_enabled, flags }: Item): boolean =>
  enabled && server_enabled && !flags.includes('unusable')

/** Returns the counts for the line below the title. */
export function summary(items: readonly Item[]) {
  const served = items.filter(isServed)
  return {
    served: served.length,
    disabled: items.length - served.length,
    servers: new Set(served.map(({ server }) => server)).size,
    /** Estimated tokens of the served definitions. */
    tokens: served.reduce((sum, { tokens }) => sum + tokens, 0)
  }
}

/**
 * Number of items above which sections start collapsed, and number of rows that a section adds at a time
 * (dashboard.md#budgets).
 */
export const CLOSED_ABOVE = 500
export const PAGE = 200

interface NamedItem {
  readonly canonical_name: string
}

/** Returns the items that a bulk action works on: selected and visible, in their order. */
export const selectedItems = <T extends NamedItem>(shown: readonly T[], selected: ReadonlySet<string>): T[] =>
  shown.filter(({ canonical_name }) => selected.has(canonical_name))

/** Selects all visible items, or none of them if all are selected. Hidden items keep their state. */
export function toggleAll(shown: readonly NamedItem[], selected: ReadonlySet<string>): Set<string> {
  const names = shown.map(({ canonical_name }) => canonical_name)
  const next = new Set(selected)
  const isAll = names.every((name) => selected.has(name))
  for (const name of names) {
    if (isAll) next.delete(name)
    else next.add(name)
  }
  return next
}

export function toggle(selected: ReadonlySet<string>, name: string): Set<string> {
  const next = new Set(selected)
  if (!next.delete(name)) next.add(name)
  return next
}
