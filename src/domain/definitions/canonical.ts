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

/** Members of `_meta` that name an interface, or give it rights */
const countedMeta: Readonly<Partial<Record<DefinitionKind, readonly string[]>>> = {
  tool: ['ui', 'ui/resourceUri', 'openai/outputTemplate'],
  resource: ['ui'],
  template: ['ui']
}

/** Programs that copy members one by one would read members of this one as those of the definition. */
const PROTOTYPE = '__proto__'
/** Longer names of members look like no counted one. */
const MAX_FOLDED = 64
const metaKeys = ['_meta'] as const
const letters = /[^\p{L}\p{N}]/gu

/** Returns the name of a member as the most lenient reader takes it: any case, form and separator, up to a NUL. */
const fold = (key: string): string =>
  key.split('\0', 1)[0]!.normalize('NFKC').replace(letters, '').toUpperCase().toLowerCase()

const foldedKeys = new WeakMap<readonly string[], ReadonlySet<string>>()

/** Returns the folded names of members. `keys`: a constant list. */
function foldedOf(keys: readonly string[]): ReadonlySet<string> {
  const known = foldedKeys.get(keys)
  if (known) return known
  const folded = new Set([...keys, PROTOTYPE].map(fold))
  foldedKeys.set(keys, folded)
  return folded
}

/** Returns the members of an object that some readers take for one of these, in the order of their names. */
function lookAlikes(members: ReadonlyMap<string, Canonical>, keys: readonly string[]): string[] {
  const folded = foldedOf(keys)
  return [...members.keys()]
    .filter((key) => !keys.includes(key) && key.length <= MAX_FOLDED && folded.has(fold(key)))
    .sort()
}

/** Counted members of a definition with their canonical texts; those of `_meta` are called `_meta.<key>` */
export type CountedMembers = ReadonlyMap<string, string>

/** Optional members that are null mean the same as absent ones (mcp-proxy.md#reading-upstream-lists). */
const isAbsent = (value: Canonical | undefined) => value === undefined || ('text' in value && value.text === 'null')

function pick(value: Canonical | undefined, keys: readonly string[], prefix = ''): [string, string][] {
  if (value === undefined || 'text' in value) return []
  const { members } = value
  return [...keys, ...lookAlikes(members, keys)].flatMap((key): [string, string][] => {
    const member = members.get(key)
    return isAbsent(member) ? [] : [[prefix + key, canonicalText(member!)]]
  })
}

/** Returns the members of a definition, as JSON text, that count. Throws SyntaxError for malformed JSON. */
export function countedOf(kind: DefinitionKind, definition: string): CountedMembers {
  const value = readCanonical(definition)
  if ('text' in value) throw new SyntaxError('not an object')
  const keys = countedMeta[kind]
  if (!keys) return new Map(pick(value, countedMembers[kind]))
  const metaNames = ['_meta', ...lookAlikes(value.members, metaKeys)]
  const meta = metaNames.flatMap((name) => pick(value.members.get(name), keys, `${name}.`))
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
