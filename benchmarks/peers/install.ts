import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
/** Longer than the largest package takes on a slow network. */
const INSTALL_MS = 600_000

const versions = JSON.parse(readFileSync(new URL('packages.json', import.meta.url), 'utf8')) as {
  readonly npm: Readonly<Record<string, string>>
  readonly pip: Readonly<Record<string, string>>
}

/** Each package has its own folder, because packages for Python exclude each other's dependencies. */
const folder = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'towpath', 'peers')

/** Installs a version once; a folder without the mark is what is left of an installation that failed. */
async function installOnce(path: string, install: () => Promise<unknown>): Promise<string> {
  const mark = join(path, 'installed')
  if (existsSync(mark)) return path
  mkdirSync(path, { recursive: true })
  await install()
  writeFileSync(mark, '')
  return path
}

/** Installs a package of npm, without its scripts. Resolves with the folder of the package. Rejects if it cannot. */
export async function npmPackage(name: string): Promise<string> {
  const wanted = `${name}@${versions.npm[name]!}`
  const path = await installOnce(join(folder, `npm-${wanted}`), () =>
    run('npm', ['install', '--prefix', join(folder, `npm-${wanted}`), '--ignore-scripts', '--no-audit', wanted], {
      timeout: INSTALL_MS
    })
  )
  return join(path, 'node_modules', name)
}

/** Installs a package for Python in an environment of its own. Resolves with the folder of its programs. */
export async function pipPackage(name: string): Promise<string> {
  const wanted = `${name}==${versions.pip[name]!}`
  const path = join(folder, `pip-${wanted}`)
  const programs = join(path, 'bin')
  await installOnce(path, async () => {
    await run('python3', ['-m', 'venv', path], { timeout: INSTALL_MS })
    await run(join(programs, 'pip'), ['install', '--quiet', wanted], { timeout: INSTALL_MS })
  })
  return programs
}

/** Returns `name version` of a package, for the page. */
export const labelOf = (kind: 'npm' | 'pip', name: string): string => `${name} ${versions[kind][name]!} (${kind})`
