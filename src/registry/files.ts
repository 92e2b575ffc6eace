import { randomUUID } from 'node:crypto'
import { link, mkdir, open, readFile, stat, unlink } from 'node:fs/promises'
import { dirname } from 'node:path'
import { closeToOthers } from './private-folder.ts'
import { StartRefusal } from './refusal.ts'

/**
 * Makes the data directory if it is missing, and closes it to other users whoever made it. Throws StartRefusal. Step by step:
 * Node's recursive `mkdir` never ends where a folder can be neither found nor made, as in /proc.
 */
export async function makePrivate(dataDir: string): Promise<void> {
  const refuse = (reason: string, cause?: unknown) =>
    new StartRefusal(`the data directory ${dataDir} cannot be used: ${reason}`, { cause })
  const missing: string[] = []
  let folder = dataDir
  for (let state = await stateOf(folder); state !== 'folder'; state = await stateOf(folder)) {
    if (state === 'other') throw refuse(`${folder} is not a folder`)
    if (folder === dirname(folder)) throw refuse(`${folder} does not exist`)
    missing.unshift(folder)
    folder = dirname(folder)
  }
  for (const step of missing) {
    try {
      await mkdir(step, { mode: 0o700 })
    } catch (error) {
      // another process may be making it too
      if (hasCode(error, 'EEXIST') && (await stateOf(step)) === 'folder') continue
      throw refuse(`${step} cannot be made (${(error as NodeJS.ErrnoException).code})`, error)
    }
  }
  try {
    closeToOthers(dataDir)
  } catch (error) {
    if (error instanceof StartRefusal) throw error
    throw refuse(`its permissions cannot be set (${(error as NodeJS.ErrnoException).code})`, error)
  }
}

/** What is at a path; `missing` also where that cannot be found out. */
async function stateOf(path: string): Promise<'folder' | 'other' | 'missing'> {
  try {
    return (await stat(path)).isDirectory() ? 'folder' : 'other'
  } catch {
    return 'missing'
  }
}

/** Text of a file, undefined where there is none. */
export async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    throw error
  }
}

/** Creates a file (0600) that is either absent or complete on disk; false when it exists already. */
export async function createWhole(path: string, text: string): Promise<boolean> {
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
    await unlinkIfThere(draft)
  }
}

export async function unlinkIfThere(path: string): Promise<void> {
  try {
    await unlink(path)
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error
  }
}

export const hasCode = (error: unknown, code: string) => (error as { code?: unknown } | null)?.code === code
