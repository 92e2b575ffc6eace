import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import type { ParserOptions, PGlite, SerializerOptions } from '@electric-sql/pglite'
import type { NodeFS } from '@electric-sql/pglite/nodefs'
import type { PostgresPool, PostgresPoolClient } from 'kysely'
import { createSemaphore } from '../../lib/semaphore.ts'
import { requireStorable, STORE_BUSY } from './failures.ts'
import { createPrivateFolder } from './files.ts'
import { checkFormat } from './format.ts'
import { acquireLock } from './lock.ts'
import { openWithRecovery, type EmbeddedDatabase } from './recovery.ts'

const INT8 = 20
/** OIDs of element and array for the array types used in parameters and results: text, integer, uuid */
const arrayTypes = [
  [25, 1009],
  [23, 1007],
  [2950, 2951]
] as const

/** PostgreSQL allocates and zeroes its default of 128 MB at start; a registry is smaller than 16 MB */
const SHARED_BUFFERS = '16MB'

export interface EmbeddedOptions {
  /** Called before a store is created */
  readonly onCreate?: (() => void) | undefined
  /** Called when the store has stopped by itself; it is reopened */
  readonly onStopped: (error: Error) => void
}

/** Opens the embedded PostgreSQL of a data directory as a pool of one connection. Throws StartupError. */
export async function openEmbedded(
  dataDir: string,
  connectTimeoutMs: number,
  { onCreate, onStopped }: EmbeddedOptions
): Promise<PostgresPool> {
  // PostgreSQL creates files at any time: from here on, all files of this process are private to its user.
  process.umask(0o077)
  await createPrivateFolder(dataDir)
  const lock = await acquireLock(dataDir, () => {
    process.stderr.write(`data directory ${dataDir} was taken over by another process\n`)
    process.exit(1)
  })
  try {
    const folder = await createIfMissing(dataDir, onCreate)
    const embedded = await openWithRecovery({ folder, open: () => open(folder), onStopped })
    return createSingleConnectionPool(embedded, connectTimeoutMs, async () => {
      await embedded.close()
      await lock.release()
    })
  } catch (error) {
    await lock.release()
    throw error
  }
}

/**
 * Creates the store in a temporary folder and renames it, because a first start that is killed half-way must not leave
 * a folder that cannot be opened.
 */
async function createIfMissing(dataDir: string, onCreate?: () => void): Promise<string> {
  const folder = join(dataDir, 'postgres')
  if (!(await checkFormat(folder))) {
    onCreate?.()
    const draft = `${folder}.new`
    await rm(draft, { recursive: true, force: true })
    const first = await open(draft)
    await first.close()
    await rename(draft, folder)
  }
  return folder
}

/**
 * Delays WASM optimisation to the default of newer V8 (Node 24), since code that runs once is not worth optimising.
 * Saves a tenth of the opening time on Node 20, and nothing gets slower.
 */
const delayWasmOptimisation = () => setFlagsFromString('--wasm-tiering-budget=13000000')

async function open(folder: string): Promise<PGlite> {
  delayWasmOptimisation()
  const [{ PGlite, types }, { NodeFS }] = await Promise.all([
    import('@electric-sql/pglite'),
    import('@electric-sql/pglite/nodefs')
  ])
  const parsers: ParserOptions = { [INT8]: (value) => value }
  const serializers: SerializerOptions = {}
  for (const [element, array] of arrayTypes) {
    const parse = types.parsers[element] ?? String
    parsers[array] = (text) => types.arrayParser(text, parse, array) as unknown
    serializers[array] = (values) => types.arraySerializer(values, undefined, array)
  }
  const startParams = [...PGlite.defaultStartParams, '-c', `shared_buffers=${SHARED_BUFFERS}`]
  const pglite = new PGlite({ fs: restrictFileModes(new NodeFS(folder)), parsers, serializers, startParams })
  // Would query all array types: a quarter of the opening time
  pglite._initArrayTypes = async () => {}
  await pglite.waitReady
  return pglite
}

/** Part of Emscripten's `NODEFS` that is patched */
interface NodeFiles {
  readonly NODEFS: Record<'node_ops' | 'stream_ops', { setattr(node: unknown, attributes: { mode?: number }): void }>
}

/**
 * Removes the permissions of group and others from all files that PGlite creates (0666 and 0644, whatever the umask).
 */
function restrictFileModes(files: NodeFS): NodeFS {
  const init = files.init.bind(files)
  files.init = async (pglite, options) => {
    const { emscriptenOpts } = await init(pglite, options)
    const restrict = ({ NODEFS }: NodeFiles) => {
      for (const operations of [NODEFS.node_ops, NODEFS.stream_ops]) {
        const { setattr } = operations
        operations.setattr = (node, attributes) =>
          setattr(node, attributes.mode === undefined ? attributes : { ...attributes, mode: attributes.mode & ~0o077 })
      }
    }
    return { emscriptenOpts: { ...emscriptenOpts, preRun: [restrict as never, ...(emscriptenOpts.preRun ?? [])] } }
  }
  return files
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
