import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { isObject } from '../domain/is-object.ts'
import { expandPlaceholders, type UnsetVariable } from '../domain/placeholders.ts'
import { usage } from './failure.ts'
import type { World } from './world.ts'

/** A JSON object that was given, and where it stands: a file's name, and the place in it if it holds several. */
export interface Given {
  readonly value: Readonly<Record<string, unknown>>
  readonly from: string
}

/** What a file holds, parsed. */
export interface Document {
  readonly value: unknown
  readonly from: string
}

export const readStdin = (world: World): Promise<string> => text(world.stdin)

/** The parser's own message may hold what stands in the file, secrets too: only the place is told. */
function parseJson(source: string, from: string): unknown {
  try {
    return JSON.parse(source.replace(/^\ufeff/, '')) as unknown
  } catch (error) {
    const at = /position (\d+)/.exec((error as Error).message)?.[1]
    const line = at === undefined ? '' : ` (line ${source.slice(0, Number(at)).split('\n').length})`
    throw usage(`${from} is not valid JSON${line}`)
  }
}

async function parseYaml(source: string, from: string): Promise<unknown> {
  const { parseDocument } = await import('yaml')
  const document = parseDocument(source)
  const [error] = document.errors
  if (error) throw usage(`${from} is not valid YAML (line ${error.linePos?.[0].line ?? 1})`)
  return document.toJS() as unknown
}

/** The text of a file, or of stdin for `-`. */
export async function readText(world: World, path: string): Promise<string> {
  if (path === '-') return readStdin(world)
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'there is no such file' : 'it cannot be read'
    throw usage(`${path}: ${why}`)
  }
}

/**
 * Puts the environment in the place of `${VAR}`; every name that is not set is told at once
 * (http-contract.md#placeholders).
 */
export const expand = (world: World, value: unknown, from: string): unknown =>
  expandAll(world, [{ value, from }])[0]!.value

/** As above for what stands in several files. */
function expandAll(world: World, documents: readonly Document[]): Document[] {
  const missing: (UnsetVariable & { readonly from: string })[] = []
  const expanded = documents.map(({ value, from }) => {
    const { value: written, unset } = expandPlaceholders(value, (name) => world.env[name])
    missing.push(...unset.map((each) => ({ ...each, from })))
    return { value: written, from }
  })
  if (missing.length === 0) return expanded
  const names = [...new Set(missing.map(({ name }) => name))]
  const files = [...new Set(missing.map(({ from }) => from))]
  const places = missing.map(({ name, path, from }) => `  ${name} at ${path}${files.length > 1 ? ` of ${from}` : ''}`)
  throw usage(
    `${files.length > 1 ? `${files.length} files name` : `${files[0]} names`} ${names.length === 1 ? 'a variable that is' : 'variables that are'} not set:\n${places.join('\n')}`,
    `export ${names.map((name) => `${name}=…`).join(' ')}`
  )
}

/** What a file holds, parsed; YAML by its name. */
async function parseFile(world: World, path: string): Promise<unknown> {
  const source = await readText(world, path)
  return /\.ya?ml$/i.test(path) ? parseYaml(source, path) : parseJson(source, path === '-' ? 'stdin' : path)
}

const isDocument = (name: string) => /\.(json|ya?ml)$/i.test(name) && !name.startsWith('.')

/** The documents in a folder, by name; undefined where the path is no folder. */
export async function documentsIn(path: string): Promise<string[] | undefined> {
  if (path === '-' || !(await stat(path).catch(() => undefined))?.isDirectory()) return undefined
  return (await readdir(path))
    .filter(isDocument)
    .toSorted()
    .map((name) => join(path, name))
}

async function filesOf(path: string): Promise<string[]> {
  const files = await documentsIn(path)
  if (files?.length === 0) throw usage(`${path} holds no .json or .yaml file`)
  return files ?? [path]
}

function objectsIn({ value, from }: Document): Given[] {
  const items = Array.isArray(value) ? value.map((item, index) => ({ item, from: `${from}[${index}]` })) : undefined
  return (items ?? [{ item: value, from }]).map((each) => {
    if (!isObject(each.item)) throw usage(`${each.from} must be a JSON object`)
    return { value: each.item, from: each.from }
  })
}

/** Every object that files and their arrays hold, with the environment's values in it. */
export async function readFiles(world: World, files: readonly string[]): Promise<Given[]> {
  const documents: Document[] = []
  for (const file of files) documents.push({ value: await parseFile(world, file), from: file === '-' ? 'stdin' : file })
  return expandAll(world, documents).flatMap(objectsIn)
}

/** As above of one file, or of all in a folder. */
export const readObjects = async (world: World, path: string): Promise<Given[]> => readFiles(world, await filesOf(path))

export async function readObject(world: World, path: string): Promise<Given> {
  const [first, second] = await readObjects(world, path)
  if (!first || second) throw usage(`${path} must hold exactly one object`)
  return first
}

/** `key=value` of a repeatable flag. */
export function pairs(texts: readonly string[] = [], flag: string): [string, string][] {
  return texts.map((given) => {
    const at = given.indexOf('=')
    if (at <= 0) throw usage(`${flag} takes key=value`)
    return [given.slice(0, at), given.slice(at + 1)]
  })
}
