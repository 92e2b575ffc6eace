import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { parseSync } from 'vite'

export const root = join(import.meta.dirname, '../..')

/** A node of the syntax tree (ESTree). */
export interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [member: string]: unknown
}

/** A comment without its markers. Consecutive `//` lines are one comment. */
export interface Comment {
  readonly text: string
  readonly line: number
}

export interface Import {
  /** Path from the root of the repository for files of ours, otherwise the specifier. */
  readonly target: string
  /** False: the import brings types only. */
  readonly isValue: boolean
}

/** A parsed TypeScript file. */
export interface Source {
  /** Path from the root of the repository. */
  readonly path: string
  readonly text: string
  readonly program: Node
  readonly comments: readonly Comment[]
  readonly imports: readonly Import[]
  /** Returns the line of an offset, from 1. */
  lineOf(offset: number): number
}

const isSource = (name: string) =>
  /\.(ts|tsx|mts|mjs)$/.test(name) && !/\.d\.ts$|node_modules|\.venv|generated/.test(name)

/** Returns the paths of the source files under `folders`, from the root of the repository. */
export const sourcePaths = (...folders: string[]): string[] =>
  folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter(isSource)
      .map((name) => join(folder, name))
      .sort()
  )

interface TextRange {
  readonly start: number
  readonly end: number
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && typeof (value as Partial<Node>).type === 'string'

/** Returns the children of a node, in no particular order. */
export const childrenOf = (node: Node): Node[] =>
  Object.values(node).flatMap((value) => (Array.isArray(value) ? value.filter(isNode) : isNode(value) ? [value] : []))

/** Calls `visit` for `node` and everything under it. */
export function walk(node: Node, visit: (node: Node) => void): void {
  visit(node)
  for (const child of childrenOf(node)) walk(child, visit)
}

const isDirective = (text: string) => /^\s*(?:oxlint|eslint|prettier|@ts|@vite|@__|\/ <)/.test(text)

function commentsOf(
  text: string,
  found: readonly (TextRange & { type: string; value: string })[],
  lineOf: Source['lineOf']
) {
  const comments: { text: string; line: number; end: number }[] = []
  for (const { type, value, start, end } of found) {
    const clean = value
      .replace(/^\s*\*+ ?/gm, ' ')
      .replace(/\s+/g, ' ')
      .trim()
    if (clean === '' || isDirective(clean)) continue
    const last = comments.at(-1)
    const follows =
      type === 'Line' && last && /^\s*$/.test(text.slice(last.end, start)) && lineOf(start) === lineOf(last.end) + 1
    if (last && follows) Object.assign(last, { text: `${last.text} ${clean}`, end })
    else comments.push({ text: clean, line: lineOf(start), end })
  }
  return comments
}

const isTypeOnly = (entry: { readonly isType: boolean }) => entry.isType

/** Parses a file of the repository. */
export function readSource(path: string): Source {
  const text = readFileSync(join(root, path), 'utf8')
  const { program, comments, module } = parseSync(path, text, {})
  const breaks = [...text.matchAll(/\n/g)].map(({ index }) => index)
  const lineOf = (offset: number) => {
    let [low, high] = [0, breaks.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (breaks[middle]! < offset) low = middle + 1
      else high = middle
    }
    return low + 1
  }
  const resolve = (specifier: string) =>
    specifier.startsWith('.') ? relative(root, join(root, path, '..', specifier)) : specifier
  const imports = [
    ...module.staticImports.map(({ moduleRequest, entries }) => ({
      target: resolve(moduleRequest.value),
      isValue: entries.length === 0 || !entries.every(isTypeOnly)
    })),
    ...module.staticExports.flatMap(({ entries }) =>
      entries
        .filter(({ moduleRequest }) => moduleRequest)
        .map(({ moduleRequest, isType }) => ({ target: resolve(moduleRequest!.value), isValue: !isType }))
    )
  ]
  return {
    path,
    text,
    program: program as unknown as Node,
    comments: commentsOf(text, comments, lineOf),
    imports,
    lineOf
  }
}
