import type { Views } from './cli.ts'
import type { KindName } from './kinds.ts'
import { COLUMNS, labelOf, type Column, type Records } from './records.ts'
import { withoutSpellings } from './spellings.ts'
import { details, table } from './table.ts'

function tableOf<T>(columns: readonly Column<T>[], rows: readonly T[], isWide: boolean, width: number | undefined) {
  if (rows.length === 0) return ''
  const shown = columns.filter((column) => isWide || !column.isWide)
  return table(
    shown.map(({ head }) => head),
    rows.map((row) => shown.map(({ value }) => value(row) ?? '')),
    width
  )
}

export const rowsView = <T>(columns: readonly Column<T>[], rows: readonly T[], name: (row: T) => string): Views => ({
  table: (width) => tableOf(columns, rows, false, width),
  wide: (width) => tableOf(columns, rows, true, width),
  names: () => rows.map(name)
})

export const listView = <K extends KindName>(kind: K, rows: readonly Records[K][]): Views =>
  rowsView<Records[K]>(COLUMNS[kind], rows, labelOf)

const shown = (value: unknown): string | undefined => {
  if (value === undefined || value === null || typeof value === 'string') return value ?? undefined
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value.join(', ')
  return JSON.stringify(value)
}

/** One record, all its members. */
export const recordView = (record: object, name = (record as { name?: string }).name ?? ''): Views => ({
  table: () =>
    details(Object.entries(withoutSpellings(record)).map(([key, value]) => [key.replaceAll('_', ' '), shown(value)])),
  names: () => [name]
})

/** A list of names: the answer of a switch. */
export const namesView = (names: readonly string[]): Views => ({ table: () => names.join('\n'), names: () => names })
