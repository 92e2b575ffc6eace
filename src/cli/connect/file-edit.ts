import { applyEdits, modify, parseTree, findNodeAtLocation, getNodeValue, type ParseError } from 'jsonc-parser'
import { tomlTable, type FileChange } from '../../domain/client-snippets.ts'
import { isObject } from '../../domain/is-object.ts'
import { usage } from '../io/failure.ts'

type Path = (string | number)[]

/** Detects the file's indentation; two spaces by default. */
function formatting(text: string) {
  const indent = /^([ \t]+)\S/m.exec(text)?.[1] ?? '  '
  return { insertSpaces: !indent.includes('\t'), tabSize: indent.length, eol: text.includes('\r\n') ? '\r\n' : '\n' }
}

/** Returns the paths to set. An item of a list replaces the item with its `id`, or is appended. */
function targetPaths(text: string, path: readonly string[], value: unknown): [path: Path, value: unknown][] {
  if (!Array.isArray(value)) return [[[...path], value]]
  const tree = parseTree(text, [], { allowTrailingComma: true })
  const node = tree && findNodeAtLocation(tree, [...path])
  const present: unknown = node && getNodeValue(node)
  if (!Array.isArray(present)) return [[[...path], value]]
  return value.map((item: { id?: unknown }) => {
    const at = present.findIndex((each) => isObject(each) && each.id === item.id)
    return [[...path, at], item]
  })
}

/** Sets members in JSON with comments and keeps everything else. */
function editJson(text: string, { members }: FileChange, from: string): string {
  const errors: ParseError[] = []
  const tree = parseTree(text, errors, { allowTrailingComma: true, allowEmptyContent: true })
  if (errors.length > 0 || (tree && tree.type !== 'object'))
    throw usage(`${from} is not a JSON object; the file was not changed`, 'fix the file, or use --print')
  let applyChange = text
  for (const { path, value } of members) {
    for (const [place, item] of targetPaths(applyChange, path, value)) {
      const edits = modify(applyChange, place, item, {
        formattingOptions: formatting(applyChange),
        isArrayInsertion: place.at(-1) === -1
      })
      applyChange = applyEdits(applyChange, edits)
    }
  }
  return applyChange.endsWith('\n') ? applyChange : `${applyChange}\n`
}

const escapeRegExp = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
const simpleLine = /^\s*(#.*|[\w-]+\s*=\s*("(?:[^"\\]|\\.)*"|'[^']*'|true|false|[\d.]+)\s*(#.*)?)?$/

/** Sets a table in TOML: appends it, or replaces one in the simplest form; throws for any other form. */
function editToml(text: string, { members }: FileChange, from: string): string {
  const [{ path, value }] = members as [FileChange['members'][number]]
  const [parent = '', name = ''] = path
  const table = `${tomlTable(path, value as Record<string, unknown>)}\n`
  const lines = text.split('\n')
  const header = new RegExp(
    String.raw`^\s*\[\s*${escapeRegExp(parent)}\s*\.\s*"?${escapeRegExp(name)}"?\s*\]\s*(#.*)?$`
  )
  const at = lines.findIndex((line) => header.test(line))
  const unsupportedForm = new RegExp(
    String.raw`^\s*"?${escapeRegExp(parent)}"?\s*[.=]|^\s*\[\s*("${escapeRegExp(parent)}"|${escapeRegExp(parent)}\s*\])`
  )
  if (lines.some((line) => unsupportedForm.test(line)))
    throw usage(
      `${from} contains ${parent} in a form that cannot be edited automatically`,
      'edit the file by hand: --print shows the entry'
    )
  if (at < 0) return text.trim() === '' ? table : `${text.trimEnd()}\n\n${table}`
  const length = lines.slice(at + 1).findIndex((line) => /^\s*\[/.test(line))
  const end = length < 0 ? lines.length : at + 1 + length
  if (!lines.slice(at + 1, end).every((line) => simpleLine.test(line)))
    throw usage(
      `${from} has a table ${path.join('.')} that cannot be edited automatically`,
      'edit the file by hand: --print shows the entry'
    )
  const rest = lines.slice(end).join('\n')
  const before = lines.slice(0, at).join('\n')
  return `${before === '' ? '' : `${before}\n`}${table}${rest === '' ? '' : `\n${rest}`}`
}

/** Applies a change to the text of a client's file. Throws if it cannot parse the file. */
export const edited = (text: string, change: FileChange, from: string): string =>
  change.language === 'toml' ? editToml(text, change, from) : editJson(text, change, from)

/** Returns the differing lines, with `-` and `+` before them. */
export function changedLines(before: string, after: string): string[] {
  const [old, now] = [before, after].map((text) => (text === '' ? [] : text.replace(/\n$/, '').split('\n'))) as [
    string[],
    string[]
  ]
  let start = 0
  while (start < old.length && start < now.length && old[start] === now[start]) start++
  let end = 0
  while (end < old.length - start && end < now.length - start && old.at(-1 - end) === now.at(-1 - end)) end++
  return [
    ...old.slice(start, old.length - end).map((line) => `- ${line}`),
    ...now.slice(start, now.length - end).map((line) => `+ ${line}`)
  ]
}
