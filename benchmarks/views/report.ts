import { markdown } from '../table.ts'
import type { CallCost } from './calls.ts'
import type { RoundTrip } from './round-trip.ts'
import type { SwapCost } from './swap.ts'
import type { Accuracy } from './tokens.ts'

/** Results of `npm run bench:views`. */
export interface ViewsReport {
  readonly swap: SwapCost
  readonly calls: CallCost
  readonly roundTrip: RoundTrip
  readonly accuracies: readonly Accuracy[]
}

/** Name of the set of tools of MCP servers. */
export const PUBLISHED = 'of MCP servers'

const MOST_SWAP = 1.2
const MOST_CALL = 1.05
/** Percent of the groups whose estimate is near enough, for groups of this many tools or more. */
const accuracyGoal = { size: 20, percent: 99 }

const verdict = (isMet: boolean) => (isMet ? 'met' : '**missed**')
const whole = (value: number) => Math.round(value).toLocaleString('en')

/** The goal is for tools of MCP servers; the function-calling set shows what other schemas do. */
const hasGoal = ({ set, size }: Accuracy) => set === PUBLISHED && size >= accuracyGoal.size
const isAccurate = (each: Accuracy) => !hasGoal(each) || each.within >= accuracyGoal.percent

const accuracyRow = (each: Accuracy): string[] => [
  each.set,
  whole(each.size),
  whole(each.groups),
  ...[each.least, each.median, each.greatest].map((ratio) => ratio.toFixed(2)),
  `${each.within.toFixed(1)} %`,
  hasGoal(each) ? `≥ ${accuracyGoal.percent} %` : '',
  hasGoal(each) ? verdict(isAccurate(each)) : ''
]

const accuracyText = (accuracies: readonly Accuracy[]) => `
Estimated tokens (bytes of name, description and input schema in UTF-8, divided by four) in relation to counted ones: those
of name, description and input schema as JSON, with the encoding \`o200k_base\` of the npm package \`gpt-tokenizer\` 4.0.0,
for groups drawn at random from the tools of 13 published MCP servers, and from those of the function-calling set.

<!-- prettier-ignore -->
${markdown(['Tools', 'In a group', 'Groups', 'Least ratio', 'Median', 'Greatest ratio', 'Within 10 %', 'Goal', ''], accuracies.map(accuracyRow))}
`

/** Renders the results as a section of the page. */
export function report({ swap, calls, roundTrip, accuracies }: ViewsReport): { text: string; isMet: boolean } {
  const isKept = roundTrip.lost.length === 0
  const costs = [
    [
      'next catalog and the lists of the group, after a change of one of 50 servers',
      `${swap.ratio.toFixed(2)}×`,
      `≤ ${MOST_SWAP}×`,
      verdict(swap.ratio <= MOST_SWAP),
      `${swap.viewsMs.toFixed(2)} ms, ${swap.plainMs.toFixed(2)} ms without`
    ],
    [
      '`tools/call` of a renamed tool with a lock and a default, CPU per request',
      `${calls.ratio.toFixed(2)}×`,
      `≤ ${MOST_CALL}×`,
      verdict(calls.ratio <= MOST_CALL),
      calls.figures
    ],
    [
      '`tools/call` of a tool without an override, CPU per request',
      `${calls.otherRatio.toFixed(2)}×`,
      `≤ ${MOST_CALL}×`,
      verdict(calls.otherRatio <= MOST_CALL),
      ''
    ]
  ]
  const text = `A group with ${whole(swap.tools)} tools and ${swap.overrides} overrides (another name and description, a lock, a default),
compared with the same group without overrides. Repeat with \`npm run bench:views\`.

<!-- prettier-ignore -->
${markdown(['Work', 'Result', 'Goal', '', 'Figures'], costs)}

Of ${whole(roundTrip.tools)} tools of the function-calling set below, ${roundTrip.picked} were picked for a group, their descriptions cut to the first
sentence, and an argument of ${roundTrip.locked} locked: ~${whole(roundTrip.after)} tokens instead of ~${whole(roundTrip.before)}. Preview, saving, export and apply
${isKept ? 'lost nothing' : `**lost something: ${roundTrip.lost.join(', ')}**`}.
${accuracyText(accuracies)}`
  const isMet =
    swap.ratio <= MOST_SWAP &&
    Math.max(calls.ratio, calls.otherRatio) <= MOST_CALL &&
    calls.errors === 0 &&
    isKept &&
    accuracies.every(isAccurate)
  return { text, isMet }
}
