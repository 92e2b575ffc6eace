import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { kindOf } from './check.ts'
import type { Cli } from '../io/cli.ts'
import { usage } from '../io/failure.ts'
import { documentsIn, readInputFiles, type InputObject } from '../io/input.ts'
import { DECLARED, FILE_KINDS, type FileKind } from '../io/kinds.ts'
import { splitSwitches, type DesiredSwitches } from './switches.ts'

/** A resource as declared in a file. */
export interface DesiredResource {
  readonly kind: FileKind
  readonly name: string
  /** Declaration without switches. */
  readonly input: InputObject
  readonly switches?: DesiredSwitches
}

/** Folder names by the kind of their files; `export` writes the first. */
export const FOLDERS: Readonly<Record<FileKind, readonly string[]>> = {
  server: ['servers'],
  group: ['groups', 'tool-groups'],
  client: ['clients', 'mcp-clients'],
  user: ['users'],
  team: ['teams'],
  policy: ['policies']
}

const hint = 'put it into a folder servers, groups, clients, users, teams or policies'

/** A file, with the kind given by its folder. */
interface SourceFile {
  readonly file: string
  readonly kind?: FileKind
}

async function sourcesIn(path: string): Promise<SourceFile[]> {
  const ownFiles = await documentsIn(path)
  if (ownFiles === undefined) return [{ file: path }]
  const sources: SourceFile[] = ownFiles.map((file) => ({ file }))
  for (const name of (await readdir(path)).toSorted()) {
    const kind = FILE_KINDS.find((each) => FOLDERS[each].includes(name))
    if (kind === undefined || !(await stat(join(path, name))).isDirectory()) continue
    sources.push(...((await documentsIn(join(path, name))) ?? []).map((file) => ({ file, kind })))
  }
  if (sources.length === 0) throw usage(`${path} contains no .json or .yaml file`, hint)
  return sources
}

/** True for values that count as absent; MCPJungle's files also contain `null`. */
const isEmpty = (value: unknown): boolean => value === null || value === ''

function toDesired(input: InputObject, kind: FileKind): DesiredResource {
  const { name } = input.value
  if (typeof name !== 'string' || name === '') throw usage(`${input.from} has no "name"`)
  const value = Object.fromEntries(Object.entries(input.value).filter(([, member]) => !isEmpty(member)))
  const cleaned = { ...input, value }
  return kind === 'server' ? { kind, name, ...splitSwitches(cleaned) } : { kind, name, input: cleaned }
}

/**
 * Reads the declarations of a file or folder and expands variables; `keepsUnset`: references to unset variables stay.
 * Throws if a resource is declared twice.
 */
export async function readDesired(cli: Cli, path: string, keepsUnset: boolean): Promise<DesiredResource[]> {
  const sources = await sourcesIn(path)
  const input = await readInputFiles(
    cli.io,
    sources.map(({ file }) => file),
    keepsUnset
  )
  const kinds = new Map(sources.map(({ file, kind }) => [file, kind]))
  const desired = input.map((each) => {
    const file = each.from.replace(/\[\d+\]$/, '')
    return toDesired(each, kinds.get(file) ?? kindOf(each, hint))
  })
  const seen = new Map<string, string>()
  for (const { kind, name, input: each } of desired) {
    const key = `${kind} ${name}`
    const other = seen.get(key)
    if (other !== undefined)
      throw usage(`${DECLARED[kind].singular} "${name}" is defined in ${other} and in ${each.from}`)
    seen.set(key, each.from)
  }
  return desired
}
