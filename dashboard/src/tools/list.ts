import type { ServerStatus } from '../../../src/schemas/dashboard/shared.ts'
import { wordsOf, type ToolFilter } from './filter.ts'

/** What tools, prompts and resources have in common here. */
export interface Item {
  readonly server: string
  readonly enabled: boolean
  readonly server_enabled: boolean
  readonly server_status: ServerStatus
  readonly tokens: number
  readonly flags: readonly string[]
}

/** An item with the text that is searched, made once: 2,000 tools are filtered at each key. */
export interface Entry<T extends Item> {
  readonly item: T
  readonly text: string
}

export interface Section<T extends Item> {
  readonly server: string
  readonly isServed: boolean
  readonly status: ServerStatus
  /** Of the server, whatever the filter. */
  readonly total: number
  readonly disabled: number
  readonly items: readonly T[]
}

export interface ItemList<T extends Item> {
  readonly sections: readonly Section<T>[]
  /** Items that pass the filter. */
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

/** Sections in the order of the entries, those without an item that passes left out. */
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

/** An item that agents can use. */
export const isServed = ({ enabled, server_enabled, flags }: Item): boolean =>
  enabled && server_enabled && !flags.includes('unusable')

/** Counts for the line below the title. */
export function summary(items: readonly Item[]) {
  const served = items.filter(isServed)
  return {
    served: served.length,
    disabled: items.length - served.length,
    servers: new Set(served.map(({ server }) => server)).size,
    /** Of what agents read of the served ones. */
    tokens: served.reduce((sum, { tokens }) => sum + tokens, 0)
  }
}

/**
 * Sections are closed at first above so many items in all, and a section adds so many rows at a time
 * (dashboard.md#budgets).
 */
export const CLOSED_ABOVE = 500
export const PAGE = 200

interface Named {
  readonly canonical_name: string
}

/** What a bulk action works on: the selected ones that the filter shows, in their order. */
export const chosenOf = <T extends Named>(shown: readonly T[], selected: ReadonlySet<string>): T[] =>
  shown.filter(({ canonical_name }) => selected.has(canonical_name))

/** All shown ones selected, or, where they are already, none of them; those that are hidden stay as they are. */
export function toggledAll(shown: readonly Named[], selected: ReadonlySet<string>): Set<string> {
  const names = shown.map(({ canonical_name }) => canonical_name)
  const next = new Set(selected)
  const isAll = names.every((name) => selected.has(name))
  for (const name of names) {
    if (isAll) next.delete(name)
    else next.add(name)
  }
  return next
}

export function toggled(selected: ReadonlySet<string>, name: string): Set<string> {
  const next = new Set(selected)
  if (!next.delete(name)) next.add(name)
  return next
}
