import type { ReadTool } from '../../catalog/search/tool-text.ts'
import { firstSentence } from '../../catalog/search/signature.ts'
import { serverLines, type ListedServer } from '../../catalog/search/search-tools.ts'

/** Hits that are given with their whole definition */
const WHOLE_HITS = 3
/** Bytes that these definitions may have together; larger ones are given whole if the query names the tool */
const WHOLE_BYTES = 32_768

/** A tool that was found. */
export interface FoundTool {
  readonly server: string
  readonly read: ReadTool
  /** JSON text of its definition, as the endpoint lists it */
  readonly definition: string
}

/** Result of `find_tools`. */
export interface SearchAnswer {
  readonly text: string
  /** JSON text of `structuredContent` */
  readonly structured: string
}

const lineOf = ({ signature, description }: ReadTool) => {
  const sentence = firstSentence(description)
  return sentence === '' ? signature : `${signature}: ${sentence}`
}

function structuredTool({ server, read, definition }: FoundTool, isWhole: boolean): string {
  const { name, signature, description } = read
  const short = JSON.stringify({ name, server, signature, description: firstSentence(description) })
  return isWhole ? `${short.slice(0, -1)},"definition":${definition}}` : short
}

/** Returns the tools whose definitions are given whole. */
function wholeOf(found: readonly FoundTool[], named: number): ReadonlySet<FoundTool> {
  let left = WHOLE_BYTES
  return new Set(
    found.slice(0, WHOLE_HITS).filter(({ definition }, i) => {
      const size = Buffer.byteLength(definition)
      if (size <= left) left -= size
      else return i === 0 && named > 0
      return true
    })
  )
}

/**
 * Returns the answer with the tools that were found, best first. `total`: number of all tools with a word of the query,
 * `named`: number of the first ones that the query names.
 */
export function foundAnswer(
  found: readonly FoundTool[],
  { total, named }: { total: number; named: number }
): SearchAnswer {
  const shown = wholeOf(found, named)
  const whole = found.filter((each) => shown.has(each))
  const rest = found.filter((each) => !shown.has(each))
  const text = [
    ...whole.map(({ definition }) => definition),
    ...(rest.length === 0 ? [] : ['Further tools, short:', ...rest.map(({ read }) => lineOf(read))]),
    ...(total > found.length
      ? [`${total - found.length} more have a word of the query: be more precise, or raise "limit".`]
      : [])
  ]
  const tools = found.map((each) => structuredTool(each, shown.has(each)))
  return { text: text.join('\n'), structured: `{"tools":[${tools.join(',')}],"total":${total}}` }
}

const noTools = '{"tools":[],"total":0}'

/** Returns the answer to a query without a hit, or to an empty one. */
export function serversAnswer(query: string, servers: readonly ListedServer[]): SearchAnswer {
  const head = query.trim() === '' ? 'Servers:' : 'No tool has a word of this query: try other words. Servers:'
  return { text: [head, ...serverLines(servers)].join('\n'), structured: noTools }
}
