import { statSync } from 'node:fs'
import type { Config } from '../config/config.ts'
import { StartupError } from '../lib/startup-error.ts'

/** Returns the reason in one line for the operator, without a stack. */
export function describeStartError(error: unknown, { host, port }: Config): string {
  const { code, message, syscall } = error as NodeJS.ErrnoException
  if (code === 'EADDRINUSE') return `port ${port} on ${host} is in use by another process`
  // workers listen by way of the primary process, which binds the port
  if (code === 'EACCES' && (syscall === 'listen' || syscall === 'bind'))
    return `listening on ${host} port ${port} is not permitted`
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') return `${host} is not an address of this machine`
  return String(message).split('\n', 1)[0]!
}

/** Checks the folder at start rather than when the first stdio process is spawned, which may be days later. */
export function checkFolders({ stdio: { cwd } }: Config): void {
  if (cwd === undefined || statSync(cwd, { throwIfNoEntry: false })?.isDirectory()) return
  throw new StartupError(`TOWPATH_STDIO_CWD is not a folder: ${JSON.stringify(cwd)}`)
}
