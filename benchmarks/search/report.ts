import { markdown } from '../table.ts'
import type { Cost } from './cost.ts'
import { ranks } from './retrieval.ts'
import type { Speed } from './speed.ts'

/** Results of `npm run bench:search`. */
export interface SearchReport {
  readonly speed: Speed
  readonly tools: number
  readonly requests: number
  /** Percent, at each of `ranks` */
  readonly recalls: readonly number[]
  readonly costs: readonly Cost[]
  /** Number of tools from which on search mode costs less, by the tasks of a session; undefined: more than measured */
  readonly breakEven: readonly { readonly tasks: number; readonly tools: number | undefined }[]
}

/** Recall in percent to reach, by rank. */
const goals = new Map<number, number>([
  [5, 87],
  [10, 92]
])
/** Share of the whole list in percent that a task may cost, at this number of tools. */
const goalCost = { tools: 526, percent: 5 }

/** Limits of the times in milliseconds, and of the memory in MiB. */
const limits = { p99: 10, readyMs: 50, stallMs: 20, rssMib: 40 }

const whole = (value: number) => Math.round(value).toLocaleString('en')
const percentOf = ({ list, search, full }: Cost) => (100 * (list + search)) / full

function costRow(cost: Cost): string[] {
  const { tools, tasks, full, list, search, solved } = cost
  const share = `${percentOf(cost).toFixed(1)} %`
  return [whole(tools), whole(full), whole(list), whole(search), share, `${solved.toFixed(0)} % of ${whole(tasks)}`]
}

const verdict = (isMet: boolean) => (isMet ? 'met' : '**missed**')

function recallRow(rank: number, value: number): string[] {
  const goal = goals.get(rank)
  return [
    `recall@${rank}`,
    `${value.toFixed(1)} %`,
    goal === undefined ? '' : `≥ ${goal} %`,
    goal === undefined ? '' : verdict(value >= goal)
  ]
}

const isFast = ({ p99, readyMs, stallMs, rssMib }: Speed) =>
  readyMs <= limits.readyMs && p99 <= limits.p99 && stallMs <= limits.stallMs && rssMib <= limits.rssMib

function speedTable({ p50, p99, stallMs, firstMs, readyMs, rssMib, indexMib }: Speed): string {
  const row = (measure: string, value: number, unit: string, limit?: number) => [
    measure,
    `${value.toFixed(1)} ${unit}`,
    limit === undefined ? '' : `≤ ${limit} ${unit}`,
    limit === undefined ? '' : verdict(value <= limit)
  ]
  return markdown(
    ['Measure', 'Result', 'Goal', ''],
    [
      row('a query, p50', p50, 'ms'),
      row('a query, p99', p99, 'ms', limits.p99),
      row('first query, indexed in the background', readyMs, 'ms', limits.readyMs),
      row('first query, with indexing', firstMs, 'ms'),
      row('longest stall of the event loop while indexing', stallMs, 'ms', limits.stallMs),
      row('resident memory', rssMib, 'MiB', limits.rssMib),
      row('size that the index states', indexMib, 'MiB')
    ]
  )
}

/** Renders the results as a section of the page. */
export function report({ speed, tools, requests, recalls, costs, breakEven }: SearchReport): {
  text: string
  isMet: boolean
} {
  const atGoal = costs.find((cost) => cost.tools === goalCost.tools)
  const isCheap = atGoal !== undefined && percentOf(atGoal) <= goalCost.percent
  const isMet = isCheap && isFast(speed) && ranks.every((rank, i) => recalls[i]! >= (goals.get(rank) ?? 0))
  const lines = breakEven.map(({ tasks, tools: from }) => {
    const session = `${tasks} search${tasks === 1 ? '' : 'es'} in a session`
    return `- ${session}: from ${from === undefined ? 'more than 100' : from} tools on`
  })
  const text = `The pooled function-calling set of the PyPI package \`bfcl-eval\` 2026.3.23 (Apache-2.0): ${whole(tools)} tools without
duplicates of name and description, ${whole(requests)} requests of users. The query is the last turn of the user as it is, the
label is the functions that answer it, by name. Repeat with \`npm run bench:search\`.

<!-- prettier-ignore -->
${markdown(
  ['Measure', 'Result', 'Goal', ''],
  ranks.map((rank, i) => recallRow(rank, recalls[i]!))
)}

Tokens that enter the context of a model before it calls the right tool, estimated as bytes divided by four. A task is
replayed as one search with ten hits, and a second one with 25 if a tool was not among them.

<!-- prettier-ignore -->
${markdown(['Tools', 'Whole list', 'List in search mode', 'Searches of a task', 'Share', 'Found'], costs.map(costRow))}

At ${whole(goalCost.tools)} tools the goal is ${goalCost.percent} %: ${verdict(isCheap)}.

Search mode costs fewer tokens than the whole list

${lines.join('\n')}

Below, it does not pay; each search is also one more turn of the model.

Times and memory for ${whole(speed.tools)} tools of ${speed.servers} servers, in one process with the benchmark:

<!-- prettier-ignore -->
${speedTable(speed)}
`
  return { text, isMet }
}
