import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { FILED, kindOf, type Filed } from './check.ts'
import type { Cli } from './cli.ts'
import { usage } from './failure.ts'
import { documentsIn, readFiles, type Given } from './input.ts'
import { KINDS } from './kinds.ts'
import { takeSwitches, type WantedSwitches } from './switches.ts'

/** One thing as files want it. */
export interface Wanted {
  readonly kind: Filed
  readonly name: string
  /** Without its switches. */
  readonly given: Given
  readonly switches?: WantedSwitches
}

/** Folders that say of what kind their files are; `export` writes the first of each. */
export const FOLDERS: Readonly<Record<Filed, readonly string[]>> = {
  server: ['servers'],
  group: ['groups', 'tool-groups'],
  client: ['clients', 'mcp-clients'],
  user: ['users']
}

const hint = 'put it into a folder servers, groups, clients or users'

/** Files and the kind that their folder gives them. */
interface Source {
  readonly file: string
  readonly kind?: Filed
}

async function sourcesIn(path: string): Promise<Source[]> {
  const own = await documentsIn(path)
  if (own === undefined) return [{ file: path }]
  const sources: Source[] = own.map((file) => ({ file }))
  for (const name of (await readdir(path)).toSorted()) {
    const kind = FILED.find((each) => FOLDERS[each].includes(name))
    if (kind === undefined || !(await stat(join(path, name))).isDirectory()) continue
    sources.push(...((await documentsIn(join(path, name))) ?? []).map((file) => ({ file, kind })))
  }
  if (sources.length === 0) throw usage(`${path} holds no .json or .yaml file`, hint)
  return sources
}

/** An empty text, list or map says as little as what is not there; MCPJungle's files have `null`, too. */
const isEmpty = (value: unknown): boolean => value === null || value === ''

function wantedOf(given: Given, kind: Filed): Wanted {
  const { name } = given.value
  if (typeof name !== 'string' || name === '') throw usage(`${given.from} gives no "name"`)
  const value = Object.fromEntries(Object.entries(given.value).filter(([, member]) => !isEmpty(member)))
  const cleaned = { ...given, value }
  return kind === 'server' ? { kind, name, ...takeSwitches(cleaned) } : { kind, name, given: cleaned }
}

/** Everything that a folder or file wants, with the environment's values in it; nothing is wanted twice. */
export async function readWanted(cli: Cli, path: string): Promise<Wanted[]> {
  const sources = await sourcesIn(path)
  const given = await readFiles(
    cli.world,
    sources.map(({ file }) => file)
  )
  const kinds = new Map(sources.map(({ file, kind }) => [file, kind]))
  const wanted = given.map((each) => {
    const file = each.from.replace(/\[\d+\]$/, '')
    return wantedOf(each, kinds.get(file) ?? kindOf(each, hint))
  })
  const seen = new Map<string, string>()
  for (const { kind, name, given: each } of wanted) {
    const key = `${kind} ${name}`
    const other = seen.get(key)
    if (other !== undefined) throw usage(`${KINDS[kind].singular} "${name}" is in ${other} and in ${each.from}`)
    seen.set(key, each.from)
  }
  return wanted
}
