import { spawn } from 'node:child_process'
import { statSync } from 'node:fs'
import { access, chmod, chown, constants, mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { isAbsolute, resolve } from 'node:path'
import { LRUCache } from 'lru-cache'
import { noop } from '../../lib/noop.ts'
import { PRODUCT } from '../../domain/product.ts'
import { UpstreamFailure } from '../../protocol/upstream-failure.ts'

type Environment = Readonly<Record<string, string | undefined>>

const inheritedNames = new Set(['HOME', 'PATH', 'SHELL', 'TERM', 'USER', 'LOGNAME', 'LANG'])
const DEFAULT_PATH = '/usr/local/bin:/usr/bin:/bin'
const SETPRIV = '/usr/bin/setpriv'

/** Returns the failure of a start that ran nothing. */
export const startFailure = (message: string, cause?: unknown) =>
  new UpstreamFailure('unreachable', message, { maybeProcessed: false, cause })

/**
 * Returns the environment of a child: the few inherited variables, and the declared ones
 * (security-model.md#child-process-isolation, SE-10).
 */
export function childEnvironment(gateway: Environment, declared: Readonly<Record<string, string>>) {
  const env: Record<string, string> = { PATH: DEFAULT_PATH }
  for (const [name, value] of Object.entries(gateway)) {
    if (value !== undefined && (inheritedNames.has(name) || name.startsWith('LC_'))) env[name] = value
  }
  for (const [name, value] of Object.entries(declared)) {
    if (!/^[^=\0]+$/.test(name) || value.includes('\0')) throw startFailure('env contains an invalid name or value')
    env[name] = value
  }
  return env
}

/** Returns the time of the last change; 0 if the path is not a file. */
function changedAt(path: string): number {
  try {
    const entry = statSync(path)
    return entry.isFile() ? entry.mtimeMs : 0
  } catch {
    return 0
  }
}

/**
 * Returns a text that changes when the program changes: the modification times of the executable and of the script in
 * its first argument, if their paths are absolute. During development of a server, new calls then run the new code.
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

/** Executables found in the last ten seconds. A search looks into each folder of PATH, some 100 µs for each. */
const lately = new LRUCache<string, string>({ max: 256, ttl: 10_000 })

/**
 * Returns the absolute path of a command, resolved with the child's own PATH and folder. Rejects with the reason
 * otherwise. A file that was found in the last ten seconds is returned as long as it can be run.
 */
export async function findExecutable(command: string, path: string, cwd: string): Promise<string> {
  const key = JSON.stringify([command, path, cwd])
  const known = lately.get(key)
  if (known !== undefined && (await problemOf(known)) === null) return known
  const file = await searchExecutable(command, path, cwd)
  lately.set(key, file)
  return file
}

async function searchExecutable(command: string, path: string, cwd: string): Promise<string> {
  const folders = command.includes('/') ? [cwd] : path.split(':')
  let problem = 'was not found'
  for (const folder of command === '' ? [] : folders) {
    const file = resolve(cwd, folder, command)
    const found = await problemOf(file)
    if (found === null) return file
    if (found !== 'was not found') problem = found
  }
  throw startFailure(`command "${command}" ${problem}`)
}

export interface ProcessIdentity {
  readonly uid: number | undefined
  readonly gid: number | undefined
}

/** Creates a folder that only the gateway's user can enter. Rejects with UpstreamFailure if `parent` takes none. */
export async function makeFolder(parent = tmpdir()): Promise<string> {
  try {
    return await mkdtemp(resolve(parent, `${PRODUCT}-`))
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    throw startFailure(
      `no folder can be made in ${parent} (${code}): TMPDIR must name one that the gateway can write to`,
      error
    )
  }
}

/** Creates a temporary folder that only the child's user can enter. */
export async function createFolder({ uid, gid }: ProcessIdentity): Promise<string> {
  const folder = await makeFolder()
  if (uid === undefined) return folder
  // without the right to change the owner, open the folder to all users, as its parent is
  await chown(folder, uid, gid ?? uid).catch(() => chmod(folder, 0o1777))
  return folder
}

export interface SpawnCommand {
  readonly file: string
  readonly args: readonly string[]
  readonly uid?: number
  readonly gid?: number
}

/**
 * Returns the command line that runs a program as another user. The process keeps no capability of the gateway; Node's
 * own `uid` option would leave the ambient ones (security-model.md#child-process-isolation).
 */
export async function withIdentity(
  file: string,
  args: readonly string[],
  { uid, gid }: ProcessIdentity,
  setpriv = SETPRIV
): Promise<SpawnCommand> {
  if (uid === undefined && gid === undefined) return { file, args }
  const user = uid === undefined ? [] : [`--reuid=${uid}`]
  const group = gid ?? uid!
  if ((await problemOf(setpriv)) !== null) {
    if (process.getuid?.() !== 0) throw startFailure(`TOWPATH_STDIO_UID needs ${setpriv}`)
    // only root loses all capabilities by changing its user id
    return { file, args, gid: group, ...(uid === undefined ? {} : { uid }) }
  }
  const drop = ['--clear-groups', '--inh-caps=-all', '--ambient-caps=-all', '--bounding-set=-all', '--no-new-privs']
  return { file: setpriv, args: [...user, `--regid=${group}`, ...drop, file, ...args] }
}

/** Runs a program to its end and ignores the outcome. */
async function runAs(identity: ProcessIdentity, file: string, args: readonly string[]): Promise<void> {
  const { file: command, args: all, ...user } = await withIdentity(file, args, identity)
  await new Promise<void>((resolve) => {
    const child = spawn(command, all, { ...user, env: {}, cwd: '/', stdio: 'ignore' })
    child.once('error', () => resolve())
    child.once('exit', () => resolve())
  })
}

/** Removes the folder of `createFolder`. Never rejects. */
export async function removeFolder(folder: string, identity: ProcessIdentity): Promise<void> {
  const remove = () => rm(folder, { recursive: true, force: true })
  try {
    await remove()
  } catch {
    // unless the gateway is root, only the second user can remove that user's files
    if (identity.uid !== undefined) await runAs(identity, '/bin/rm', ['-rf', '--', folder]).catch(noop)
    await remove().catch(noop)
  }
}
