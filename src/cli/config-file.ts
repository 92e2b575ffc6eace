import { randomBytes } from 'node:crypto'
import { lstat, open, readFile, realpath, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { isObject } from '../domain/is-object.ts'
import { PRODUCT } from '../domain/product.ts'
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

/** The document and its comments; what the file holds is never part of a message, since that may be the token. */
async function parse(path: string, text: string) {
  const { parseDocument } = await import('yaml')
  const document = parseDocument(text)
  const [error] = document.errors
  if (error) throw usage(`${path} is not valid YAML (line ${error.linePos?.[0].line ?? 1})`)
  const content: unknown = document.toJS() ?? {}
  if (!isObject(content)) throw usage(`${path} must hold "registry_url: …" and "access_token: …"`)
  for (const name of ['registry_url', 'access_token']) {
    const value = content[name]
    if (value !== undefined && value !== null && typeof value !== 'string')
      throw usage(`"${name}" in ${path} must be text: put it in quotes`)
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

/** Whose a file is, and who can reach it. */
export interface Access {
  readonly isOwn: boolean
  /** Undefined on Windows, which has no such bits. */
  readonly mode: number | undefined
}

/** Undefined where there is no such file. */
export async function accessOf(path: string): Promise<Access | undefined> {
  try {
    const { mode, uid } = await lstat(await realpath(path))
    const isWindows = process.platform === 'win32'
    return { isOwn: isWindows || uid === process.getuid?.(), mode: isWindows ? undefined : mode & 0o777 }
  } catch {
    return undefined
  }
}

/** Whether others than its owner can read it. */
export async function isReadableByOthers(path: string): Promise<boolean> {
  return (((await accessOf(path))?.mode ?? 0) & 0o077) !== 0
}

/** A file that is there whole or not at all. */
export async function writeWhole(path: string, text: string, mode: number): Promise<void> {
  // through a link, so that a file that is kept elsewhere stays there
  const target = await realpath(path).catch(() => path)
  const temporary = `${target}.${randomBytes(6).toString('hex')}`
  try {
    const file = await open(temporary, 'wx', mode)
    try {
      await file.writeFile(text)
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

/** As above, and only its owner can read it. */
export const writePrivately = (path: string, text: string): Promise<void> => writeWhole(path, text, 0o600)

/** Sets members, or removes those that are undefined; everything else in the file stays, comments too. */
export async function updateConfigFile(
  path: string,
  changes: { readonly [K in keyof ConfigFile]?: string | undefined }
): Promise<void> {
  const { document, content } = await parse(path, (await readText(path)) ?? '')
  // an empty document has no map to set a member in
  if (Object.keys(content).length === 0) document.contents = document.createNode({}) as typeof document.contents
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined) document.delete(name)
    else document.set(name, value)
  }
  await writePrivately(path, document.toString())
}
