import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { start } from './conformance/processes.ts'

/** Folder for programs that tests install or build once. */
export const cacheFolder = fileURLToPath(new URL('../node_modules/.cache', import.meta.url))

/** Resolves with the reason if the installation is impossible. */
export type Install = (folder: string) => Promise<string | undefined>

/**
 * Runs `install` unless the folder was built from the same sources. `sources`: files, and folders that end in a slash.
 * Resolves with the reason if that is impossible.
 */
export async function prepareFrom(folder: string, sources: readonly string[], install: Install) {
  const stamp = join(folder, '.installed-from')
  const digest = await digestOf(sources)
  if (existsSync(stamp) && (await readFile(stamp, 'utf8')) === digest) return undefined
  await rm(stamp, { force: true })
  await mkdir(folder, { recursive: true })
  const failure = await install(folder)
  if (failure === undefined) await writeFile(stamp, digest)
  return failure
}

/** Makes a virtual environment from a file of pinned requirements. Resolves with the reason if that is impossible. */
export const preparePython = (folder: string, requirements: string) =>
  prepareFrom(folder, [requirements], async () => {
    const check = 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))'
    if ((await run('python3', ['-c', check])) !== undefined) return 'needs python3 3.11 or newer with venv'
    await rm(folder, { recursive: true, force: true })
    const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '-r', requirements]
    return (await run('python3', ['-m', 'venv', folder])) ?? run(join(folder, 'bin/python'), pip)
  })

async function digestOf(sources: readonly string[]): Promise<string> {
  const hash = createHash('sha256')
  for (const source of sources) {
    const names = source.endsWith('/') ? (await readdir(source)).sort().map((name) => join(source, name)) : [source]
    for (const name of names) hash.update(await readFile(name))
  }
  return hash.digest('hex')
}

/** Runs a command. Resolves with its output if it failed. */
export async function run(command: string, args: readonly string[], env: Record<string, string> = {}) {
  const { exited, output } = start(command, args, env)
  const code = await exited
  return code === 0 ? undefined : `${command} ${args.join(' ')}: ${code} ${output().slice(-2000)}`
}
