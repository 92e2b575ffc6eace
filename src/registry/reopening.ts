import { randomUUID } from 'node:crypto'
import { open as openFile, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import type { PGlite, Results } from '@electric-sql/pglite'
import { DISK_FULL, STORE_STOPPED } from './failures.ts'
import { unlinkIfThere } from './files.ts'

/** Embedded PostgreSQL that survives a full disk */
export interface Embedded {
  query(text: string, parameters: readonly unknown[]): Promise<Results>
  close(): Promise<void>
}

export interface ReopeningOptions {
  /** Folder of the store's files */
  readonly folder: string
  readonly open: () => Promise<PGlite>
  /** Called when the store has stopped */
  readonly onStopped: (error: Error) => void
}

/** Required free space: PostgreSQL stops if it cannot create its next WAL segment of 16 MiB */
const ROOM_BYTES = 20 * 2 ** 20
/** Cache lifetime of the free space check */
const ROOM_MS = 500
const RETRY_MS = 1_000

const fault = (code: string, message: string) => Object.assign(new Error(message), { code })
const full = () => fault(DISK_FULL, 'no room is left beside the embedded store')

/** Returns true for statements that need no disk space. */
const isFrugal = (text: string) => /^\s*(?:select|show|begin|start|commit|rollback|savepoint|release|set)\b/i.test(text)

/** Returns true for errors after which a PGlite must not be queried again, because it would never answer. */
const hasStopped = (error: unknown) =>
  /^(?:PANIC|FATAL)$/.test(String((error as { severity?: unknown }).severity)) ||
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
    await unlinkIfThere(path)
  }
}

/**
 * Opens the store, and reopens it after it has stopped, once there is disk space. Writes are rejected before the space
 * runs out.
 */
export async function openReopening({ folder, open, onStopped }: ReopeningOptions): Promise<Embedded> {
  let current: PGlite | null = await open()
  let retryAt = 0
  let room = { at: -Infinity, isThere: true }

  const hasRoom = async () => {
    if (performance.now() - room.at < ROOM_MS) return room.isThere
    const { bavail, bsize } = await statfs(folder)
    room = { at: performance.now(), isThere: bavail * bsize >= ROOM_BYTES }
    return room.isThere
  }
  const reopened = async (): Promise<PGlite> => {
    if (performance.now() < retryAt) throw fault(STORE_STOPPED, 'the embedded store has stopped')
    retryAt = performance.now() + RETRY_MS
    if (!(await canWrite(folder, ROOM_BYTES))) throw full()
    current = await open()
    return current
  }
  return {
    async query(text, parameters) {
      const pglite = current ?? (await reopened())
      if (!isFrugal(text) && !(await hasRoom())) throw full()
      try {
        return await pglite.query(text, parameters as unknown[])
      } catch (error) {
        if (hasStopped(error)) {
          current = null
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
