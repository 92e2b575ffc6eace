import { cp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cacheFolder, prepareFrom, preparePython, run } from '../prepared.ts'

/** Toolchains that third-party programs need. */
export const toolchains = ['node', 'python-1', 'python-2', 'fastmcp-3', 'fastmcp-4', 'go', 'java'] as const
export type Toolchain = (typeof toolchains)[number]

export const here = fileURLToPath(new URL('.', import.meta.url))

/** Returns the folder with a toolchain's packages and built programs. */
export const buildFolder = (toolchain: Toolchain) => join(cacheFolder, 'interop', toolchain)

export const offer = join(here, 'offer.json')
const javaSources = 'src/main/java/towpath/interop'

/** Installs and builds missing parts from pinned versions. Resolves with the reason if that is impossible. */
export async function prepare(toolchain: Toolchain): Promise<string | undefined> {
  const folder = buildFolder(toolchain)
  if (toolchain === 'node') return undefined
  if (toolchain === 'go') return prepareFrom(folder, [join(here, 'go/'), offer], buildGo)
  if (toolchain !== 'java') return preparePython(folder, join(here, 'requirements', `${toolchain}.txt`))
  return prepareFrom(folder, [join(here, 'java/pom.xml'), join(here, `java/${javaSources}/`)], buildJava)
}

async function buildGo(folder: string) {
  if ((await run('go', ['version'])) !== undefined) return 'needs go 1.25 or newer'
  const sources = join(folder, 'sources')
  await rm(sources, { recursive: true, force: true })
  await cp(join(here, 'go'), sources, { recursive: true })
  await cp(offer, join(sources, 'offer.json'))
  return run('go', ['-C', sources, 'build', '-mod=readonly', '-o', join(folder, 'interop'), '.'])
}

async function buildJava(folder: string) {
  if ((await run('mvn', ['-version'])) !== undefined) return 'needs Java 17 or newer and Maven 3.8 or newer'
  await rm(join(folder, 'src'), { recursive: true, force: true })
  await cp(join(here, 'java'), folder, { recursive: true })
  return run('mvn', ['-q', '-B', '-f', join(folder, 'pom.xml'), 'package'])
}
