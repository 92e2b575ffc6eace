import {
  applyEdits,
  createScanner,
  findNodeAtLocation,
  getNodeValue,
  modify,
  parseTree,
  type Edit,
  type Node
} from 'jsonc-parser'
import type { MemberChange } from '../../domain/clients/snippets.ts'
import { isObject } from '../../domain/is-object.ts'

type Path = (string | number)[]

const treeOf = (text: string) => parseTree(text, [], { allowTrailingComma: true })

/** Detects the file's indentation; two spaces by default. */
function formatting(text: string) {
  const indent = /^([ \t]+)\S/m.exec(text)?.[1] ?? '  '
  return { insertSpaces: !indent.includes('\t'), tabSize: indent.length, eol: text.includes('\r\n') ? '\r\n' : '\n' }
}

/** Returns the paths to set. An item of a list replaces the item with its `id`, or is appended. */
function targetPaths(text: string, path: readonly string[], value: unknown): [path: Path, value: unknown][] {
  if (!Array.isArray(value)) return [[[...path], value]]
  const tree = treeOf(text)
  const node = tree && findNodeAtLocation(tree, [...path])
  const present: unknown = node && getNodeValue(node)
  if (!Array.isArray(present)) return [[[...path], value]]
  return value.map((item: { id?: unknown }) => {
    const at = present.findIndex((each) => isObject(each) && each.id === item.id)
    return [[...path, at], item]
  })
}

/** Returns the offset of the comma that follows, if only white space and comments come before it. */
function commaAfter(text: string, offset: number): number | undefined {
  const scanner = createScanner(text, true)
  scanner.setPosition(offset)
  scanner.scan()
  const at = scanner.getTokenOffset()
  return text[at] === ',' ? at : undefined
}

/** Extends a range to its whole lines, with a comment at the end of the last one, if nothing else is on them. */
function wholeLines(text: string, from: number, to: number): [from: number, to: number] {
  const start = from - /[ \t]*$/.exec(text.slice(0, from))![0].length
  const rest = /^[ \t]*(?:\/\/[^\r\n]*|\/\*[^\r\n]*?\*\/[ \t]*)?(?=\r?\n|$)/.exec(text.slice(to))
  const isLineStart = start === 0 || text[start - 1] === '\n'
  if (!isLineStart || !rest) return [from, to]
  const lineBreak = text.slice(0, start).endsWith('\r\n') ? 2 : Math.min(start, 1)
  return [start - lineBreak, to + rest[0].length]
}

const cut = (from: number, to: number): Edit => ({ offset: from, length: to - from, content: '' })

/** Returns the edits that remove a member with its comma, and no comment outside its own lines. */
function removal(text: string, member: Node): Edit[] {
  const end = member.offset + member.length
  const comma = commaAfter(text, end)
  const [from, to] = wholeLines(text, member.offset, comma === undefined ? end : comma + 1)
  const siblings = member.parent?.children ?? []
  const before = siblings[siblings.indexOf(member) - 1]
  const separator = comma === undefined && before ? commaAfter(text, before.offset + before.length) : undefined
  return separator === undefined ? [cut(from, to)] : [cut(separator, separator + 1), cut(from, to)]
}

function remove(text: string, path: readonly string[]): string {
  const tree = treeOf(text)
  const member = tree && findNodeAtLocation(tree, [...path])?.parent
  return member ? applyEdits(text, removal(text, member)) : text
}

function set(text: string, path: readonly string[], value: unknown): string {
  let result = text
  for (const [place, item] of targetPaths(result, path, value)) {
    const edits = modify(result, place, item, {
      formattingOptions: formatting(result),
      isArrayInsertion: place.at(-1) === -1
    })
    result = applyEdits(result, edits)
  }
  return result
}

/** Sets and removes members of JSON with comments; everything else stays as it is. */
export function editJson(text: string, changes: readonly MemberChange[]): string {
  let result = text
  for (const { path, value } of changes) result = value === undefined ? remove(result, path) : set(result, path, value)
  return result === text || result.endsWith('\n') ? result : `${result}\n`
}
