import { randomUUID } from 'node:crypto'
import { link, mkdir, open, readFile, unlink } from 'node:fs/promises'

/** Nobody but the owner may look into the data directory. */
export const makePrivate = (folder: string) => mkdir(folder, { recursive: true, mode: 0o700 })

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
