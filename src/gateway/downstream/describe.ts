import { TITLE } from '../../domain/product.ts'
import type { ServerBlock } from '../catalog.ts'
import type { Scope } from '../scope.ts'

const MAX_INSTRUCTIONS_BYTES = 8_192

const about =
  `${TITLE} is a gateway to several MCP servers. ` +
  'The name of each tool and prompt begins with the name of its server and two underscores.'

/** Whether some server in scope declared a capability. */
const someHas = (scope: Scope, capability: string) =>
  scope.servers.some(({ stored }) => stored.verdict?.capabilities[capability] !== undefined)

/** What is declared must be answered: lists always are, be they empty (proxy page 3.1, 3.20). */
export function capabilitiesOf(scope: Scope): Record<string, object> {
  return {
    tools: { listChanged: true },
    prompts: { listChanged: true },
    resources: { listChanged: true },
    ...(someHas(scope, 'completions') ? { completions: {} } : {})
  }
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

/** One paragraph of ours, then what each server in scope says of itself (proxy page 3.3). */
export const instructionsOf = (scope: Scope): string => [about, ...scope.servers.flatMap(section)].join('\n\n')
