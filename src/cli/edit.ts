import { applyEdits, modify, parseTree, findNodeAtLocation, getNodeValue, type ParseError } from 'jsonc-parser'
import { tomlTable, type FileChange } from '../domain/client-snippets.ts'
import { isObject } from '../domain/is-object.ts'
import { usage } from './failure.ts'

type Path = (string | number)[]

/** As the file has it; two spaces where it has nothing. */
function formatting(text: string) {
  const indent = /^([ \t]+)\S/m.exec(text)?.[1] ?? '  '
  return { insertSpaces: !indent.includes('\t'), tabSize: indent.length, eol: text.includes('\r\n') ? '\r\n' : '\n' }
}

/** Where a value goes; in a list it takes the place of the one with its `id`, or comes last. */
function placesOf(text: string, path: readonly string[], value: unknown): [path: Path, value: unknown][] {
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

/** Sets members in JSON with comments; everything else stays as it is. */
function editJson(text: string, { members }: FileChange, from: string): string {
  const errors: ParseError[] = []
  const tree = parseTree(text, errors, { allowTrailingComma: true, allowEmptyContent: true })
  if (errors.length > 0 || (tree && tree.type !== 'object'))
    throw usage(`${from} is not a JSON object: it is left alone`, 'mend it, or see what --print gives')
  let edited = text
  for (const { path, value } of members) {
    for (const [place, item] of placesOf(edited, path, value)) {
      const edits = modify(edited, place, item, {
        formattingOptions: formatting(edited),
        isArrayInsertion: place.at(-1) === -1
      })
      edited = applyEdits(edited, edits)
    }
  }
  return edited.endsWith('\n') ? edited : `${edited}\n`
}

const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
const simpleLine = /^\s*(#.*|[\w-]+\s*=\s*("(?:[^"\\]|\\.)*"|'[^']*'|true|false|[\d.]+)\s*(#.*)?)?$/

/** Sets a table in TOML: appended, or in the place of one that is written in the plainest form; any other is left alone. */
function editToml(text: string, { members }: FileChange, from: string): string {
  const [{ path, value }] = members as [FileChange['members'][number]]
  const [parent = '', name = ''] = path
  const table = `${tomlTable(path, value as Record<string, unknown>)}\n`
  const lines = text.split('\n')
  const header = new RegExp(String.raw`^\s*\[\s*${escaped(parent)}\s*\.\s*"?${escaped(name)}"?\s*\]\s*(#.*)?$`)
  const at = lines.findIndex((line) => header.test(line))
  const odd = new RegExp(
    String.raw`^\s*"?${escaped(parent)}"?\s*[.=]|^\s*\[\s*("${escaped(parent)}"|${escaped(parent)}\s*\])`
  )
  if (lines.some((line) => odd.test(line)))
    throw usage(`${from} holds ${parent} in a form that is left alone`, 'edit it by hand: see what --print gives')
  if (at < 0) return text.trim() === '' ? table : `${text.trimEnd()}\n\n${table}`
  const length = lines.slice(at + 1).findIndex((line) => /^\s*\[/.test(line))
  const end = length < 0 ? lines.length : at + 1 + length
  if (!lines.slice(at + 1, end).every((line) => simpleLine.test(line)))
    throw usage(`${from} has a table ${path.join('.')} that is left alone`, 'edit it by hand: see what --print gives')
  const rest = lines.slice(end).join('\n')
  const before = lines.slice(0, at).join('\n')
  return `${before === '' ? '' : `${before}\n`}${table}${rest === '' ? '' : `\n${rest}`}`
}

/** The text of a client's file with a change made in it. Refuses what it cannot read. */
export const edited = (text: string, change: FileChange, from: string): string =>
  change.language === 'toml' ? editToml(text, change, from) : editJson(text, change, from)

/** The lines that differ, from the first to the last, with `-` and `+` before them. */
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
