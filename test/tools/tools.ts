import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Folder from which `npx` finds the packages of `test/tools/package.json`. */
export const toolsFolder = fileURLToPath(new URL('.', import.meta.url))

/** Returns the path of a file of the packages in `test/tools/package.json`. `path` starts with the package's name. */
export const toolPath = (path: string) => join(toolsFolder, 'node_modules', path)

/**
 * Installs the packages of `test/tools/package-lock.json`, unless exactly that file is installed already. Throws if npm
 * fails.
 */
export function installTools(): void {
  const lock = createHash('sha256')
    .update(readFileSync(join(toolsFolder, 'package-lock.json')))
    .digest('hex')
  const installed = toolPath('.installed')
  if (existsSync(installed) && readFileSync(installed, 'utf8') === lock) return
  console.log('Installing the packages of test/tools')
  // some of them name a newer Node than the oldest that the tests run on, and work on it
  const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  const { status, error } = spawnSync('npm', args, { cwd: toolsFolder, stdio: ['ignore', 'ignore', 'inherit'] })
  if (status !== 0) throw new Error('the packages of test/tools cannot be installed', { cause: error })
  writeFileSync(installed, lock)
}
