import { firstSentence } from './signature.ts'
import { MAX_QUERY, MAX_SEARCH_LIMIT } from '../../domain/search/limits.ts'

/** A server behind a search endpoint. */
export interface ListedServer {
  readonly name: string
  /** Description or instructions; empty if there are none */
  readonly about: string
}

/** Length of the list of servers in the description of `find_tools` */
const MAX_SERVERS_TEXT = 1_500

/** Returns a line for each server, cut evenly so that all lines together keep within `max` characters. */
export function serverLines(servers: readonly ListedServer[], max = MAX_SERVERS_TEXT): string[] {
  const whole = servers.map(({ name, about }) => {
    const sentence = firstSentence(about)
    return `- ${name}${sentence === '' ? '' : `: ${sentence}`}`
  })
  const fits = (each: number) => whole.reduce((sum, { length }) => sum + Math.min(length, each) + 1, 0) <= max
  if (fits(Infinity)) return whole
  let each = Math.floor(max / Math.max(1, servers.length))
  while (fits(each + 1)) each++
  const cut = whole.map((line, i) => {
    const shortest = servers[i]!.name.length + 2
    return line.length <= each ? line : `${line.slice(0, Math.max(shortest, each - 2)).replace(/\p{Surrogate}$/u, '')}…`
  })
  const shown: string[] = []
  let left = max
  for (const line of cut) {
    left -= line.length + 1
    if (left < 40) break
    shown.push(line)
  }
  return shown.length === cut.length ? shown : [...shown, `- and ${cut.length - shown.length} more servers`]
}

const innerCall = {
  type: 'object',
  properties: {
    name: { type: 'string', description: 'Name of the tool, as find_tools gives it' },
    arguments: { type: 'object', description: 'Arguments of the tool, as its inputSchema describes them' }
  },
  required: ['name'],
  additionalProperties: false
}

/**
 * Returns the definitions of the three tools that a search endpoint lists first, as JSON texts
 * (../../docs/how-to/tool-groups.md#search-mode). They depend on nothing but the servers and the limit.
 */
export function searchToolDefinitions(servers: readonly ListedServer[], limit: number): string[] {
  const find = {
    name: 'find_tools',
    title: 'Find tools',
    description:
      'Searches the tools of the servers below. Say in a few words what you want to do. The best hits come with their ' +
      `whole definition, the others with a signature. Search before you say that something cannot be done.\nServers:\n${serverLines(servers).join('\n')}`,
    inputSchema: {
      type: 'object',
      properties: {
        query: {
          type: 'string',
          maxLength: MAX_QUERY,
          description: 'What to do, such as "create an issue"; empty: list the servers'
        },
        server: { type: 'string', description: 'Search only this server' },
        limit: { type: 'integer', minimum: 1, maximum: MAX_SEARCH_LIMIT, default: limit }
      },
      required: ['query'],
      additionalProperties: false
    },
    annotations: { readOnlyHint: true, openWorldHint: false }
  }
  const read = {
    name: 'read_tool',
    title: 'Call a tool that only reads',
    description: 'Calls a tool that find_tools found and whose readOnlyHint is true. The result is that of the tool.',
    inputSchema: innerCall,
    annotations: { readOnlyHint: true }
  }
  const call = {
    name: 'call_tool',
    title: 'Call a tool',
    description: 'Calls any tool that find_tools found. The result is that of the tool.',
    inputSchema: innerCall,
    annotations: { destructiveHint: true }
  }
  return [find, read, call].map((each) => JSON.stringify(each))
}
