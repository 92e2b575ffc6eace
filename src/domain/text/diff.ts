export interface DiffLine {
  readonly change: 'same' | 'added' | 'removed'
  readonly text: string
}

/** Piece of a line; `isChanged` if the other side lacks it */
export interface DiffPiece {
  readonly text: string
  readonly isChanged: boolean
}

/** Row of two columns: a line before and after a change, in pieces; undefined where one side has no such line */
export interface DiffRow {
  readonly before: readonly DiffPiece[] | undefined
  readonly after: readonly DiffPiece[] | undefined
}

/** Cells of the tables of the longest common subsequence; beyond these everything counts as changed. */
const MAX_CELLS = 4_000_000
/** The same for the words of all lines together: a server chooses how many long lines there are. */
const MAX_WORD_CELLS = 16_000_000

/** Cells that may still be computed. */
interface Budget {
  cells: number
}

type Edit = readonly [change: DiffLine['change'], text: string]

/** Compares two lists of texts; what was removed comes before what was added. */
function editsOf(a: readonly string[], b: readonly string[], budget: Budget): Edit[] {
  let start = 0
  while (start < a.length && start < b.length && a[start] === b[start]) start++
  let end = 0
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end++
  const same = (text: string): Edit => ['same', text]
  return [
    ...a.slice(0, start).map(same),
    ...changed(a.slice(start, a.length - end), b.slice(start, b.length - end), budget),
    ...a.slice(a.length - end).map(same)
  ]
}

function changed(a: readonly string[], b: readonly string[], budget: Budget): Edit[] {
  const cells = a.length * b.length
  if (cells > Math.min(MAX_CELLS, budget.cells)) {
    return [...a.map((text): Edit => ['removed', text]), ...b.map((text): Edit => ['added', text])]
  }
  budget.cells -= cells
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
  const edits: Edit[] = []
  let [i, j] = [0, 0]
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      edits.push(['same', a[i]!])
      i++
      j++
    } else if (i < a.length && (j === b.length || lengths[(i + 1) * width + j]! >= lengths[i * width + j + 1]!)) {
      edits.push(['removed', a[i++]!])
    } else edits.push(['added', b[j++]!])
  }
  return edits
}

/** Compares two texts by line; removed lines come before added ones. */
export const diffLines = (before: string, after: string): DiffLine[] =>
  editsOf(before.split('\n'), after.split('\n'), { cells: MAX_CELLS }).map(([change, text]) => ({ change, text }))

/** Words, runs of blanks, and single other characters */
const wordsOf = (text: string): string[] => text.match(/[\p{L}\p{N}_]+|\s+|./gsu) ?? []

/** Joins neighbours that are alike; blanks between changed words count as changed. */
function joined(pieces: readonly DiffPiece[]): DiffPiece[] {
  const found: DiffPiece[] = []
  const isBetween = (at: number) =>
    /^\s+$/.test(pieces[at]!.text) && pieces[at - 1]?.isChanged === true && pieces[at + 1]?.isChanged === true
  for (const [at, each] of pieces.entries()) {
    const piece = each.isChanged || !isBetween(at) ? each : { ...each, isChanged: true }
    const last = found.at(-1)
    if (last?.isChanged === piece.isChanged) found[found.length - 1] = { ...last, text: last.text + piece.text }
    else found.push(piece)
  }
  return found
}

/** Compares two lines by word. */
function diffWords(before: string, after: string, budget: Budget): { before: DiffPiece[]; after: DiffPiece[] } {
  const edits = editsOf(wordsOf(before), wordsOf(after), budget)
  const side = (own: DiffLine['change']) =>
    joined(
      edits.flatMap(([change, text]) =>
        change === 'same' || change === own ? [{ text, isChanged: change === own }] : []
      )
    )
  return { before: side('removed'), after: side('added') }
}

/** Compares two texts in two columns, by line and within changed lines by word. */
export function diffRows(before: string, after: string): DiffRow[] {
  const rows: DiffRow[] = []
  const budget = { cells: MAX_WORD_CELLS }
  let removed: string[] = []
  let added: string[] = []
  const flush = () => {
    for (let at = 0; at < Math.max(removed.length, added.length); at++) {
      const [old, now] = [removed[at], added[at]]
      if (old !== undefined && now !== undefined) rows.push(diffWords(old, now, budget))
      else {
        const only = (text: string | undefined) => (text === undefined ? undefined : [{ text, isChanged: true }])
        rows.push({ before: only(old), after: only(now) })
      }
    }
    removed = []
    added = []
  }
  for (const { change, text } of diffLines(before, after)) {
    if (change === 'removed') removed.push(text)
    else if (change === 'added') added.push(text)
    else {
      flush()
      const same = [{ text, isChanged: false }]
      rows.push({ before: same, after: same })
    }
  }
  flush()
  return rows
}

export interface Hunk<T> {
  readonly lines: readonly T[]
  /** Number of unchanged lines omitted before the hunk */
  readonly skipped: number
}

/** Returns the changed lines with `context` lines around them. */
export function hunksOf<T>(lines: readonly T[], isChanged: (line: T) => boolean, context = 3): Hunk<T>[] {
  const near = lines.map(() => false)
  for (const [at, line] of lines.entries()) {
    if (isChanged(line)) near.fill(true, Math.max(0, at - context), at + context + 1)
  }
  const hunks: { lines: T[]; skipped: number }[] = []
  let skipped = 0
  for (const [at, each] of lines.entries()) {
    if (!near[at]) skipped++
    else if (skipped > 0 || hunks.length === 0) {
      hunks.push({ lines: [each], skipped })
      skipped = 0
    } else hunks.at(-1)!.lines.push(each)
  }
  return hunks
}
