import { createHash } from 'node:crypto'
import type { DefinitionKind } from './kinds.ts'
import { canonicalText, readCanonical, type Canonical } from './canonical-json.ts'

/** Members that models or hosts act on; a change of another member is no change of the definition. */
const countedMembers: Readonly<Record<DefinitionKind, readonly string[]>> = {
  tool: ['name', 'title', 'description', 'inputSchema', 'outputSchema', 'annotations'],
  prompt: ['name', 'title', 'description', 'arguments'],
  resource: ['uri', 'name', 'title', 'description', 'mimeType'],
  template: ['uriTemplate', 'name', 'title', 'description', 'mimeType'],
  skill: ['uri', 'frontmatter', 'resources'],
  instructions: ['instructions']
}

/** Members of a tool's `_meta` that name its interface */
const countedMeta = ['ui', 'ui/resourceUri', 'openai/outputTemplate']

/** Counted members of a definition with their canonical texts; those of `_meta` are called `_meta.<key>` */
export type CountedMembers = ReadonlyMap<string, string>

/** Optional members that are null mean the same as absent ones (mcp-proxy.md#reading-upstream-lists). */
const isAbsent = (value: Canonical | undefined) => value === undefined || ('text' in value && value.text === 'null')

function pick(value: Canonical | undefined, keys: readonly string[], prefix = ''): [string, string][] {
  if (value === undefined || 'text' in value) return []
  return keys.flatMap((key): [string, string][] => {
    const member = value.members.get(key)
    return isAbsent(member) ? [] : [[prefix + key, canonicalText(member!)]]
  })
}

/** Returns the members of a definition, as JSON text, that count. Throws SyntaxError for malformed JSON. */
export function countedOf(kind: DefinitionKind, definition: string): CountedMembers {
  const value = readCanonical(definition)
  if ('text' in value) throw new SyntaxError('not an object')
  const meta = kind === 'tool' ? pick(value.members.get('_meta'), countedMeta, '_meta.') : []
  return new Map([...pick(value, countedMembers[kind]), ...meta])
}

const hash = (text: string) => createHash('sha256').update(text).digest('hex')

/**
 * Returns the fingerprint of a definition: SHA-256, hexadecimal, of its canonical text. Key order, white space, spelling
 * of numbers and strings, and members that do not count have no influence. Malformed JSON is taken byte for byte.
 */
export function fingerprintOf(kind: DefinitionKind, definition: string): string {
  let members: CountedMembers
  try {
    members = countedOf(kind, definition)
  } catch (error) {
    if (error instanceof SyntaxError) return hash(`malformed ${definition}`)
    throw error
  }
  return hash(`{${[...members].map(([key, text]) => `${JSON.stringify(key)}:${text}`).join(',')}}`)
}

/** Returns the instructions of a server as a definition, also if it has none: the later ones are then a change. */
export const instructionsDefinition = (instructions: string | null): string =>
  JSON.stringify(instructions === null ? {} : { instructions })

/** Returns the instructions in such a definition; null if there are none. */
export const instructionsIn = (definition: string): string | null =>
  (JSON.parse(definition) as { instructions?: string }).instructions ?? null

const prefix = 'sha256:'

/** Returns a fingerprint as the API and files spell it. */
export const spellFingerprint = (fingerprint: string): string => prefix + fingerprint

/** Returns the fingerprint that a text of the API or of a file means; the text itself if it is none. */
export const readFingerprint = (text: string): string => (text.startsWith(prefix) ? text.slice(prefix.length) : text)
