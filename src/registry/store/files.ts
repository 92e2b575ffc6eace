import { randomUUID } from 'node:crypto'
import { link, mkdir, open, readFile, stat, unlink } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type DataPart, restrictPermissions } from './permissions.ts'
import { StartupError } from '../../lib/startup-error.ts'

/**
 * Creates the data directory if it is missing, and removes access for other users to it and to one part of it in any
 * case. Throws StartupError.
 * Creates one folder at a time, because Node's recursive `mkdir` never returns if a folder can be neither found nor
 * created, as in /proc.
 */
export async function createPrivateFolder(dataDir: string, part: DataPart): Promise<void> {
  const refuse = (reason: string, cause?: unknown) =>
    new StartupError(`the data directory ${dataDir} cannot be used: ${reason}`, { cause })
  const missing: string[] = []
  let folder = dataDir
  for (let state = await pathType(folder); state !== 'folder'; state = await pathType(folder)) {
    if (state === 'other') throw refuse(`${folder} is not a folder`)
    if (folder === dirname(folder)) throw refuse(`${folder} does not exist`)
    missing.unshift(folder)
    folder = dirname(folder)
  }
  for (const step of missing) {
    try {
      await mkdir(step, { mode: 0o700 })
    } catch (error) {
      // Another process may be creating the folder at the same time.
      if (hasCode(error, 'EEXIST') && (await pathType(step)) === 'folder') continue
      throw refuse(`${step} cannot be created (${(error as NodeJS.ErrnoException).code})`, error)
    }
  }
  try {
    restrictPermissions(dataDir, part)
  } catch (error) {
    if (error instanceof StartupError) throw error
    throw refuse(`its permissions cannot be set (${(error as NodeJS.ErrnoException).code})`, error)
  }
}

/** Returns the type of a path; `missing` also if the type cannot be determined. */
async function pathType(path: string): Promise<'folder' | 'other' | 'missing'> {
  try {
    return (await stat(path)).isDirectory() ? 'folder' : 'other'
  } catch {
    return 'missing'
  }
}

/** Returns the text of a file, or undefined if it does not exist. */
export async function readIfExists(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    throw error
  }
}

/** Creates a file (0600) atomically; returns false if it already exists. */
export async function createAtomically(path: string, text: string): Promise<boolean> {
  const draft = `${path}.${randomUUID()}`
  try {
    const file = await open(draft, 'wx', 0o600)
    try {
      await file.writeFile(text)
      await file.sync()
    } finally {
      await file.close()
    }
    await link(draft, path)
    return true
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false
    throw error
  } finally {
    await unlinkIfExists(draft)
  }
}

export async function unlinkIfExists(path: string): Promise<void> {
  try {
    await unlink(path)
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error
  }
}

export const hasCode = (error: unknown, code: string) => (error as { code?: unknown } | null)?.code === code
