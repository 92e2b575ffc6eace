import { randomUUID } from 'node:crypto'
import { open as openFile } from 'node:fs/promises'
import { join } from 'node:path'
import { noop } from '../../lib/noop.ts'
import { codedError, DISK_FULL, STORE_STOPPED } from './failures.ts'
import { unlinkIfExists } from './files.ts'
import { createSpaceCheck, diskFullError, MIN_FREE_BYTES } from './free-space.ts'

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

const RETRY_MS = 1_000

const storeStopped = (cause?: unknown) => codedError(STORE_STOPPED, 'the embedded store has stopped', cause)
/** Gives errors of a store that has stopped a code by which callers know that the same query may succeed later. */
const temporary = (error: unknown) => ((error as { code?: unknown }).code === DISK_FULL ? error : storeStopped(error))

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
  /** Settles once a stopped store no longer uses its folder. */
  let terminated: Promise<void> | undefined
  const requireSpace = createSpaceCheck(folder, MIN_FREE_BYTES)
  const reopen = async (): Promise<OpenDatabase> => {
    if (performance.now() < retryAt) throw storeStopped()
    retryAt = performance.now() + RETRY_MS
    if (!(await canWrite(folder, MIN_FREE_BYTES))) throw diskFullError()
    await terminated
    try {
      return (current = await open())
    } catch (error) {
      throw temporary(error)
    }
  }
  return {
    async query(text, parameters) {
      const database = current ?? (await reopen())
      if (!needsNoDiskSpace(text)) await requireSpace()
      try {
        return await database.query(text, parameters as unknown[])
      } catch (error) {
        if (!hasStopped(error)) throw error
        // of several queries that fail with it, the first one reports it
        if (current === database) {
          current = null
          terminated = database.terminate?.().catch(noop)
          retryAt = performance.now() + RETRY_MS
          onStopped(error as Error)
        }
        throw temporary(error)
      }
    },
    async close() {
      await current?.close()
    }
  }
}
