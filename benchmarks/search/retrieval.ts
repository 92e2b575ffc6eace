import { readTool, type ReadTool } from '../../src/catalog/search/tool-text.ts'
import { BlockBuilder } from '../../src/domain/search/block.ts'
import { ToolRanking } from '../../src/domain/search/ranking.ts'
import type { FunctionCalls, Tool } from './data.ts'

/** A tool that was found, with what an answer shows of it. */
export interface FoundTool extends Tool {
  readonly read: ReadTool
}

/** Hits of a query, best first, and the number of all. */
export interface Hits {
  readonly hits: readonly FoundTool[]
  readonly total: number
}

export type Find = (query: string, limit: number) => Hits

/** Indexes tools as those of one server, and returns the search over them. */
export function searchOver(tools: readonly Tool[]): Find {
  const builder = new BlockBuilder()
  const all = tools.map((tool) => ({ ...tool, read: readTool(tool.definition) }))
  for (const { name, read } of all) {
    builder.add({ name, ownName: name, description: read.text, parameters: read.parameters })
  }
  const ranking = new ToolRanking([{ block: builder.finish({ name: 'tools', about: '' }) }])
  return (query, limit) => {
    const steps = ranking.search(query, limit)
    for (;;) {
      const { done, value } = steps.next()
      if (done) return { total: value.total, hits: value.hits.map(({ tool }) => all[tool]!) }
    }
  }
}

export const ranks = [1, 3, 5, 10] as const

/**
 * Returns recall in percent at each of `ranks`: the share of the called functions that are among the first hits, in the
 * mean over all requests. A tool counts by its name: of several with one name and other descriptions, any.
 */
export function recalls({ tools, requests }: FunctionCalls): number[] {
  const find = searchOver(tools)
  const sums = ranks.map(() => 0)
  for (const { query, called } of requests) {
    const names = find(query, ranks.at(-1)!).hits.map(({ name }) => name)
    ranks.forEach((rank, i) => {
      const first = new Set(names.slice(0, rank))
      sums[i]! += called.filter((name) => first.has(name)).length / called.length
    })
  }
  return sums.map((sum) => (100 * sum) / requests.length)
}
