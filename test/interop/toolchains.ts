import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { cp, mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { start } from '../conformance/processes.ts'

/** Toolchains that third-party programs need. */
export const toolchains = ['node', 'python-1', 'python-2', 'fastmcp-3', 'fastmcp-4', 'go', 'java'] as const
export type Toolchain = (typeof toolchains)[number]

export const here = fileURLToPath(new URL('.', import.meta.url))
const cache = fileURLToPath(new URL('../../node_modules/.cache/interop', import.meta.url))

/** Returns the folder with a toolchain's packages and built programs. */
export const buildFolder = (toolchain: Toolchain) => join(cache, toolchain)

/** Installs and builds missing parts from pinned versions. Resolves with the reason if that is impossible. */
export async function prepare(toolchain: Toolchain): Promise<string | undefined> {
  if (toolchain === 'node') return undefined
  const { sources, install } = recipes[toolchain === 'go' || toolchain === 'java' ? toolchain : 'python']
  return prepareFrom(toolchain, sources(toolchain), install)
}

type Install = (toolchain: Toolchain, folder: string) => Promise<string | undefined>

interface Recipe {
  /** Returns files, and folders that end in a slash. */
  readonly sources: (toolchain: Toolchain) => readonly string[]
  readonly install: Install
}

export const offer = join(here, 'offer.json')
const javaSources = 'src/main/java/towpath/interop'

const recipes = {
  python: { sources: (toolchain) => [join(here, 'requirements', `${toolchain}.txt`)], install: installPython },
  go: { sources: () => [join(here, 'go/'), offer], install: buildGo },
  java: { sources: () => [join(here, 'java/pom.xml'), join(here, `java/${javaSources}/`)], install: buildJava }
} satisfies Record<string, Recipe>

/** Runs `install` unless the folder was built from the same sources. */
async function prepareFrom(toolchain: Toolchain, sources: readonly string[], install: Install) {
  const folder = buildFolder(toolchain)
  const stamp = join(folder, '.installed-from')
  const digest = await digestOf(sources)
  if (existsSync(stamp) && (await readFile(stamp, 'utf8')) === digest) return undefined
  await rm(stamp, { force: true })
  await mkdir(folder, { recursive: true })
  const failure = await install(toolchain, folder)
  if (failure === undefined) await writeFile(stamp, digest)
  return failure
}

async function digestOf(sources: readonly string[]): Promise<string> {
  const hash = createHash('sha256')
  for (const source of sources) {
    const names = source.endsWith('/') ? (await readdir(source)).sort().map((name) => join(source, name)) : [source]
    for (const name of names) hash.update(await readFile(name))
  }
  return hash.digest('hex')
}

async function installPython(toolchain: Toolchain, folder: string) {
  const isThere = (await run('python3', ['-c', 'import sys, venv; sys.exit(sys.version_info < (3, 11))'])) === undefined
  if (!isThere) return 'needs python3 3.11 or newer with venv'
  await rm(folder, { recursive: true, force: true })
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '-r']
  return (
    (await run('python3', ['-m', 'venv', folder])) ??
    run(join(folder, 'bin/python'), [...pip, join(here, 'requirements', `${toolchain}.txt`)])
  )
}

async function buildGo(_toolchain: Toolchain, folder: string) {
  if ((await run('go', ['version'])) !== undefined) return 'needs go 1.25 or newer'
  const sources = join(folder, 'sources')
  await rm(sources, { recursive: true, force: true })
  await cp(join(here, 'go'), sources, { recursive: true })
  await cp(offer, join(sources, 'offer.json'))
  return run('go', ['-C', sources, 'build', '-mod=readonly', '-o', join(folder, 'interop'), '.'])
}

async function buildJava(_toolchain: Toolchain, folder: string) {
  if ((await run('mvn', ['-version'])) !== undefined) return 'needs Java 17 or newer and Maven 3.8 or newer'
  await rm(join(folder, 'src'), { recursive: true, force: true })
  await cp(join(here, 'java'), folder, { recursive: true })
  return run('mvn', ['-q', '-B', '-f', join(folder, 'pom.xml'), 'package'])
}

/** Runs a command. Resolves with its output if it failed. */
async function run(command: string, args: readonly string[], env: Record<string, string> = {}) {
  const { exited, output } = start(command, args, env)
  const code = await exited
  return code === 0 ? undefined : `${command} ${args.join(' ')}: ${code} ${output().slice(-2000)}`
}
