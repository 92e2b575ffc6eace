import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { isObject } from '../domain/is-object.ts'
import { expandPlaceholders } from '../domain/placeholders.ts'
import { usage } from './failure.ts'
import type { World } from './world.ts'

/** A JSON object that was given, and where it stands: a file's name, and the place in it if it holds several. */
export interface Given {
  readonly value: Readonly<Record<string, unknown>>
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

/** Puts the environment in the place of `${VAR}`; every name that is not set is told at once (contract 2.11). */
export function expand(world: World, value: unknown, from: string): unknown {
  const { value: expanded, unset } = expandPlaceholders(value, (name) => world.env[name])
  if (unset.length === 0) return expanded
  const names = [...new Set(unset.map(({ name }) => name))]
  const places = unset.map(({ name, path }) => `  ${name} at ${path}`).join('\n')
  throw usage(
    `${from} names ${names.length === 1 ? 'a variable that is' : 'variables that are'} not set:\n${places}`,
    `export ${names.map((name) => `${name}=…`).join(' ')}`
  )
}

/** What a file holds, parsed; YAML by its name. */
export async function parseFile(world: World, path: string): Promise<unknown> {
  const source = await readText(world, path)
  return /\.ya?ml$/i.test(path) ? parseYaml(source, path) : parseJson(source, path === '-' ? 'stdin' : path)
}

const isDocument = (name: string) => /\.(json|ya?ml)$/i.test(name) && !name.startsWith('.')

async function filesOf(path: string): Promise<string[]> {
  if (path === '-' || !(await stat(path).catch(() => undefined))?.isDirectory()) return [path]
  const names = (await readdir(path)).filter(isDocument).toSorted()
  if (names.length === 0) throw usage(`${path} holds no .json or .yaml file`)
  return names.map((name) => join(path, name))
}

function objectsIn(value: unknown, from: string): Given[] {
  const items = Array.isArray(value) ? value.map((item, index) => ({ item, from: `${from}[${index}]` })) : undefined
  return (items ?? [{ item: value, from }]).map((each) => {
    if (!isObject(each.item)) throw usage(`${each.from} must be a JSON object`)
    return { value: each.item, from: each.from }
  })
}

/** Every object that a file, its array, or the files of a folder hold, with the environment's values in it. */
export async function readObjects(world: World, path: string): Promise<Given[]> {
  const found: Given[] = []
  for (const file of await filesOf(path)) {
    const from = file === '-' ? 'stdin' : file
    found.push(...objectsIn(expand(world, await parseFile(world, file), from), from))
  }
  return found
}

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
