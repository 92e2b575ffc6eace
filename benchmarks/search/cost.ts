import { createHash } from 'node:crypto'
import { mean } from '../statistics.ts'
import { foundAnswer } from '../../src/mcp/search/answers.ts'
import { DEFAULT_SEARCH_LIMIT, MAX_SEARCH_LIMIT } from '../../src/domain/search/limits.ts'
import { searchToolDefinitions } from '../../src/catalog/search/search-tools.ts'
import type { FunctionCalls, Request, Tool } from './data.ts'
import { searchOver, type Find } from './retrieval.ts'

/** Estimates tokens as Towpath does everywhere: bytes of UTF-8 divided by four. */
const tokens = (text: string) => Math.ceil(Buffer.byteLength(text) / 4)
const tokensOf = (texts: readonly string[]) => texts.reduce((sum, text) => sum + tokens(text), 0)

/** Tokens of a task: what enters the context of a model before it can call the right tool. */
export interface Cost {
  readonly tools: number
  /** Tasks that were replayed */
  readonly tasks: number
  /** Whole list */
  readonly full: number
  /** List in search mode */
  readonly list: number
  /** Answers of a task, in the mean */
  readonly search: number
  /** Share of the tasks whose tools were all found, in percent */
  readonly solved: number
}

const digest = ({ definition }: Tool) => createHash('sha256').update(definition).digest('hex')

/** Puts tools in an order that is the same on every machine and tells nothing of them. */
export function shuffled(tools: readonly Tool[]): readonly Tool[] {
  const keys = new Map(tools.map((tool) => [tool, digest(tool)]))
  return tools.toSorted((a, b) => (keys.get(a)! < keys.get(b)! ? -1 : 1))
}

/** Replays a task: one query, and another one with more hits if a tool was not among the first. */
function replay(find: Find, { query, called }: Request) {
  let spent = 0
  for (const limit of [DEFAULT_SEARCH_LIMIT, MAX_SEARCH_LIMIT]) {
    const { hits, total } = find(query, limit)
    spent += tokens(
      foundAnswer(
        hits.map((each) => ({ ...each, server: 'tools' })),
        { total, named: 0 }
      ).text
    )
    const names = new Set(hits.map(({ name }) => name))
    if (called.every((name) => names.has(name))) return { spent, isSolved: true }
  }
  return { spent, isSolved: false }
}

/** Replays the tasks that some tools can do. */
export function costOf(tools: readonly Tool[], requests: readonly Request[]): Cost {
  const names = new Set(tools.map(({ name }) => name))
  const possible = requests.filter(({ called }) => called.every((name) => names.has(name)))
  const find = searchOver(tools)
  const tasks = possible.map((request) => replay(find, request))
  return {
    tools: tools.length,
    tasks: tasks.length,
    full: tokensOf(tools.map(({ definition }) => definition)),
    list: tokensOf(searchToolDefinitions([{ name: 'tools', about: '' }], DEFAULT_SEARCH_LIMIT)),
    search: mean(tasks.map(({ spent }) => spent)),
    solved: (100 * tasks.filter(({ isSolved }) => isSolved).length) / tasks.length
  }
}

/** Returns the costs of the first tools of the shuffled pool, for each of some numbers. */
export function costsOf({ tools, requests }: FunctionCalls, counts: readonly number[]): Cost[] {
  const order = shuffled(tools)
  return counts.map((count) => costOf(order.slice(0, count), requests))
}

/** Returns the number of tools from which on search mode costs less, if a session has some tasks. */
export function breakEven(costs: readonly Cost[], tasks: number): number | undefined {
  const pays = ({ full, list, search }: Cost) => list + tasks * search < full
  const last = costs.findLastIndex((cost) => !pays(cost))
  return costs[last + 1]?.tools
}
