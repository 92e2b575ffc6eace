import { isMap, isScalar, parseDocument, stringify, type Pair, type Node, type YAMLMap } from 'yaml'
import type { MemberChange } from '../../domain/clients/snippets.ts'

const columnOf = (text: string, offset: number) => offset - (text.lastIndexOf('\n', offset - 1) + 1)

const isKey = (pair: Pair, key: string) => isScalar(pair.key) && pair.key.value === key

/** Returns the whole lines of a member of a block mapping. */
function linesOf(text: string, { key, value }: Pair): [from: number, to: number] {
  const start = text.lastIndexOf('\n', (key as Node).range![0] - 1) + 1
  const end = ((value as Node | null) ?? (key as Node)).range![1]
  if (end > 0 && text[end - 1] === '\n') return [start, end]
  const lineEnd = text.indexOf('\n', end)
  return [start, lineEnd < 0 ? text.length : lineEnd + 1]
}

function blockOf(key: string, value: unknown, indent: number, text: string): string {
  const lineBreak = text.includes('\r\n') ? '\r\n' : '\n'
  const lines = stringify({ [key]: value }, { lineWidth: 0 })
    .trimEnd()
    .split('\n')
  return lines.map((line) => `${' '.repeat(indent)}${line}${lineBreak}`).join('')
}

const withLineBreak = (text: string) => (text === '' || text.endsWith('\n') ? text : `${text}\n`)

/** Returns the block mapping at a path; undefined if it does not exist or is written in another way. */
function blockAt(text: string, path: readonly string[]): YAMLMap | undefined {
  const document = parseDocument(text)
  const node = path.length === 0 ? document.contents : document.getIn(path, true)
  return isMap(node) && !node.flow && node.items.length > 0 ? node : undefined
}

/** Edits the document as data, which may change its layout: only for what cannot be edited as text. */
function editDocument(text: string, { path, value }: MemberChange): string {
  const document = parseDocument(text)
  if (value === undefined) document.deleteIn(path)
  else document.setIn(path, document.createNode(value))
  return document.toString({ lineWidth: 0 })
}

function edit(text: string, change: MemberChange): string {
  const { path, value } = change
  const [key, parents] = [path.at(-1)!, path.slice(0, -1)]
  const parent = blockAt(text, parents)
  if (!parent) return setWithParents(text, change)
  const present = parent.items.find((pair) => isKey(pair, key))
  if (!present && value === undefined) return text
  // a block mapping without members would read as null
  if (value === undefined && parent.items.length === 1) return editDocument(text, change)
  const indent = columnOf(text, (parent.items[0]!.key as Node).range![0])
  const newText = value === undefined ? '' : blockOf(key, value, indent, text)
  const [from, to] = present ? linesOf(text, present) : [undefined, linesOf(text, parent.items.at(-1)!)[1]]
  return withLineBreak(text.slice(0, from ?? to)) + newText + text.slice(to)
}

/** Appends a missing top-level mapping as text. */
function setWithParents(text: string, change: MemberChange): string {
  const { path, value } = change
  const [top = '', key, ...deeper] = path
  const document = parseDocument(text)
  if (value === undefined) return document.hasIn(path) ? editDocument(text, change) : text
  const isNew =
    document.contents === null || (isMap(document.contents) && !document.contents.flow && !document.has(top))
  if (!isNew || key === undefined || deeper.length > 0) return editDocument(text, change)
  return withLineBreak(text) + blockOf(top, { [key]: value }, 0, text)
}

/** Sets and removes members of YAML; everything else stays as it is where the text is in block style. */
export const editYaml = (text: string, changes: readonly MemberChange[]): string => changes.reduce(edit, text)

/** Parses YAML. The error names only the line, since the text may contain secrets. */
export function parseYaml(text: string): unknown {
  const document = parseDocument(text)
  const [error] = document.errors
  if (error) throw new SyntaxError(`it is not valid YAML (line ${error.linePos?.[0].line ?? 1})`, { cause: error })
  return document.toJS() as unknown
}
