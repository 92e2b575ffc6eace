import { isObject } from '../domain/is-object.ts'

/**
 * Returns true if the text may hold a member `_meta`. JSON can spell letters as `\u` escapes, so a text with escapes
 * may hold it too.
 */
const mayHaveMeta = (text: string) => text.includes('"_meta"') || text.includes('\\u')

const isAppUri = (value: unknown): value is string => typeof value === 'string' && /^ui:\/\//i.test(value)

/**
 * Returns the addresses of the interfaces that a tool names, as its server wrote them: `_meta.ui.resourceUri`, its older
 * form, and the one of the Apps SDK (mcp-proxy.md#extensions). `definition` is valid JSON.
 */
export function appUrisOf(definition: string): readonly string[] {
  if (!mayHaveMeta(definition)) return []
  const { _meta: meta } = JSON.parse(definition) as { _meta?: unknown }
  if (!isObject(meta)) return []
  const { ui } = meta
  const given = [isObject(ui) ? ui.resourceUri : undefined, meta['ui/resourceUri'], meta['openai/outputTemplate']]
  return [...new Set(given.filter(isAppUri))]
}
