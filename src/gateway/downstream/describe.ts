import { TITLE } from '../../domain/product.ts'
import type { ServerBlock } from '../catalog.ts'
import type { Scope } from '../scope.ts'
import { canFollow } from '../watching.ts'

const MAX_INSTRUCTIONS_BYTES = 8_192

const about =
  `${TITLE} is a gateway to several MCP servers. ` +
  'The name of each tool and prompt begins with the name of its server and two underscores.'

const declares = ({ stored }: ServerBlock, capability: string) => stored.verdict?.capabilities[capability] !== undefined

const completion = (servers: readonly ServerBlock[]) =>
  servers.some((server) => declares(server, 'completions')) ? { completions: {} } : {}

const logging = (servers: readonly ServerBlock[]) =>
  servers.some((server) => declares(server, 'logging')) ? { logging: {} } : {}

/**
 * What is declared must be answered: lists always are, be they empty (proxy page 3.1, 3.20). Prompts and resources are all
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

const section = ({ name, stored }: ServerBlock): string[] =>
  stored.verdict?.instructions ? [`## ${name}\n${cut(stored.verdict.instructions, MAX_INSTRUCTIONS_BYTES)}`] : []

/**
 * One paragraph of ours, then what each server in scope says of itself; bare: the server's own, verbatim, where it has any
 * (proxy page 3.3).
 */
export function instructionsOf({ servers, isBare }: Scope): string | undefined {
  if (isBare) return servers[0]?.stored.verdict?.instructions ?? undefined
  return [about, ...servers.flatMap(section)].join('\n\n')
}
