import { isMet, type Outcome } from './outcome.ts'
import { table } from './table.ts'

/**
 * Returns the page with another text in the section of this title. Without such a section it is added: as the first one
 * with `isFirst`, else at the end.
 */
export function withSection(page: string, title: string, text: string, isFirst = false): string {
  const heading = `\n## ${title}\n`
  const at = page.indexOf(heading)
  const first = page.indexOf('\n## ')
  if (at < 0 && isFirst && first >= 0)
    return `${page.slice(0, first)}${heading}\n${text.trimEnd()}\n${page.slice(first)}`
  if (at < 0) return `${page.trimEnd()}\n${heading}\n${text.trimEnd()}\n`
  const next = page.indexOf('\n## ', at + heading.length)
  return `${page.slice(0, at)}${heading}\n${text.trimEnd()}\n${next < 0 ? '' : page.slice(next)}`
}

/** Title of the last section, which `npm run bench` writes. */
export const GOALS = 'Goals'

/** Renders the section of the goals for a whole run. */
export function goals(outcomes: readonly Outcome[], machine: readonly string[], minutes: number, day: string): string {
  const missed = outcomes.filter((outcome) => isMet(outcome) === false).length
  const count = outcomes.filter(({ goal }) => goal).length
  return `The cost of Towpath, compared with the cost of the same work without it, measured in one run of \`npm run bench\` on
${day} (${minutes.toFixed(1)} minutes). ${count - missed} of ${count} goals are met.

Each ratio compares processes that were measured alternately within the run, by the CPU time that the operating system
reports, and is the median of all rounds.

${machine.map((line) => `- ${line}`).join('\n')}

The gateway runs with its checks and metrics on, and with the call log off unless a row says otherwise. The raw byte proxy
is \`node:http\` in front of undici: it parses nothing, checks nothing, and is as fast as one thread of Node.js can be.

<!-- prettier-ignore -->
${table(outcomes)}

To repeat the measurement, see \`benchmarks/README.md\`.`
}
