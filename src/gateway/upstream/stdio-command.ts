import { spawn } from 'node:child_process'
import { statSync } from 'node:fs'
import { access, chmod, chown, constants, mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { isAbsolute, join, resolve } from 'node:path'
import { PRODUCT } from '../../domain/product.ts'
import { UpstreamFailure } from './failure.ts'

type Environment = Readonly<Record<string, string | undefined>>

const inheritedNames = new Set(['HOME', 'PATH', 'SHELL', 'TERM', 'USER', 'LOGNAME', 'LANG'])
const DEFAULT_PATH = '/usr/local/bin:/usr/bin:/bin'
const SETPRIV = '/usr/bin/setpriv'

/** A start that failed before anything ran. */
export const notStarted = (message: string, cause?: unknown) =>
  new UpstreamFailure('unreachable', message, { maybeProcessed: false, cause })

/**
 * All that a child gets to see of our environment, and what was declared for it
 * (security-model.md#child-process-isolation, SE-10).
 */
export function childEnvironment(gateway: Environment, declared: Readonly<Record<string, string>>) {
  const env: Record<string, string> = { PATH: DEFAULT_PATH }
  for (const [name, value] of Object.entries(gateway)) {
    if (value !== undefined && (inheritedNames.has(name) || name.startsWith('LC_'))) env[name] = value
  }
  for (const [name, value] of Object.entries(declared)) {
    if (!/^[^=\0]+$/.test(name) || value.includes('\0')) throw notStarted('env holds an invalid name or value')
    env[name] = value
  }
  return env
}

/** Time of the last change; 0 where it is no file. */
function changedAt(path: string): number {
  try {
    const entry = statSync(path)
    return entry.isFile() ? entry.mtimeMs : 0
  } catch {
    return 0
  }
}

/**
 * Is another text when the program was changed, as far as that shows in its file, or in the script that is its first
 * argument, where they are given by absolute paths. Who writes a server sees what it does now, not what it did before.
 */
export const programVersion = (command: string, [script = '']: readonly string[]): string =>
  [command, script].map((path) => (isAbsolute(path) ? changedAt(path) : 0)).join(' ')

async function problemOf(file: string): Promise<string | null> {
  try {
    if ((await stat(file)).isDirectory()) return 'is a directory'
  } catch {
    return 'was not found'
  }
  return access(file, constants.X_OK).then(
    () => null,
    () => 'is not executable'
  )
}

/** Absolute path of what a command names, by the child's own PATH and folder. Rejects naming what is wrong with it. */
export async function findExecutable(command: string, path: string, cwd: string): Promise<string> {
  const folders = command.includes('/') ? [cwd] : path.split(':')
  let problem = 'was not found'
  for (const folder of command === '' ? [] : folders) {
    const file = resolve(cwd, folder, command)
    const found = await problemOf(file)
    if (found === null) return file
    if (found !== 'was not found') problem = found
  }
  throw notStarted(`command "${command}" ${problem}`)
}

export interface Identity {
  readonly uid: number | undefined
  readonly gid: number | undefined
}

/** A fresh folder that only the child's user can enter. */
export async function createFolder({ uid, gid }: Identity): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), `${PRODUCT}-`))
  if (uid === undefined) return folder
  // without the right to give it away, as open as the folder it lies in
  await chown(folder, uid, gid ?? uid).catch(() => chmod(folder, 0o1777))
  return folder
}

export interface Start {
  readonly file: string
  readonly args: readonly string[]
  readonly uid?: number
  readonly gid?: number
}

/**
 * A second user's process keeps no capability of ours; Node's own `uid` leaves the ambient ones
 * (security-model.md#child-process-isolation).
 */
export async function asIdentity(
  file: string,
  args: readonly string[],
  { uid, gid }: Identity,
  setpriv = SETPRIV
): Promise<Start> {
  if (uid === undefined && gid === undefined) return { file, args }
  const user = uid === undefined ? [] : [`--reuid=${uid}`]
  const group = gid ?? uid!
  if ((await problemOf(setpriv)) !== null) {
    if (process.getuid?.() !== 0) throw notStarted(`TOWPATH_STDIO_UID needs ${setpriv}`)
    // root gives up all capabilities with its user id, nobody else does
    return { file, args, gid: group, ...(uid === undefined ? {} : { uid }) }
  }
  const drop = ['--clear-groups', '--inh-caps=-all', '--ambient-caps=-all', '--bounding-set=-all', '--no-new-privs']
  return { file: setpriv, args: [...user, `--regid=${group}`, ...drop, file, ...args] }
}

/** Runs to its end, whatever that is. */
async function runAs(identity: Identity, file: string, args: readonly string[]): Promise<void> {
  const { file: command, args: all, ...user } = await asIdentity(file, args, identity)
  await new Promise<void>((resolve) => {
    const child = spawn(command, all, { ...user, env: {}, cwd: '/', stdio: 'ignore' })
    child.once('error', () => resolve())
    child.once('exit', () => resolve())
  })
}

/** Removes what `createFolder` made. Never rejects. */
export async function removeFolder(folder: string, identity: Identity): Promise<void> {
  const remove = () => rm(folder, { recursive: true, force: true })
  try {
    await remove()
  } catch {
    // what a second user made in it is closed to us unless we are root: that user empties it
    if (identity.uid !== undefined) await runAs(identity, '/bin/rm', ['-rf', '--', folder])
    await remove().catch(() => {})
  }
}
