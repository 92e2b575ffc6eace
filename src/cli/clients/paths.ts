import { posix, win32 } from 'node:path'
import type { ConfigPlace, System } from '../../domain/clients/clients.ts'
import { PRODUCT } from '../../domain/product.ts'
import type { CliIo } from '../io/io.ts'

const systemOf = ({ platform }: CliIo): System => (platform === 'win32' || platform === 'darwin' ? platform : 'linux')

const pathsOf = (io: CliIo) => (systemOf(io) === 'win32' ? win32 : posix)

/** Returns the user's home: `USERPROFILE` on Windows. */
const homeOf = (io: CliIo): string => (systemOf(io) === 'win32' && io.env.USERPROFILE ? io.env.USERPROFILE : io.home)

/** Returns the system's folder for application data. */
function configFolder(io: CliIo): string {
  const { join } = pathsOf(io)
  const system = systemOf(io)
  if (system === 'darwin') return join(homeOf(io), 'Library', 'Application Support')
  if (system === 'win32') return io.env.APPDATA || join(homeOf(io), 'AppData', 'Roaming')
  return io.env.XDG_CONFIG_HOME || join(homeOf(io), '.config')
}

/** Returns the folder in which this command keeps its own state between runs. */
export function stateFolder(io: CliIo): string {
  const { join } = pathsOf(io)
  const system = systemOf(io)
  if (system === 'darwin') return join(configFolder(io), PRODUCT)
  if (system === 'win32') return join(io.env.LOCALAPPDATA || join(homeOf(io), 'AppData', 'Local'), PRODUCT)
  return join(io.env.XDG_STATE_HOME || join(homeOf(io), '.local', 'state'), PRODUCT)
}

/** Returns the absolute path of a place's file on this system. */
export function placePath(io: CliIo, { file, folderVariable }: ConfigPlace): string {
  const { resolve, join } = pathsOf(io)
  const text = typeof file === 'string' ? file : file[systemOf(io)]
  const folder = folderVariable === undefined ? undefined : io.env[folderVariable]
  if (folder) return join(folder, text.replace(/^~\/[^/]*\//, ''))
  if (text.startsWith('~/')) return join(homeOf(io), text.slice(2))
  if (text.startsWith('{config}/')) return join(configFolder(io), text.slice('{config}/'.length))
  return resolve(io.cwd, text)
}
