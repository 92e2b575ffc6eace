import { existsSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { PostgresPool, PostgresPoolClient } from 'kysely'
import { createSemaphore } from '../../lib/semaphore.ts'
import { requireStorable, STORE_BUSY } from './failures.ts'
import { createPrivateFolder } from './files.ts'
import { checkFormat } from './format.ts'
import { acquireLock, type Lock } from './lock.ts'
import { openWithRecovery, type EmbeddedDatabase } from './recovery.ts'
import { startStoreThread, type StoreThread } from './store-thread.ts'

export interface EmbeddedOptions {
  /** Called before a store is created */
  readonly onCreate?: (() => void) | undefined
  /** Called when the store has stopped by itself; it is reopened */
  readonly onStopped: (error: Error) => void
}

/** A store that is being opened before its owner asks for it. */
interface PreparedStore {
  readonly dataDir: string
  readonly pool: Promise<PostgresPool>
  /** Passes events on from now on. */
  attach(options: EmbeddedOptions): void
}

let prepared: PreparedStore | undefined

const folderIn = (dataDir: string) => join(dataDir, 'postgres')

/** Returns the folder of calls that are not rows of the store yet (`call-store.ts`). */
export const callFolderIn = (dataDir: string): string => join(dataDir, 'postgres.calls')

/**
 * Begins to open a store for the next `openEmbedded` of the same folder: PostgreSQL starts in its thread while the rest
 * of the gateway loads. A store that does not exist yet is left to `openEmbedded`: a start that is refused creates none.
 */
export function prepareEmbedded(dataDir: string, connectTimeoutMs: number): void {
  if (!existsSync(folderIn(dataDir))) return
  let owner: EmbeddedOptions | undefined
  const pool = open(dataDir, connectTimeoutMs, { onStopped: (error) => owner?.onStopped(error) })
  // reported to the owner
  pool.catch(() => {})
  prepared = { dataDir, pool, attach: (options) => void (owner = options) }
}

/** Closes a prepared store that nobody has asked for. */
export async function discardPrepared(): Promise<void> {
  const unused = prepared
  prepared = undefined
  const pool = await unused?.pool.catch(() => undefined)
  await pool?.end()
}

/** Opens the embedded PostgreSQL of a data directory as a pool of one connection. Throws StartupError. */
export async function openEmbedded(
  dataDir: string,
  connectTimeoutMs: number,
  options: EmbeddedOptions
): Promise<PostgresPool> {
  const found = prepared
  if (found?.dataDir !== dataDir) return open(dataDir, connectTimeoutMs, options)
  prepared = undefined
  found.attach(options)
  return found.pool
}

async function open(
  dataDir: string,
  connectTimeoutMs: number,
  { onCreate, onStopped }: EmbeddedOptions
): Promise<PostgresPool> {
  // PostgreSQL creates files at any time: from here on, all files of this process are private to its user.
  process.umask(0o077)
  const first = startStoreThread()
  let lock: Lock | undefined
  try {
    await createPrivateFolder(dataDir, 'all')
    lock = await acquireLock(dataDir, () => {
      process.stderr.write(`data directory ${dataDir} was taken over by another process\n`)
      process.exit(1)
    })
    const { release } = lock
    const folder = folderIn(dataDir)
    let next: StoreThread | undefined = first
    const openNext = () => {
      const thread = next ?? startStoreThread()
      next = undefined
      return thread.open(folder)
    }
    if (!(await checkFormat(folder))) {
      onCreate?.()
      // of an earlier store
      await rm(callFolderIn(dataDir), { recursive: true, force: true })
      await create(folder, first)
      next = undefined
    }
    const embedded = await openWithRecovery({ folder, open: openNext, onStopped })
    return createSingleConnectionPool(embedded, connectTimeoutMs, async () => {
      await embedded.close()
      await release()
    })
  } catch (error) {
    await first.terminate()
    await lock?.release()
    throw error
  }
}

/**
 * Creates the store in a temporary folder and renames it, because a first start that is killed half-way must not leave
 * a folder that cannot be opened.
 */
async function create(folder: string, thread: StoreThread): Promise<void> {
  const draft = `${folder}.new`
  await rm(draft, { recursive: true, force: true })
  const store = await thread.open(draft)
  await store.close()
  await rename(draft, folder)
}

function createSingleConnectionPool(
  embedded: EmbeddedDatabase,
  connectTimeoutMs: number,
  close: () => Promise<void>
): PostgresPool {
  const semaphore = createSemaphore(1)
  /** Given up after a limit, since a query outside its own transaction would wait for itself. */
  const acquire = () =>
    semaphore.acquire({
      ms: connectTimeoutMs,
      error() {
        const message = `the embedded store gave no connection within ${connectTimeoutMs} ms: a transaction holds it`
        return Object.assign(new Error(message), { code: STORE_BUSY })
      }
    })

  const query = async (text: string, parameters: readonly unknown[]) => {
    requireStorable(parameters)
    const { command, rowCount, rows } = await embedded.query(text, parameters)
    return { command, rowCount: rowCount ?? 0, rows }
  }
  return {
    async connect() {
      const release = await acquire()
      return { query: query as PostgresPoolClient['query'], release }
    },
    async end() {
      const release = await acquire()
      try {
        await close()
      } finally {
        release()
      }
    }
  }
}
