import { isStringArray } from '../../domain/is-object.ts'
import type { Views } from '../io/cli.ts'
import type { Paint } from '../io/messages.ts'
import type { KindName } from '../io/kinds.ts'
import { COLUMNS, labelOf, type Column, type Records } from './records.ts'
import { withoutAliases } from './aliases.ts'
import { details, table } from './table.ts'

function tableOf<T>(
  columns: readonly Column<T>[],
  rows: readonly T[],
  width: number | undefined,
  paint: Paint
): string {
  if (rows.length === 0) return ''
  return table(
    columns.map(({ head }) => head),
    rows.map((row) => columns.map(({ value }) => value(row) ?? '')),
    width,
    (text, row, column) => {
      const colour = columns[column]!.colour?.(rows[row]!)
      return colour === undefined ? text : paint(colour, text)
    }
  )
}

export const rowsView = <T>(columns: readonly Column<T>[], rows: readonly T[], name: (row: T) => string): Views => ({
  table: (width, paint) =>
    tableOf(
      columns.filter(({ isWide }) => !isWide),
      rows,
      width,
      paint
    ),
  wide: (width, paint) => tableOf(columns, rows, width, paint),
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
