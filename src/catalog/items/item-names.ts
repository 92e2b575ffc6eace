import { createHash } from 'node:crypto'
import { hasHidden } from '../../domain/text/hidden-characters.ts'
import type { ItemKind } from '../../registry/model/model.ts'
import type { Problem } from './left-out.ts'

/** Policies for names of tools and prompts that MCP clients cannot use (`TOWPATH_TOOL_NAMES`). */
export type ToolNames = 'leave-out' | 'rename' | 'keep'

/** Maximum length that MCP recommends for tool names (specification 2025-11-25, "Tool Names"). */
const MAX_PUBLIC_NAME = 128
/** Maximum length in the strictest LLM APIs. */
const MAX_RENAMED = 64
/** Minimum length left for the item's name after a long server name. */
const MIN_RENAMED = 24
const HASH_LENGTHS = [8, 16, 32, 64]

/** Characters that MCP allows; the slash is in SEP-986, but missing from the specification's text. */
const mcpName = /^[A-Za-z0-9_./-]+$/
/** Characters that LLM APIs allow. */
const llmName = /^[A-Za-z0-9_-]+$/

const badTool: Problem = {
  code: 'name_characters',
  reason: 'its name contains characters other than letters, digits and "_", "-", ".", "/", which clients refuse'
}
const badPrompt: Problem = {
  code: 'name_characters',
  reason: 'its name contains hidden or control characters, or begins or ends with white space'
}
const badUri: Problem = { code: 'name_characters', reason: 'its URI contains hidden or control characters' }
const tooLong: Problem = {
  code: 'name_too_long',
  reason: `its name, prefixed with the server name, is longer than ${MAX_PUBLIC_NAME} characters`
}

const hasUnsafeCharacters = (text: string) => /[\t\n\r]/.test(text) || hasHidden(text)

/**
 * Returns the problem of an item name that clients cannot use, if any. Prompt names are shown to people and never sent
 * to an LLM API, so all visible characters are allowed in them.
 */
function nameProblem(server: string, kind: ItemKind, name: string): Problem | undefined {
  if (kind !== 'tool' && kind !== 'prompt') return hasUnsafeCharacters(name) ? badUri : undefined
  if (kind === 'tool' && !mcpName.test(name)) return badTool
  if (kind === 'prompt' && (hasUnsafeCharacters(name) || name.trim() !== name)) return badPrompt
  return server.length + 2 + name.length > MAX_PUBLIC_NAME ? tooLong : undefined
}

/** Builds a name that LLM APIs accept from the allowed characters and a prefix of the SHA-256 of `name`. */
function safeName(kind: ItemKind, name: string, maxLength: number, hashLength: number): string {
  const hash = createHash('sha256').update(name).digest('hex').slice(0, hashLength)
  const allowed = name.replace(/[^A-Za-z0-9_-]+/g, '_').replace(/^_+/, '')
  const cut = allowed.slice(0, Math.max(1, maxLength - hashLength - 1)).replace(/_+$/, '')
  return `${cut === '' ? kind : cut}_${hash}`
}

const needsName = (server: string, kind: ItemKind, name: string, maxLength: number) =>
  kind === 'tool' ? !llmName.test(name) || name.length > maxLength : nameProblem(server, kind, name) !== undefined

/**
 * Returns new names for a server's tools or prompts with unusable names, by original name. A new name depends on the
 * original name only; its hash is longer if the short form is already taken. A new name never equals an original name.
 */
function renameAll(server: string, kind: 'tool' | 'prompt', names: readonly string[]): ReadonlyMap<string, string> {
  const maxLength = Math.max(MIN_RENAMED, MAX_RENAMED - server.length - 2)
  const taken = new Set(names)
  const found = new Map<string, string>()
  for (const name of names.toSorted()) {
    if (!needsName(server, kind, name, maxLength)) continue
    const free = HASH_LENGTHS.map((length) => safeName(kind, name, maxLength, length)).find((each) => !taken.has(each))
    // all forms are taken only if the server provokes it: the item then keeps its name and is not served
    if (free === undefined) continue
    taken.add(free)
    found.set(name, free)
  }
  return found
}

/** Public names of one server's items. */
export interface ItemNames {
  /** Returns the part after `<server>__`: the original name unless it was changed. */
  publicPart(kind: ItemKind, name: string): string
  /** Returns the reason that an item is not served, if any. */
  problem(kind: ItemKind, name: string): Problem | undefined
}

const none: ReadonlyMap<string, string> = new Map()

/** Creates the public names of a server's items under a policy. */
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
