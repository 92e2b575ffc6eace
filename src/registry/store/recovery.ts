import { randomUUID } from 'node:crypto'
import { open as openFile, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { DISK_FULL, STORE_STOPPED } from './failures.ts'
import { unlinkIfExists } from './files.ts'

/** Result of a statement: its rows, its name, such as `INSERT`, and the number of rows that it affected. */
export interface QueryResult {
  readonly command?: string
  readonly rowCount?: number
  readonly rows: Record<string, unknown>[]
}

/** An embedded PostgreSQL that has been opened. Its errors have the fields of PostgreSQL: `code`, `severity`. */
export interface OpenDatabase {
  query(text: string, parameters: unknown[]): Promise<QueryResult>
  close(): Promise<void>
  /** Ends it without closing, after it has stopped. */
  terminate?(): Promise<void>
}

/** Embedded PostgreSQL that survives a full disk */
export interface EmbeddedDatabase {
  query(text: string, parameters: readonly unknown[]): Promise<QueryResult>
  close(): Promise<void>
}

export interface RecoveryOptions {
  /** Folder of the store's files */
  readonly folder: string
  readonly open: () => Promise<OpenDatabase>
  /** Called when the store has stopped */
  readonly onStopped: (error: Error) => void
}

/** Required free space: PostgreSQL stops if it cannot create its next WAL segment of 16 MiB */
const MIN_FREE_BYTES = 20 * 2 ** 20
/** Cache lifetime of the free space check */
const FREE_SPACE_TTL_MS = 500
const RETRY_MS = 1_000

const codedError = (code: string, message: string) => Object.assign(new Error(message), { code })
const diskFullError = () => codedError(DISK_FULL, 'no room is left beside the embedded store')

/** Returns true for statements that need no disk space. */
const needsNoDiskSpace = (text: string) =>
  /^\s*(?:select|show|begin|start|commit|rollback|savepoint|release|set)\b/i.test(text)

/** Returns true for errors after which it must not be queried again, because it would never answer. */
const hasStopped = (error: unknown) =>
  /^(?:PANIC|FATAL)$/.test(String((error as { severity?: unknown }).severity)) ||
  (error as { code?: unknown }).code === STORE_STOPPED ||
  (error as Error).name === 'RuntimeError' ||
  (error as Error).name === 'ExitStatus'

/** Returns true if a file of that size can be written, since quotas do not show in the file system's figures. */
async function canWrite(folder: string, bytes: number): Promise<boolean> {
  const path = join(folder, '..', `postgres.room.${randomUUID()}`)
  try {
    const file = await openFile(path, 'wx', 0o600)
    try {
      await file.writeFile(Buffer.alloc(bytes))
      return true
    } finally {
      await file.close()
    }
  } catch {
    return false
  } finally {
    await unlinkIfExists(path)
  }
}

/**
 * Opens the store, and reopens it after it has stopped, once there is disk space. Writes are rejected before the space
 * runs out.
 */
export async function openWithRecovery({ folder, open, onStopped }: RecoveryOptions): Promise<EmbeddedDatabase> {
  let current: OpenDatabase | null = await open()
  let retryAt = 0
  let lastCheck = { at: -Infinity, isEnough: true }

  const hasFreeSpace = async () => {
    if (performance.now() - lastCheck.at < FREE_SPACE_TTL_MS) return lastCheck.isEnough
    const { bavail, bsize } = await statfs(folder)
    lastCheck = { at: performance.now(), isEnough: bavail * bsize >= MIN_FREE_BYTES }
    return lastCheck.isEnough
  }
  const reopen = async (): Promise<OpenDatabase> => {
    if (performance.now() < retryAt) throw codedError(STORE_STOPPED, 'the embedded store has stopped')
    retryAt = performance.now() + RETRY_MS
    if (!(await canWrite(folder, MIN_FREE_BYTES))) throw diskFullError()
    current = await open()
    return current
  }
  return {
    async query(text, parameters) {
      const database = current ?? (await reopen())
      if (!needsNoDiskSpace(text) && !(await hasFreeSpace())) throw diskFullError()
      try {
        return await database.query(text, parameters as unknown[])
      } catch (error) {
        if (hasStopped(error)) {
          current = null
          void database.terminate?.()
          retryAt = performance.now() + RETRY_MS
          onStopped(error as Error)
        }
        throw error
      }
    },
    async close() {
      await current?.close()
    }
  }
}
