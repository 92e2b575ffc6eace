import { TITLE } from '../../domain/product.ts'
import { toBlockQuote } from '../../domain/quoted.ts'
import type { ServerBlock } from '../catalog.ts'
import type { Scope } from '../scope.ts'
import { canFollow } from '../tried-methods.ts'

/** What one server may say, and all of them together; a bare group's server may say as much as all. */
const MAX_INSTRUCTIONS_BYTES = 8_192
const MAX_ALL_BYTES = 65_536

const preamble =
  `${TITLE} is a gateway to several MCP servers. ` +
  'The name of each tool and prompt begins with the name of its server and two underscores. ' +
  'Below, lines that begin with ">" are the words of the server that the heading names, and of nobody else.'

const declares = ({ stored }: ServerBlock, capability: string) => stored.verdict?.capabilities[capability] !== undefined

const completion = (servers: readonly ServerBlock[]) =>
  servers.some((server) => declares(server, 'completions')) ? { completions: {} } : {}

const logging = (servers: readonly ServerBlock[]) =>
  servers.some((server) => declares(server, 'logging')) ? { logging: {} } : {}

/**
 * What is declared must be answered: lists always are, be they empty (mcp-proxy.md#initialize-and-serverdiscover,
 * mcp-proxy.md#capabilities). Prompts and resources are all
 * that can be completed, so that a server of picked tools has no say in it. Bare: what the one server declares.
 */
export function capabilitiesOf({ servers, whole, isBare }: Scope): Record<string, object> {
  const only = isBare ? whole[0] : undefined
  const lists = ['tools', 'prompts', 'resources'].filter((name) => !only || declares(only, name))
  const declared: Record<string, object> = Object.fromEntries(lists.map((name) => [name, { listChanged: true }]))
  if (whole.some(({ stored }) => canFollow(stored.verdict))) {
    declared.resources = { ...declared.resources, subscribe: true }
  }
  return { ...declared, ...logging(servers), ...completion(whole) }
}

/** Text of at most so many UTF-8 bytes, not cut within a character. */
const cut = (text: string, maxBytes: number) =>
  Buffer.byteLength(text) <= maxBytes
    ? text
    : Buffer.from(text)
        .subarray(0, maxBytes)
        .toString()
        .replace(/\uFFFD+$/, '')

/** A server's words under its name, quoted: they cannot pass for another section, or for the gateway's own. */
function section({ name, stored }: ServerBlock): string[] {
  const instructions = stored.verdict?.instructions
  if (!instructions) return []
  return [`## ${name}\n${cut(toBlockQuote(cut(instructions, MAX_INSTRUCTIONS_BYTES)), MAX_INSTRUCTIONS_BYTES)}`]
}

/** As many sections as there is room for; the others are counted. */
function fitSections(sections: readonly string[]): string[] {
  let room = MAX_ALL_BYTES
  const taken = sections.filter((text) => (room -= Buffer.byteLength(text)) >= 0)
  const rest = sections.length - taken.length
  return rest === 0 ? taken : [...taken, `The instructions of ${rest} more servers are left out: they are too long.`]
}

/**
 * One paragraph of the gateway, then what each server in scope says of itself, quoted; bare: the one server's own
 * words as they are, where it has any.
 */
export function instructionsOf({ servers, isBare }: Scope): string | undefined {
  if (isBare) {
    const instructions = servers[0]?.stored.verdict?.instructions
    return instructions ? cut(instructions, MAX_ALL_BYTES) : undefined
  }
  return [preamble, ...fitSections(servers.flatMap(section))].join('\n\n')
}
