import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import type { ParserOptions, PGlite, SerializerOptions } from '@electric-sql/pglite'
import type { NodeFS } from '@electric-sql/pglite/nodefs'
import type { PostgresPool, PostgresPoolClient } from 'kysely'
import { refuseUnstorable, STORE_BUSY } from './failures.ts'
import { makePrivate } from './files.ts'
import { checkFormat } from './format.ts'
import { takeLock } from './lock.ts'
import { openReopening, type Embedded } from './reopening.ts'

const INT8 = 20
/** Oids of element and array, for the types whose arrays are parameters or results: text, integer, uuid. */
const arrayTypes = [
  [25, 1009],
  [23, 1007],
  [2950, 2951]
] as const

/** PostgreSQL's default of 128 MB is taken, and filled with zeros, when it starts; a registry is smaller than this. */
const SHARED_BUFFERS = '16MB'

export interface EmbeddedOptions {
  /** Told before a store is made. */
  readonly onCreate?: (() => void) | undefined
  /** Told when it has stopped by itself; it is opened again. */
  readonly onStopped: (error: Error) => void
}

/** The embedded PostgreSQL of a data directory as a pool of one connection. Throws StartRefusal. */
export async function openEmbedded(
  dataDir: string,
  connectTimeoutMs: number,
  { onCreate, onStopped }: EmbeddedOptions
): Promise<PostgresPool> {
  // the store makes files at any time: from here on whatever this process makes is for its user alone
  process.umask(0o077)
  await makePrivate(dataDir)
  const lock = await takeLock(dataDir, () => {
    process.stderr.write(`data directory ${dataDir} was taken over by another process\n`)
    process.exit(1)
  })
  try {
    const folder = await createOnce(dataDir, onCreate)
    const embedded = await openReopening({ folder, open: () => open(folder), onStopped })
    return poolOfOne(embedded, connectTimeoutMs, async () => {
      await embedded.close()
      await lock.release()
    })
  } catch (error) {
    await lock.release()
    throw error
  }
}

/** A first start that is killed half-way must not leave a folder that never opens: it is made aside and then moved. */
async function createOnce(dataDir: string, onCreate?: () => void): Promise<string> {
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
 * What runs once is not worth optimising: the default of newer V8 (Node 24), where that of Node 20 spends a tenth of the
 * time that opening takes on it. Slower nowhere else.
 */
const optimiseLater = () => setFlagsFromString('--wasm-tiering-budget=13000000')

async function open(folder: string): Promise<PGlite> {
  optimiseLater()
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
  const pglite = new PGlite({ fs: privateFiles(new NodeFS(folder)), parsers, serializers, startParams })
  // it would ask the database for all types of arrays: a quarter of the time that opening takes
  pglite._initArrayTypes = async () => {}
  await pglite.waitReady
  return pglite
}

/** As much of Emscripten's `NODEFS` as is changed here. */
interface NodeFiles {
  readonly NODEFS: Record<'node_ops' | 'stream_ops', { setattr(node: unknown, attributes: { mode?: number }): void }>
}

/** PGlite sets the permissions of files that it makes (0666 and 0644, whatever the umask): group and others get none. */
function privateFiles(files: NodeFS): NodeFS {
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

function poolOfOne(embedded: Embedded, connectTimeoutMs: number, close: () => Promise<void>): PostgresPool {
  const turns = createTurns(connectTimeoutMs)

  const query = async (text: string, parameters: readonly unknown[]) => {
    refuseUnstorable(parameters)
    const { command, rowCount, rows } = await embedded.query(text, parameters)
    return { command, rowCount: rowCount ?? 0, rows }
  }
  return {
    async connect() {
      const release = await turns.take()
      return { query: query as PostgresPoolClient['query'], release }
    },
    async end() {
      const release = await turns.take()
      try {
        await close()
      } finally {
        release()
      }
    }
  }
}

/** First come, first served; gives up after the limit, because a query outside its own transaction waits for itself. */
function createTurns(limitMs: number) {
  const waiting: (() => void)[] = []
  let taken = false

  const releaseOnce = () => {
    let released = false
    return () => {
      if (released) return
      released = true
      const next = waiting.shift()
      if (next) next()
      else taken = false
    }
  }
  const wait = () =>
    new Promise<void>((resolve, reject) => {
      const turn = () => {
        clearTimeout(timer)
        resolve()
      }
      const timer = setTimeout(() => {
        waiting.splice(waiting.indexOf(turn), 1)
        const message = `the embedded store gave no connection within ${limitMs} ms: a transaction holds it`
        reject(Object.assign(new Error(message), { code: STORE_BUSY }))
      }, limitMs)
      waiting.push(turn)
    })
  return {
    async take(): Promise<() => void> {
      if (taken) await wait()
      taken = true
      return releaseOnce()
    }
  }
}
