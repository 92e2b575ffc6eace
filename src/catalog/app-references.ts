import { isObject } from '../domain/is-object.ts'
import { members, valueOf, withMembers } from '../json/json.ts'
import { addressOf, isAppUri } from './resource-uris.ts'

/**
 * Returns true if the text may hold a member `_meta`. JSON can spell letters as `\u` escapes, so a text with escapes
 * may hold it too.
 */
const mayHaveMeta = (text: string) => text.includes('"_meta"') || text.includes('\\u')

/** Members of `_meta` that name an interface beside `ui.resourceUri`: its older form, and the one of the Apps SDK. */
const flatReferences = ['ui/resourceUri', 'openai/outputTemplate']

/**
 * Returns the addresses of the interfaces that a tool names, as its server wrote them (mcp-proxy.md#apps). `definition`
 * is valid JSON.
 */
export function appUrisOf(definition: string): readonly string[] {
  if (!mayHaveMeta(definition)) return []
  const { _meta: meta } = JSON.parse(definition) as { _meta?: unknown }
  if (!isObject(meta)) return []
  const { ui } = meta
  const given = [isObject(ui) ? ui.resourceUri : undefined, ...flatReferences.map((key) => meta[key])]
  return [...new Set(given.filter((uri): uri is string => typeof uri === 'string' && isAppUri(uri)))]
}

/** Returns the JSON text of the address for a reference; null removes it. `json` is the JSON text of the reference. */
export type RewriteReference = (json: string) => string | null

/** Replaces a reference by the address that names its server; a value that is no string stays. */
export const namingServer =
  (server: string): RewriteReference =>
  (json) =>
    json.startsWith('"') ? JSON.stringify(addressOf(server, JSON.parse(json) as string)) : json

export const removeReference: RewriteReference = () => null

function rewriteObject(text: string, keys: readonly string[], rewrite: RewriteReference): string {
  const found = members(text)
  const changes: Record<string, string | null> = {}
  for (const key of keys) {
    const json = valueOf(text, found, key)
    if (json !== undefined) changes[key] = rewrite(json)
  }
  return Object.keys(changes).length === 0 ? text : withMembers(text, changes, found)
}

/**
 * Returns a `_meta` value with each reference to an interface rewritten: all that a host may follow, whatever their
 * scheme, so that no server can name the interface of another. `meta` is JSON text.
 */
export function rewriteReferences(meta: string, rewrite: RewriteReference): string {
  if (!meta.startsWith('{')) return meta
  const flat = rewriteObject(meta, flatReferences, rewrite)
  const found = members(flat)
  const ui = valueOf(flat, found, 'ui')
  if (!ui?.startsWith('{')) return flat
  const changed = rewriteObject(ui, ['resourceUri'], rewrite)
  return changed === ui ? flat : withMembers(flat, { ui: changed }, found)
}

/**
 * Returns a change for `withMembers` that rewrites the references to interfaces in a tool's definition; undefined if
 * there are none.
 */
export function rewrittenMeta(definition: string, rewrite: RewriteReference): string | undefined {
  if (!mayHaveMeta(definition)) return undefined
  const meta = valueOf(definition, members(definition), '_meta')
  if (meta === undefined) return undefined
  const changed = rewriteReferences(meta, rewrite)
  return changed === meta ? undefined : changed
}
