import { printJson, type Json } from '../form/json.ts'

export interface DiffLine {
  readonly change: 'same' | 'added' | 'removed'
  readonly text: string
}

/** Cells of the table of the longest common subsequence; beyond this size all lines count as changed. */
const MAX_CELLS = 4_000_000

const line = (change: DiffLine['change']) => (text: string) => ({ change, text })

/** Compares two texts by line; removed lines come before added ones. */
export function diffLines(before: string, after: string): DiffLine[] {
  const [a, b] = [before.split('\n'), after.split('\n')]
  let start = 0
  while (start < a.length && start < b.length && a[start] === b[start]) start++
  let end = 0
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end++
  return [
    ...a.slice(0, start).map(line('same')),
    ...changed(a.slice(start, a.length - end), b.slice(start, b.length - end)),
    ...a.slice(a.length - end).map(line('same'))
  ]
}

function changed(a: readonly string[], b: readonly string[]): DiffLine[] {
  if (a.length * b.length > MAX_CELLS) return [...a.map(line('removed')), ...b.map(line('added'))]
  const width = b.length + 1
  const lengths = new Uint32Array((a.length + 1) * width)
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      lengths[i * width + j] =
        a[i] === b[j]
          ? lengths[(i + 1) * width + j + 1]! + 1
          : Math.max(lengths[(i + 1) * width + j]!, lengths[i * width + j + 1]!)
    }
  }
  const lines: DiffLine[] = []
  let [i, j] = [0, 0]
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push({ change: 'same', text: a[i]! })
      i++
      j++
    } else if (i < a.length && (j === b.length || lengths[(i + 1) * width + j]! >= lengths[i * width + j + 1]!)) {
      lines.push({ change: 'removed', text: a[i++]! })
    } else lines.push({ change: 'added', text: b[j++]! })
  }
  return lines
}

export interface Hunk {
  readonly lines: readonly DiffLine[]
  /** Number of unchanged lines omitted before the hunk. */
  readonly skipped: number
}

/** Returns the changed lines with `context` lines around them. */
export function hunksOf(lines: readonly DiffLine[], context = 3): Hunk[] {
  const isNear = lines.map((_, at) =>
    lines.slice(Math.max(0, at - context), at + context + 1).some(({ change }) => change !== 'same')
  )
  const hunks: { lines: DiffLine[]; skipped: number }[] = []
  let skipped = 0
  for (const [at, each] of lines.entries()) {
    if (!isNear[at]) skipped++
    else if (skipped > 0 || hunks.length === 0) {
      hunks.push({ lines: [each], skipped })
      skipped = 0
    } else hunks.at(-1)!.lines.push(each)
  }
  return hunks
}

/** Parts of a tool, prompt or resource that an agent reads. */
export interface Definition {
  readonly name?: string | undefined
  readonly title?: string | undefined
  readonly description?: string | undefined
  readonly input_schema?: unknown
  readonly output_schema?: unknown
  readonly annotations?: unknown
  readonly arguments?: unknown
  readonly mime_type?: string | undefined
  readonly size?: number | undefined
}

/** Returns a definition as lines of text: the description as it is, the rest as JSON. */
export function definitionText(definition: Definition): string {
  const { name, title, description = '', mime_type, size } = definition
  const row = (label: string, value: string | number | undefined) => (value === undefined ? [] : [`${label}: ${value}`])
  const json = (name: string, value: unknown) => (value === undefined ? [] : [`${name} ${printJson(value as Json)}`])
  const parts = [
    ...row('name', name),
    ...row('title', title),
    description,
    ...row('MIME type', mime_type),
    ...row('size', size),
    ...json('arguments', definition.arguments),
    ...json('input schema', definition.input_schema),
    ...json('output schema', definition.output_schema),
    ...json('annotations', definition.annotations)
  ]
  return parts.join('\n')
}
