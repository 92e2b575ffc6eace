import { randomBytes } from 'node:crypto'
import { lstat, open, readFile, realpath, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { isObject } from '../../domain/is-object.ts'
import { PRODUCT } from '../../domain/product.ts'
import { Failure, EXIT, usage } from './failure.ts'

/** Content of `~/.towpath.conf` (http-contract.md#command-line-configuration). */
export interface ConfigFile {
  readonly registry_url?: string
  readonly access_token?: string
}

export const configPath = (home: string): string => join(home, `.${PRODUCT}.conf`)

const hasCode = (error: unknown, code: string) => error instanceof Error && 'code' in error && error.code === code

async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    if (hasCode(cause, 'ENOENT')) return undefined
    throw new Failure(EXIT.usage, `cannot read ${path}`, { cause })
  }
}

/** Parses the file, keeping comments. Error messages never quote the content, which may be the token. */
async function parse(path: string, text: string) {
  const { parseDocument } = await import('yaml')
  const document = parseDocument(text)
  const [error] = document.errors
  if (error) throw usage(`${path} is not valid YAML (line ${error.linePos?.[0].line ?? 1})`)
  const content: unknown = document.toJS() ?? {}
  if (!isObject(content)) throw usage(`${path} must contain "registry_url: …" and "access_token: …"`)
  for (const name of ['registry_url', 'access_token']) {
    const value = content[name]
    if (value !== undefined && value !== null && typeof value !== 'string')
      throw usage(`"${name}" in ${path} must be a string: put it in quotes`)
  }
  return { document, content }
}

export async function readConfigFile(path: string): Promise<ConfigFile> {
  const text = await readText(path)
  if (text === undefined) return {}
  const { content } = await parse(path, text)
  const { registry_url, access_token } = content as { registry_url?: string | null; access_token?: string | null }
  return { ...(registry_url ? { registry_url } : {}), ...(access_token ? { access_token } : {}) }
}

/** Ownership and permissions of a file. */
export interface FileAccess {
  readonly isOwn: boolean
  /** Permission bits; undefined on Windows. */
  readonly mode: number | undefined
}

/** Reads the ownership and permissions; undefined if the file does not exist. */
export async function readFileAccess(path: string): Promise<FileAccess | undefined> {
  try {
    const { mode, uid } = await lstat(await realpath(path))
    const isWindows = process.platform === 'win32'
    return { isOwn: isWindows || uid === process.getuid?.(), mode: isWindows ? undefined : mode & 0o777 }
  } catch {
    return undefined
  }
}

/** True if group or others have any permission. */
export async function isReadableByOthers(path: string): Promise<boolean> {
  return (((await readFileAccess(path))?.mode ?? 0) & 0o077) !== 0
}

/** Owner of a file. */
export interface FileOwner {
  readonly uid: number
  readonly gid: number
}

/**
 * Writes a file atomically: on failure the old content stays. Keeps `owner` if it is not the user of this process, who
 * is then the superuser.
 */
export async function writeAtomically(
  path: string,
  content: string | Uint8Array,
  mode: number,
  owner?: FileOwner
): Promise<void> {
  // follows a symbolic link, which stays in place
  const target = await realpath(path).catch(() => path)
  const temporary = `${target}.${randomBytes(6).toString('hex')}`
  try {
    const file = await open(temporary, 'wx', mode)
    try {
      await file.writeFile(content)
      // the mode of `open` is reduced by the umask
      await file.chmod(mode)
      if (owner && process.getuid?.() === 0 && owner.uid !== 0) await file.chown(owner.uid, owner.gid)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(temporary, target)
  } catch (cause) {
    await rm(temporary, { force: true })
    throw new Failure(EXIT.failed, `cannot write ${path}`, { cause })
  }
}

/** Writes a file atomically with mode 0600. */
export const writePrivateFile = (path: string, text: string): Promise<void> => writeAtomically(path, text, 0o600)

/** Sets members, or removes those that are undefined; other members and comments are kept. */
export async function updateConfigFile(
  path: string,
  changes: { readonly [K in keyof ConfigFile]?: string | undefined }
): Promise<void> {
  const { document, content } = await parse(path, (await readText(path)) ?? '')
  // an empty document has no mapping to add members to
  if (Object.keys(content).length === 0) document.contents = document.createNode({}) as typeof document.contents
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined) document.delete(name)
    else document.set(name, value)
  }
  await writePrivateFile(path, document.toString())
}
