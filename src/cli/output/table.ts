import { escapeText } from '../../domain/text/text.ts'

/** Joins the lines of a text and trims them. */
const joined = (text: string) =>
  text
    .split(/[\r\n\t]/)
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join(' ')

/** Escapes upstream text, which must not move the cursor or forge a line. */
const cell = (text: string) => escapeText(joined(text), 100_000)

const clip = (text: string, width: number) =>
  text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`

/** Colours the text of a cell, which is padded already; `row` counts from 0 without the head. */
export type CellPainter = (text: string, row: number, column: number) => string

/**
 * Formats a table with two spaces between columns. The last column is clipped to the terminal's `width`; without it
 * nothing is cut.
 */
export function table(
  heads: readonly string[],
  rows: readonly (readonly string[])[],
  width?: number,
  paint: CellPainter = (text) => text
): string {
  const lines = [heads.map((head) => head.toUpperCase()), ...rows.map((row) => row.map(cell))]
  const widths = heads.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)))
  const last = heads.length - 1
  const left = widths.slice(0, last).reduce((sum, each) => sum + each + 2, 0)
  return lines
    .map((line, index) => {
      const texts = line.map((text, column) => (column === last ? text : text.padEnd(widths[column]!)))
      if (width !== undefined) texts[last] = clip(texts[last]!, Math.max(10, width - left))
      const painted = index === 0 ? texts : texts.map((text, column) => paint(text, index - 1, column))
      return painted.join('  ').trimEnd()
    })
    .join('\n')
}

/** Formats one row of a streamed table: pads to `widths`, which longer texts exceed. */
export const row = (
  texts: readonly string[],
  widths: readonly number[],
  paint: (text: string, column: number) => string = (text) => text
): string =>
  texts
    .map((text, column) => paint(cell(text).padEnd(widths[column] ?? 0), column))
    .join('  ')
    .trimEnd()

/** Formats one record: a line for each member with a value. */
export function details(members: readonly (readonly [name: string, value: string | undefined])[]): string {
  const shown = members.flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[name, value] as const]
  )
  const width = Math.max(0, ...shown.map(([name]) => name.length + 1))
  return shown.map(([name, value]) => `${`${name}:`.padEnd(width)}  ${cell(value)}`).join('\n')
}
