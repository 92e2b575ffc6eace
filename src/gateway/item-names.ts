import { createHash } from 'node:crypto'
import { hasHidden } from '../domain/hidden-characters.ts'
import type { ItemKind } from '../registry/model.ts'
import type { Problem } from './left-out.ts'

/** Policies for names of tools and prompts that MCP clients cannot use (`TOWPATH_TOOL_NAMES`). */
export type ToolNames = 'leave-out' | 'rename' | 'keep'

/** The length that MCP recommends at most for names of tools (specification 2025-11-25, "Tool Names"). */
const MAX_PUBLIC_NAME = 128
/** The length that the strictest LLM APIs take. */
const MAX_RENAMED = 64
/** A long name of a server leaves at least so much of each own name. */
const MIN_RENAMED = 24
const HASH_LENGTHS = [8, 16, 32, 64]

/** Characters of MCP's rule; SEP-986 allows the slash, which the specification's text leaves out. */
const mcpName = /^[A-Za-z0-9_./-]+$/
/** Characters that LLM APIs take. */
const llmName = /^[A-Za-z0-9_-]+$/

const badTool: Problem = {
  code: 'name_characters',
  reason: 'its name holds characters other than letters, digits and "_", "-", ".", "/", which clients refuse'
}
const badPrompt: Problem = {
  code: 'name_characters',
  reason: 'its name holds hidden or control characters, or begins or ends with white space'
}
const badUri: Problem = { code: 'name_characters', reason: 'its URI holds hidden or control characters' }
const tooLong: Problem = {
  code: 'name_too_long',
  reason: `its name with that of the server in front is longer than ${MAX_PUBLIC_NAME} characters`
}

const hasUnsafeCharacters = (text: string) => /[\t\n\r]/.test(text) || hasHidden(text)

/**
 * Why clients cannot use an item of this name; undefined where they can. Prompts are shown to people and never sent to an
 * LLM API, so that any character that is seen is good there.
 */
function nameProblem(server: string, kind: ItemKind, name: string): Problem | undefined {
  if (kind === 'resource' || kind === 'template') return hasUnsafeCharacters(name) ? badUri : undefined
  if (kind === 'tool' && !mcpName.test(name)) return badTool
  if (kind === 'prompt' && (hasUnsafeCharacters(name) || name.trim() !== name)) return badPrompt
  return server.length + 2 + name.length > MAX_PUBLIC_NAME ? tooLong : undefined
}

/** The same name for the same text: what LLM APIs take of it, and a part of its SHA-256. */
function safeName(kind: ItemKind, name: string, maxLength: number, hashLength: number): string {
  const hash = createHash('sha256').update(name).digest('hex').slice(0, hashLength)
  const kept = name.replace(/[^A-Za-z0-9_-]+/g, '_').replace(/^_+/, '')
  const cut = kept.slice(0, Math.max(1, maxLength - hashLength - 1)).replace(/_+$/, '')
  return `${cut === '' ? kind : cut}_${hash}`
}

const needsName = (server: string, kind: ItemKind, name: string, maxLength: number) =>
  kind === 'tool' ? !llmName.test(name) || name.length > maxLength : nameProblem(server, kind, name) !== undefined

/**
 * Names for those of a server's tools, or prompts, that LLM APIs do not take, by the upstream's own names. A name depends
 * on the own name alone, but where it is taken its hash is longer. A new name is no item's own name.
 */
function renameAll(server: string, kind: 'tool' | 'prompt', names: readonly string[]): ReadonlyMap<string, string> {
  const maxLength = Math.max(MIN_RENAMED, MAX_RENAMED - server.length - 2)
  const taken = new Set(names)
  const found = new Map<string, string>()
  for (const name of names.toSorted()) {
    if (!needsName(server, kind, name, maxLength)) continue
    const free = HASH_LENGTHS.map((length) => safeName(kind, name, maxLength, length)).find((each) => !taken.has(each))
    // every form is taken only where the server made it so: the item keeps its name, and is left out
    if (free === undefined) continue
    taken.add(free)
    found.set(name, free)
  }
  return found
}

/** Public names of one server's items. */
export interface ItemNames {
  /** The part behind `<server>__`; the own name where nothing has to be changed. */
  publicPart(kind: ItemKind, name: string): string
  /** Why an item is not served under any name; undefined where it can be. */
  problem(kind: ItemKind, name: string): Problem | undefined
}

const none: ReadonlyMap<string, string> = new Map()

/** Names for the items of a server under a policy. */
export function createItemNames(
  policy: ToolNames,
  server: string,
  items: readonly { readonly kind: ItemKind; readonly name: string }[]
): ItemNames {
  const of = (kind: 'tool' | 'prompt') => items.flatMap((item) => (item.kind === kind ? [item.name] : []))
  const renames = new Map<ItemKind, ReadonlyMap<string, string>>()
  if (policy === 'rename')
    for (const kind of ['tool', 'prompt'] as const) renames.set(kind, renameAll(server, kind, of(kind)))
  const rename = (kind: ItemKind, name: string) => (renames.get(kind) ?? none).get(name)
  return {
    publicPart: (kind, name) => rename(kind, name) ?? name,
    problem(kind, name) {
      if (policy === 'keep' || rename(kind, name) !== undefined) return undefined
      return nameProblem(server, kind, name)
    }
  }
}
