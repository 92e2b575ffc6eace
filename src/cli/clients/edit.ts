import { isDeepStrictEqual } from 'node:util'
import type { ConfigLanguage } from '../../domain/clients/clients.ts'
import type { MemberChange } from '../../domain/clients/snippets.ts'
import { isObject } from '../../domain/is-object.ts'
import { parseJsonc } from '../../domain/import/jsonc.ts'
import { usage } from '../io/failure.ts'
import { editJson } from './edit-json.ts'

interface Editor {
  parse(text: string): unknown
  edit(text: string, changes: readonly MemberChange[]): string
}

/** Loads the parser of a language; those of TOML and YAML only if a file needs them. */
async function editorOf(language: ConfigLanguage): Promise<Editor> {
  if (language === 'json') return { parse: parseJsonc, edit: editJson }
  if (language === 'toml') {
    const { parseToml, editToml } = await import('./edit-toml.ts')
    return { parse: parseToml, edit: editToml }
  }
  const { parseYaml, editYaml } = await import('./edit-yaml.ts')
  return { parse: parseYaml, edit: editYaml }
}

const BOM = '\ufeff'
const isBlank = (text: string) => text.trim() === ''

/** Parses a client's file; an empty one is an empty object. Errors name `from` and a line, and quote nothing. */
export async function parseConfig(text: string, language: ConfigLanguage, from: string): Promise<object> {
  const { parse } = await editorOf(language)
  let value: unknown
  try {
    value = isBlank(text) || (language === 'json' && isComment(text)) ? {} : (parse(text.replace(BOM, '')) ?? {})
  } catch (error) {
    throw usage(`${from}: ${error instanceof SyntaxError ? error.message : 'it cannot be parsed'}`)
  }
  if (!isObject(value)) throw usage(`${from}: it does not contain an object`)
  return value
}

const isComment = (text: string) => isBlank(text.replace(/\/\*[^]*?\*\/|\/\/[^\n]*/g, ''))

/** Returns the item list with each item replaced by the one with the same `id`, or appended. */
function mergeItems(present: unknown, items: readonly unknown[]): unknown[] {
  const result: unknown[] = Array.isArray(present) ? [...(present as unknown[])] : []
  for (const item of items) {
    const at = result.findIndex((each) => isObject(each) && isObject(item) && each.id === item.id)
    if (at < 0) result.push(item)
    else result[at] = item
  }
  return result
}

/** Returns the document as it has to be after a change. */
function changed(document: unknown, [key, ...rest]: readonly string[], value: unknown): unknown {
  if (key === undefined) return Array.isArray(value) ? mergeItems(document, value) : value
  const members = Object.entries(isObject(document) ? document : {})
  const present = members.find(([name]) => name === key)?.[1]
  if (value === undefined && present === undefined) return document
  const after = changed(present, rest, value)
  const others = members.filter(([name]) => name !== key)
  return Object.fromEntries(after === undefined ? others : [...others, [key, after]])
}

/** Returns true if a member on the way to a change exists and is not an object. */
const isBlocked = (document: unknown, path: readonly string[]): boolean => {
  if (document === undefined || document === null || path.length === 0) return false
  return (
    !isObject(document) || isBlocked(Object.hasOwn(document, path[0]!) ? document[path[0]!] : undefined, path.slice(1))
  )
}

/**
 * Applies changes to the text of a client's file and keeps everything else. Throws if the file cannot be parsed, or if
 * the result would differ from the file in anything but the changes.
 */
export async function editConfig(
  text: string,
  language: ConfigLanguage,
  changes: readonly MemberChange[],
  from: string
): Promise<string> {
  const before = await parseConfig(text, language, from)
  const { edit } = await editorOf(language)
  const unsupported = () =>
    usage(
      `${from} has a form that cannot be edited automatically; the file was not changed`,
      'edit the file by hand: `connect CLIENT --print` shows the entry'
    )
  if (changes.some(({ path }) => isBlocked(before, path.slice(0, -1)))) throw unsupported()
  const mark = text.startsWith(BOM) ? BOM : ''
  let result: string
  let after: object
  try {
    result = mark + edit(text.slice(mark.length), changes)
    after = await parseConfig(result, language, from)
  } catch {
    throw unsupported()
  }
  const expected = changes.reduce<unknown>((document, { path, value }) => changed(document, path, value), before)
  if (!isDeepStrictEqual(after, expected)) throw unsupported()
  return result
}
