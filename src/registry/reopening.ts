import { randomUUID } from 'node:crypto'
import { open as openFile, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import type { PGlite, Results } from '@electric-sql/pglite'
import { DISK_FULL, STORE_STOPPED } from './failures.ts'
import { unlinkIfThere } from './files.ts'

/** The embedded PostgreSQL with what keeps a full disk from ending it. */
export interface Embedded {
  query(text: string, parameters: readonly unknown[]): Promise<Results>
  close(): Promise<void>
}

export interface ReopeningOptions {
  /** Of the store's files. */
  readonly folder: string
  readonly open: () => Promise<PGlite>
  /** Told when it has stopped. */
  readonly onStopped: (error: Error) => void
}

/** PostgreSQL stops where it cannot make the next segment of its log, of 16 MiB. */
const ROOM_BYTES = 20 * 2 ** 20
/** For how long an answer about room is good. */
const ROOM_MS = 500
const RETRY_MS = 1_000

const fault = (code: string, message: string) => Object.assign(new Error(message), { code })
const full = () => fault(DISK_FULL, 'no room is left beside the embedded store')

/** Statements that take no room of their own. */
const isFrugal = (text: string) => /^\s*(?:select|show|begin|start|commit|rollback|savepoint|release|set)\b/i.test(text)

/** After these a PGlite must not be asked again: it would not come back. */
const hasStopped = (error: unknown) =>
  /^(?:PANIC|FATAL)$/.test(String((error as { severity?: unknown }).severity)) ||
  (error as Error).name === 'RuntimeError' ||
  (error as Error).name === 'ExitStatus'

/** Whether the file system would take as much: a quota does not show in its figures. */
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

/** Opens the store, and again after it has stopped, once there is room. Writes fail before the room has gone. */
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
