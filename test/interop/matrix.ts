import { type Row, type Verdict, verdicts } from './cells.ts'
import { type Feature, features } from './outcomes.ts'
import { describe } from './scenarios.ts'

/** Symbols: direct result next to the result through the gateway. */
const signs: Readonly<Record<Verdict, string>> = {
  same: '✔✔',
  limit: '··',
  none: '––',
  better: '·✔',
  known: '✔k',
  unsteady: '✔~',
  fault: '✔✘'
}

const short: Readonly<Record<Feature, string>> = {
  init: 'init',
  lists: 'list',
  text: 'text',
  image: 'img',
  structured: 'strc',
  error: 'err',
  'no-arguments': 'noarg',
  prompt: 'prmt',
  read: 'read',
  template: 'tmpl',
  wildcard: 'wild',
  complete: 'compl',
  progress: 'prog',
  log: 'log',
  cancel: 'canc',
  sampling: 'samp',
  elicitation: 'elic',
  roots: 'roots',
  parallel: '∥20',
  askers: '∥ask',
  subscribe: 'subsc',
  'list-changed': 'chgd'
}

export function printRow(row: Row, width: number) {
  const cells = features.map((feature) => signs[row.cells[feature].verdict].padEnd(short[feature].length))
  console.log([describe(row.scenario).padEnd(width), ...cells].join(' '))
}

export function printHead(width: number) {
  console.log([''.padEnd(width), ...features.map((feature) => short[feature].padEnd(2))].join(' '))
}

/** Prints the legend, the notes on differences, and the counts. */
export function printNotes(rows: readonly Row[]) {
  for (const verdict of ['fault', 'unsteady', 'known', 'better', 'limit'] as const) {
    const found = rows.flatMap((row) => notesOf(row, verdict))
    if (found.length > 0) console.log(`\n${signs[verdict]} ${verdicts[verdict]}:`)
    for (const line of found) console.log(`  ${line}`)
  }
  const all = rows.flatMap(({ cells }) => Object.values(cells))
  const counts = (Object.keys(verdicts) as Verdict[]).map(
    (verdict) => `${all.filter((cell) => cell.verdict === verdict).length} ${signs[verdict]} ${verdict}`
  )
  console.log(`\n${rows.length} rows: ${counts.join(', ')}`)
}

/** Groups features with the same note. */
function notesOf({ scenario, cells }: Row, verdict: Verdict): string[] {
  const byNote = new Map<string, Feature[]>()
  for (const feature of features.filter((one) => cells[one].verdict === verdict))
    byNote.set(cells[feature].note, [...(byNote.get(cells[feature].note) ?? []), feature])
  return [...byNote].map(([note, found]) => `${describe(scenario)}: ${found.join(', ')}: ${note}`)
}
