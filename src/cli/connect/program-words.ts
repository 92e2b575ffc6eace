import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { delimiter, join, sep } from 'node:path'
import { isObject } from '../../domain/is-object.ts'
import { PRODUCT } from '../../domain/product.ts'
import type { CliIo } from '../io/io.ts'

const realPath = (path: string): string | undefined => {
  try {
    return realpathSync(path)
  } catch {
    return undefined
  }
}

/** True if the command in this folder of the PATH starts the program. npm's folders are on the PATH of its scripts only. */
function isCommandOf(folder: string, program: string, platform: NodeJS.Platform): boolean {
  if (folder === '' || /node_modules[\\/]\.bin[\\/]?$/.test(folder)) return false
  if (platform !== 'win32') return realPath(join(folder, PRODUCT)) === program
  const installed = realPath(join(folder, 'node_modules', PRODUCT))
  return installed !== undefined && program.startsWith(installed + sep) && existsSync(join(folder, `${PRODUCT}.cmd`))
}

/** True if npx fetched the program from a registry, not from a file. */
function isFromRegistry(program: string): boolean {
  const [, folder] = /^(.*[\\/]_npx[\\/][^\\/]+)[\\/]/.exec(program) ?? []
  if (folder === undefined) return false
  try {
    const { dependencies } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Record<string, unknown>
    return isObject(dependencies) && /^[\^~]?\d/.test(String(dependencies[PRODUCT]))
  } catch {
    return false
  }
}

/**
 * Returns the words with which another program of this machine can start this one: its command if the PATH has it, npx
 * if that started it, and otherwise Node.js with the path of the program. npx never runs a package that it did not
 * already run.
 */
export function programWords({
  env,
  program,
  platform
}: Pick<CliIo, 'env' | 'program' | 'platform'>): readonly string[] {
  const path = realPath(program) ?? program
  if (isFromRegistry(path)) return ['npx', '-y', PRODUCT]
  if ((env.PATH ?? '').split(delimiter).some((folder) => isCommandOf(folder, path, platform))) return [PRODUCT]
  // sources need the loader that this process was started with
  return [process.execPath, ...(path.endsWith('.ts') ? process.execArgv : []), path]
}
