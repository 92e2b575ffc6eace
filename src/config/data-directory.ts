import { statSync } from 'node:fs'
import { homedir, totalmem } from 'node:os'
import { isAbsolute, join, resolve } from 'node:path'
import { PRODUCT, TITLE } from '../domain/product.ts'

/** Folder of a gateway that runs from a clone, below the working directory. */
const LOCAL = `.${PRODUCT}`

/** Facts besides variables that decide defaults. */
export interface Host {
  readonly platform: NodeJS.Platform
  /** Absolute path of the user's home folder. */
  readonly home: string
  /** True if this program is an installed package, not a clone. */
  readonly isPackage: boolean
  readonly isFolder: (path: string) => boolean
  /** Memory limit of the control group (version 1 or 2), else the memory of the machine. */
  readonly memoryBytes: number
}

function availableBytes(): number {
  const constrained = process.constrainedMemory()
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem()
}

/** Returns the host of this process. npm, npx and Homebrew install packages below a folder `node_modules`. */
export const thisHost = (): Host => ({
  platform: process.platform,
  home: homedir(),
  isPackage: /[\\/]node_modules[\\/]/.test(import.meta.url),
  isFolder: (path) => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true,
  memoryBytes: availableBytes()
})

/**
 * Returns the absolute path of the data directory if none is configured: `./.towpath` in a clone and where that folder
 * exists, else the platform's place for data of this user, so that a package has the same data in every folder.
 */
export function defaultDataDirectory(env: Readonly<Record<string, string | undefined>>, host: Host): string {
  const local = resolve(LOCAL)
  if (!host.isPackage || host.isFolder(local)) return local
  if (host.platform === 'darwin') return join(host.home, 'Library/Application Support', TITLE)
  if (host.platform === 'win32') return join(env['LOCALAPPDATA'] || join(host.home, 'AppData/Local'), TITLE)
  // a relative path is invalid, says the XDG base directory specification
  const data = env['XDG_DATA_HOME']
  return join(data && isAbsolute(data) ? data : join(host.home, '.local/share'), PRODUCT)
}
