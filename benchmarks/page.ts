import { isMet, type Outcome } from './outcome.ts'
import { table } from './table.ts'

const READING = '\n## Reading results\n'

const SEARCH = '\n## Search mode\n'

/** Returns the sections of the page that `npm run bench:calls` and `npm run bench:search` write. */
export const otherSections = (page: string): string => page.slice(page.indexOf(READING))

/** Returns the page with other results of `npm run bench:search`, in its last section. */
export function withSearchSection(page: string, text: string): string {
  const at = page.indexOf(SEARCH)
  return `${(at < 0 ? page : page.slice(0, at)).trimEnd()}\n${SEARCH}\n${text}`
}

/** Renders `docs/reference/performance.md` for a whole run. `others`: its last sections, written by other commands. */
export function page(
  outcomes: readonly Outcome[],
  machine: readonly string[],
  minutes: number,
  day: string,
  others: string
): string {
  const missed = outcomes.filter((outcome) => isMet(outcome) === false).length
  const goals = outcomes.filter(({ goal }) => goal).length
  return `# Performance

The cost of Towpath, compared with the cost of the same work without it, measured in one run of \`npm run bench\` on
${day} (${minutes.toFixed(1)} minutes). ${goals - missed} of ${goals} goals are met. Except for the last two sections, this page is the output of that run.

The ratios are comparable between machines; the absolute figures apply to this machine only. Each ratio compares processes
that were measured alternately within the run, by the CPU time that the operating system reports, and is the median of all
rounds. Every response is checked; a single wrong one fails its row.

${machine.map((line) => `- ${line}`).join('\n')}

The gateway runs with its checks and metrics on, and with the call log off unless a row says otherwise. The raw byte proxy
is \`node:http\` in front of undici: it parses nothing, checks nothing, and is as fast as one thread of Node.js can be.

<!-- prettier-ignore -->
${table(outcomes)}

To repeat the measurement, see \`benchmarks/README.md\`.
${others}`
}
