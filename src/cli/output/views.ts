import { isStringArray } from '../../domain/is-object.ts'
import type { Views } from '../io/cli.ts'
import type { KindName } from '../io/kinds.ts'
import { COLUMNS, labelOf, type Column, type Records } from './records.ts'
import { withoutAliases } from './aliases.ts'
import { details, table } from './table.ts'

function tableOf<T>(columns: readonly Column<T>[], rows: readonly T[], isWide: boolean, width: number | undefined) {
  if (rows.length === 0) return ''
  const formatMember = columns.filter((column) => isWide || !column.isWide)
  return table(
    formatMember.map(({ head }) => head),
    rows.map((row) => formatMember.map(({ value }) => value(row) ?? '')),
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
  if (isStringArray(value)) return value.join(', ')
  return JSON.stringify(value)
}

/** View of one record with all members. */
export const recordView = (record: object, name = (record as { name?: string }).name ?? ''): Views => ({
  table: () =>
    details(Object.entries(withoutAliases(record)).map(([key, value]) => [key.replaceAll('_', ' '), shown(value)])),
  names: () => [name]
})

/** View of a list of names. */
export const namesView = (names: readonly string[]): Views => ({ table: () => names.join('\n'), names: () => names })
