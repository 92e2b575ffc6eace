import { isMet, type Outcome } from './outcome.ts'
import { table } from './table.ts'

const READING = '\n## Reading results\n'

/** What `npm run bench:calls` has found, on the page as it is. */
export const readingSection = (page: string): string => page.slice(page.indexOf(READING))

/** `docs/reference/performance.md` of a whole run. `reading`: its last section, which another command measures. */
export function page(
  outcomes: readonly Outcome[],
  machine: readonly string[],
  minutes: number,
  day: string,
  reading: string
): string {
  const missed = outcomes.filter((outcome) => isMet(outcome) === false).length
  const goals = outcomes.filter(({ goal }) => goal).length
  return `# Performance

What Towpath costs, next to what the same work costs without it, measured in one run of \`npm run bench\` on ${day}
(${minutes.toFixed(1)} minutes). ${goals - missed} of ${goals} goals are met. This page is the output of that run, but for the last section.

Read the ratios: they hold from machine to machine, the figures behind them only for this one. Each ratio compares
processes that were measured in turns within the run, by the CPU time that the operating system counts for them, and is
the median over the rounds. Every answer is checked; a single wrong one fails its line.

${machine.map((line) => `- ${line}`).join('\n')}

The gateway has its checks and metrics on, and the call log off where its line does not say otherwise. The raw byte proxy
is \`node:http\` in front of undici: it reads nothing, checks nothing, and is as fast as one thread of Node.js gets.

<!-- prettier-ignore -->
${table(outcomes)}

How to measure again: \`benchmarks/README.md\`.
${reading}`
}
