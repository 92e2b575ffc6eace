import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { isObject } from '../../domain/is-object.ts'
import { hasInexactNumber } from '../../json/numbers.ts'
import { expandPlaceholders, type UnsetVariable } from '../../domain/placeholders.ts'
import { usage } from './failure.ts'
import type { CliIo } from './io.ts'

/** JSON object from a file, stdin or the command line; `from` names its source, with the index in an array. */
export interface InputObject {
  readonly value: Readonly<Record<string, unknown>>
  readonly from: string
}

/** Parsed content of a file. */
export interface ParsedDocument {
  readonly value: unknown
  readonly from: string
}

export const readStdin = (io: CliIo): Promise<string> => text(io.stdin)

/** Refuses numbers that would be rounded in silence; the gateway refuses them as well. */
const inexact = (from: string) => usage(`${from} has a number that is too large, or has too many digits`)

/** Parses JSON. The error names only the line: the parser's own message may quote secrets. */
function parseJson(source: string, from: string): unknown {
  const plain = source.replace(/^\ufeff/, '')
  let value: unknown
  try {
    value = JSON.parse(plain)
  } catch (error) {
    const at = /position (\d+)/.exec((error as Error).message)?.[1]
    const line = at === undefined ? '' : ` (line ${source.slice(0, Number(at)).split('\n').length})`
    throw usage(`${from} is not valid JSON${line}`)
  }
  if (hasInexactNumber(plain)) throw inexact(from)
  return value
}

async function parseYaml(source: string, from: string): Promise<unknown> {
  const { parseDocument, visit } = await import('yaml')
  const document = parseDocument(source)
  const [error] = document.errors
  if (error) throw usage(`${from} is not valid YAML (line ${error.linePos?.[0].line ?? 1})`)
  visit(document, {
    Scalar(_, { value, source: written = '' }) {
      if (typeof value !== 'number') return
      // a hexadecimal number has no decimal digits to compare
      if (!(Math.abs(value) <= Number.MAX_SAFE_INTEGER) || hasInexactNumber(written)) throw inexact(from)
    }
  })
  return document.toJS() as unknown
}

/** Reads a file, or stdin for `-`. */
export async function readText(io: CliIo, path: string): Promise<string> {
  if (path === '-') return readStdin(io)
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'file not found' : 'cannot be read'
    throw usage(`${path}: ${why}`)
  }
}

/**
 * Expands `${VAR}` from the environment. The error lists all unset variables at once (http-contract.md#placeholders).
 */
export const expandVariables = (io: CliIo, value: unknown, from: string): unknown =>
  expandDocuments(io, [{ value, from }])[0]!.value

/** Expands the variables of several files. `keepsUnset`: references to unset variables stay, instead of an error. */
function expandDocuments(io: CliIo, documents: readonly ParsedDocument[], keepsUnset = false): ParsedDocument[] {
  const missing: (UnsetVariable & { readonly from: string })[] = []
  const expanded = documents.map(({ value, from }) => {
    const { value: written, unset } = expandPlaceholders(value, (name) => io.env[name])
    missing.push(...unset.map((each) => ({ ...each, from })))
    return { value: written, from }
  })
  if (missing.length === 0 || keepsUnset) return expanded
  const names = [...new Set(missing.map(({ name }) => name))]
  const files = [...new Set(missing.map(({ from }) => from))]
  const places = missing.map(({ name, path, from }) => `  ${name} at ${path}${files.length > 1 ? ` of ${from}` : ''}`)
  throw usage(
    `${files.length > 1 ? `${files.length} files use` : `${files[0]} uses`} ${names.length === 1 ? 'a variable that is' : 'variables that are'} not set:\n${places.join('\n')}`,
    `export ${names.map((name) => `${name}=…`).join(' ')}`
  )
}

/** Parses a file: YAML or JSON, by extension. */
async function parseFile(io: CliIo, path: string): Promise<unknown> {
  const source = await readText(io, path)
  return /\.ya?ml$/i.test(path) ? parseYaml(source, path) : parseJson(source, path === '-' ? 'stdin' : path)
}

const isDocument = (name: string) => /\.(json|ya?ml)$/i.test(name) && !name.startsWith('.')

/** Returns the documents in a folder, sorted by name; undefined if the path is not a folder. */
export async function documentsIn(path: string): Promise<string[] | undefined> {
  if (path === '-' || !(await stat(path).catch(() => undefined))?.isDirectory()) return undefined
  return (await readdir(path))
    .filter(isDocument)
    .toSorted()
    .map((name) => join(path, name))
}

async function filesOf(path: string): Promise<string[]> {
  const files = await documentsIn(path)
  if (files?.length === 0) throw usage(`${path} contains no .json or .yaml file`)
  return files ?? [path]
}

function objectsIn({ value, from }: ParsedDocument): InputObject[] {
  const items = Array.isArray(value) ? value.map((item, index) => ({ item, from: `${from}[${index}]` })) : undefined
  return (items ?? [{ item: value, from }]).map((each) => {
    if (!isObject(each.item)) throw usage(`${each.from} must be a JSON object`)
    return { value: each.item, from: each.from }
  })
}

/**
 * Reads all objects of the files and their arrays, with variables expanded; see `expandDocuments`. `check` may refuse a
 * document before that.
 */
export async function readInputFiles(
  io: CliIo,
  files: readonly string[],
  keepsUnset = false,
  check?: (document: ParsedDocument) => void
): Promise<InputObject[]> {
  const documents: ParsedDocument[] = []
  for (const file of files) documents.push({ value: await parseFile(io, file), from: file === '-' ? 'stdin' : file })
  for (const document of documents) check?.(document)
  return expandDocuments(io, documents, keepsUnset).flatMap(objectsIn)
}

/** Reads all objects of a file, or of all files in a folder. `check`: see `readInputFiles`. */
export const readObjects = async (
  io: CliIo,
  path: string,
  check?: (document: ParsedDocument) => void
): Promise<InputObject[]> => readInputFiles(io, await filesOf(path), false, check)

export async function readObject(io: CliIo, path: string): Promise<InputObject> {
  const [first, second] = await readObjects(io, path)
  if (!first || second) throw usage(`${path} must contain exactly one object`)
  return first
}

/** Parses the `key=value` pairs of a repeatable flag. */
export function parsePairs(texts: readonly string[] = [], flag: string): [string, string][] {
  return texts.map((given) => {
    const at = given.indexOf('=')
    if (at <= 0) throw usage(`${flag} must be key=value`)
    return [given.slice(0, at), given.slice(at + 1)]
  })
}
