import { TITLE } from '../../domain/product.ts'
import { toBlockQuote } from '../../domain/text/quoted.ts'
import type { CatalogServer } from '../../catalog/catalog.ts'
import type { Scope } from '../../catalog/scope.ts'
import type { Era } from '../../upstream/transport/connection.ts'
import { canFollow } from '../../catalog/undeclared-methods.ts'
import { extensionsOf } from './extensions.ts'

/**
 * Limits of one server's instructions and of all together; in a bare group the larger one applies to its only server.
 */
const MAX_INSTRUCTIONS_BYTES = 8_192
const MAX_ALL_BYTES = 65_536

const preamble = (hasRenamedTools: boolean) =>
  `${TITLE} is a gateway to several MCP servers. ` +
  `The name of each ${hasRenamedTools ? 'prompt, and of most tools,' : 'tool and prompt'} begins with the name of its ` +
  'server and two underscores. ' +
  'Below, lines that begin with ">" come from the server named in the heading, and from nowhere else.'

const searching =
  'The tools of this endpoint are not listed: find them with find_tools, then call them with read_tool or call_tool.'

const declares = ({ stored }: CatalogServer, capability: string) =>
  stored.negotiation?.capabilities[capability] !== undefined

const completion = (servers: readonly CatalogServer[]) =>
  servers.some((server) => declares(server, 'completions')) ? { completions: {} } : {}

const logging = (servers: readonly CatalogServer[]) =>
  servers.some((server) => declares(server, 'logging')) ? { logging: {} } : {}

/**
 * Returns the capabilities to declare. List methods are always supported, even if a list is empty
 * (mcp-proxy.md#initialize-and-serverdiscover, mcp-proxy.md#capabilities). Only prompts and resources can be completed,
 * so servers that contribute picked tools do not count. A bare group declares the capabilities of its only server.
 * `era`: protocol of the caller.
 */
export function capabilitiesOf(scope: Scope, era: Era): Record<string, object> {
  const { servers, wholeServers, isBare } = scope
  const only = isBare ? wholeServers[0] : undefined
  const lists = ['tools', 'prompts', 'resources'].filter((name) => !only || declares(only, name))
  const declared: Record<string, object> = Object.fromEntries(lists.map((name) => [name, { listChanged: true }]))
  if (wholeServers.some(({ stored }) => canFollow(stored.negotiation))) {
    declared.resources = { ...declared.resources, subscribe: true }
  }
  const extensions = extensionsOf(scope, era)
  return { ...declared, ...logging(servers), ...completion(wholeServers), ...(extensions && { extensions }) }
}

/** Truncates text to `maxBytes` of UTF-8, at a character boundary. */
const truncate = (text: string, maxBytes: number) =>
  Buffer.byteLength(text) <= maxBytes
    ? text
    : Buffer.from(text)
        .subarray(0, maxBytes)
        .toString()
        .replace(/\uFFFD+$/, '')

/**
 * Returns a server's instructions quoted under its name, so that they cannot imitate another section or the gateway.
 */
function section({ name, instructions }: CatalogServer): string[] {
  if (!instructions) return []
  return [
    `## ${name}\n${truncate(toBlockQuote(truncate(instructions, MAX_INSTRUCTIONS_BYTES)), MAX_INSTRUCTIONS_BYTES)}`
  ]
}

/** Keeps the sections that fit and states how many were left out. */
function fitSections(sections: readonly string[]): string[] {
  let room = MAX_ALL_BYTES
  const taken = sections.filter((text) => (room -= Buffer.byteLength(text)) >= 0)
  const rest = sections.length - taken.length
  return rest === 0 ? taken : [...taken, `The instructions of ${rest} more servers are left out: they are too long.`]
}

/**
 * Returns the gateway's introduction, the group's own instructions, and each server's quoted ones. In a bare group: the
 * group's, then those of the only server; undefined if there are none.
 */
export function instructionsOf({ servers, isBare, instructions, hasRenamedTools, search }: Scope): string | undefined {
  const own = [...(search ? [searching] : []), ...(instructions === null ? [] : [instructions])]
  if (isBare) {
    const server = servers[0]?.instructions
    const all = [...own, ...(server ? [truncate(server, MAX_ALL_BYTES)] : [])]
    return all.length === 0 ? undefined : all.join('\n\n')
  }
  return [preamble(hasRenamedTools), ...own, ...fitSections(servers.flatMap(section))].join('\n\n')
}
