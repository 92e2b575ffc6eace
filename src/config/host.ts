import { statSync } from 'node:fs'
import { homedir, totalmem } from 'node:os'

/** Facts besides variables that decide defaults. */
export interface Host {
  readonly platform: NodeJS.Platform
  /** Absolute path of the user's home folder. */
  readonly home: string
  /** True if this program is an installed package, not a clone. */
  readonly isPackage: boolean
  readonly isFolder: (path: string) => boolean
  /** Memory of the container, else of the machine. */
  readonly memoryBytes: number
}

/** Returns the memory limit of the control group (version 1 or 2), else the memory of the machine. */
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
