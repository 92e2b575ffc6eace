import { getStaticTOMLValue, parseTOML, type AST } from 'toml-eslint-parser'
import { tomlTable, type MemberChange } from '../../domain/clients/snippets.ts'
import { isObject } from '../../domain/is-object.ts'

type Path = readonly (string | number)[]
/** Range of a text, with the path that it defines */
interface Definition {
  readonly path: Path
  readonly from: number
  readonly to: number
  readonly isTable: boolean
}

const startsWith = (path: Path, prefix: Path) => prefix.every((key, index) => path[index] === key)

const keysOf = ({ keys }: AST.TOMLKey): string[] => keys.map((key) => (key.type === 'TOMLBare' ? key.name : key.value))

/** Returns the tables and members of a document, tables before their members. */
function definitionsOf(text: string): Definition[] {
  const [top] = parseTOML(text).body
  return top.body.flatMap((node): Definition[] => {
    const [from, to] = node.range
    if (node.type === 'TOMLKeyValue') return [{ path: keysOf(node.key), from, to, isTable: false }]
    const members = node.body.map(({ key, range }) => ({
      path: [...node.resolvedKey, ...keysOf(key)],
      from: range[0],
      to: range[1],
      isTable: false
    }))
    return [{ path: node.resolvedKey, from, to, isTable: true }, ...members]
  })
}

/** Extends a range to the ends of its lines, with their comments; a member that fills its lines takes the line break too. */
function wholeLines(text: string, { from, to }: Definition): [from: number, to: number] {
  const start = text.lastIndexOf('\n', from - 1) + 1
  const lineEnd = text.indexOf('\n', to)
  return [start, lineEnd < 0 ? text.length : lineEnd + 1]
}

const without = (text: string, ranges: readonly (readonly [number, number])[]) =>
  ranges.toSorted(([a], [b]) => b - a).reduce((result, [from, to]) => result.slice(0, from) + result.slice(to), text)

/** Removes all tables and members below a path, with a blank line before each table. */
function remove(text: string, path: Path): string {
  const below = definitionsOf(text).filter((each) => startsWith(each.path, path))
  const tables = below.filter(({ isTable }) => isTable)
  const alone = below.filter(
    ({ isTable, from }) => isTable || !tables.some((table) => from >= table.from && from < table.to)
  )
  const ranges = alone.map((each) => {
    const [from, to] = wholeLines(text, each)
    const blank = each.isTable ? (/(?<=\n)[ \t]*\r?\n$/.exec(text.slice(0, from))?.[0].length ?? 0) : 0
    return [from - blank, to] as const
  })
  return without(text, ranges)
}

/** Formats a value of JSON's types. */
function tomlValue(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(tomlValue).join(', ')}]`
  if (!isObject(value)) return JSON.stringify(value)
  const members = Object.entries(value).map(([key, each]) => `${JSON.stringify(key)} = ${tomlValue(each)}`)
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`
}

function tableText(path: readonly string[], value: unknown): string {
  const members = Object.entries(isObject(value) ? value : {}).map(([key, each]) => {
    const name = /^[\w-]+$/.test(key) ? key : JSON.stringify(key)
    return `${name} = ${tomlValue(each)}\n`
  })
  return `${tomlTable(path, {})}\n${members.join('')}`
}

/** Replaces a table where it stands if it is the only definition below the path; appends it otherwise. */
function set(text: string, path: readonly string[], value: unknown): string {
  const below = definitionsOf(text).filter((each) => startsWith(each.path, path))
  const [table, ...others] = below.filter(({ path: { length }, isTable }) => isTable || length === path.length)
  const newText = tableText(path, value)
  if (table?.isTable && others.length === 0) {
    const [from, to] = wholeLines(text, table)
    return text.slice(0, from) + newText + text.slice(to)
  }
  const rest = remove(text, path)
  return rest.trim() === '' ? newText : `${rest.trimEnd()}\n\n${newText}`
}

/** Sets and removes tables of TOML; everything else stays as it is. */
export const editToml = (text: string, changes: readonly MemberChange[]): string =>
  changes.reduce(
    (result, { path, value }) => (value === undefined ? remove(result, path) : set(result, path, value)),
    text
  )

/** Parses TOML. The error names only the line, since the text may contain secrets. */
export function parseToml(text: string): unknown {
  try {
    return getStaticTOMLValue(parseTOML(text))
  } catch (error) {
    const line = (error as { lineNumber?: number }).lineNumber
    throw new SyntaxError(`it is not valid TOML${line === undefined ? '' : ` (line ${line})`}`, { cause: error })
  }
}
