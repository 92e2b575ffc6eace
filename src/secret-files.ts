import { realpathSync, statSync, type Stats } from 'node:fs'
import { dirname } from 'node:path'
import type { Config, Environment } from './config/config.ts'
import { StartupError } from './lib/startup-error.ts'
import { settings, type Setting } from './config/settings.ts'

interface User {
  readonly uid: number
  readonly gid: number
}

const READ = 4
const SEARCH = 1

/** True if the file or folder grants the user the permission. stdio servers run without supplementary groups. */
function permits({ mode, uid, gid }: Stats, user: User, bit: number): boolean {
  const shift = uid === user.uid ? 6 : gid === user.gid ? 3 : 0
  return ((mode >> shift) & bit) !== 0
}

/** True if the user can reach and read the file, or owns it and could change its mode. */
function canRead(path: string, user: User): boolean {
  const file = realpathSync(path)
  for (let at = file; at !== dirname(at);) {
    at = dirname(at)
    if (!permits(statSync(at), user, SEARCH)) return false
  }
  const stats = statSync(file)
  return stats.uid === user.uid || permits(stats, user, READ)
}

/** Files named by `…_FILE` variables. */
const namedFiles = (env: Environment) =>
  Object.values<Setting>(settings).flatMap(({ variable, file }) => {
    const name = `${variable}_FILE`
    const path = file ? env[name] : undefined
    return path ? [{ name, path }] : []
  })

/**
 * Refuses the start if stdio servers run as a user of their own who can read the gateway's secret files: files mounted
 * by Compose or from the host keep the host's permissions, often world-readable. Throws StartupError.
 */
export function checkSecretFiles({ stdio }: Pick<Config, 'stdio'>): void {
  const { enabled, uid, gid, environment } = stdio
  if (!enabled || uid === undefined) return
  const user = { uid, gid: gid ?? uid }
  const open = namedFiles(environment).filter(({ path }) => canRead(path, user))
  if (open.length === 0) return
  const files = open.map(({ name, path }) => `${path} (${name})`).join(', ')
  throw new StartupError(
    `stdio servers run as user ${uid} (TOWPATH_STDIO_UID) and can read ${files}: ` +
      'make the gateway’s user its owner, with mode 0400'
  )
}
