import { isAbsolute, join, resolve } from 'node:path'
import { PRODUCT, TITLE } from '../domain/product.ts'
import type { Host } from './host.ts'

/** Folder of a gateway that runs from a clone, below the working directory. */
const LOCAL = `.${PRODUCT}`

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
