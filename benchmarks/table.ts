import { isMet, type Outcome } from './outcome.ts'

const columns = ['#', 'Work', 'Reference', 'Measure', 'Goal', 'Result', '', 'Errors', 'Figures'] as const

function number(value: number, unit: string): string {
  if (Number.isNaN(value)) return '–'
  const digits = unit === 'processes' || Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2
  return unit === '×' ? `${value.toFixed(digits)}×` : `${value.toFixed(digits)} ${unit}`
}

function goalText({ goal, value }: Outcome): string {
  if (!goal) return Number.isNaN(value) ? '–' : 'documented'
  const { atMost, atLeast, unit } = goal
  const limit = (bound: number) => (unit === '×' ? `${bound}×` : `${bound.toLocaleString('en')} ${unit}`)
  return atMost === undefined ? `≥ ${limit(atLeast!)}` : `≤ ${limit(atMost)}`
}

const verdicts = new Map([
  [true, 'met'],
  [false, '**missed**'],
  [undefined, '']
])

const cells = (outcome: Outcome): string[] => [
  String(outcome.row),
  outcome.work,
  outcome.reference,
  outcome.measure,
  goalText(outcome),
  number(outcome.value, outcome.unit),
  verdicts.get(isMet(outcome))!,
  String(outcome.errors),
  outcome.note
]

const line = (texts: readonly string[]) =>
  `| ${texts
    .map((text) =>
      text
        .replaceAll('|', String.raw`\|`)
        .replaceAll(/\s+/g, ' ')
        .trim()
    )
    .join(' | ')} |`

export const markdown = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)].join('\n')

/** Renders a Markdown table with a line per outcome, in row order. */
export const table = (outcomes: readonly Outcome[]): string =>
  markdown(columns, outcomes.toSorted((a, b) => a.row - b.row).map(cells))
