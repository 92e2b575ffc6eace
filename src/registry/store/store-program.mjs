import { readFile } from 'node:fs/promises'
import { parentPort } from 'node:worker_threads'

/** Program of the thread that `store-thread.ts` starts: runs the embedded PostgreSQL and answers one message at a time. */

/** PostgreSQL allocates and zeroes its default of 128 MB at start; a registry is smaller than 16 MB. */
const SHARED_BUFFERS = '16MB'
const INT8 = 20
/** OIDs of element and array for the array types used in parameters and results: text, integer, uuid */
const arrayTypes = [
  [25, 1009],
  [23, 1007],
  [2950, 2951]
]

// compiled while the rest of the gateway loads
const fileOf = (name) => new URL(name, import.meta.resolve('@electric-sql/pglite'))
const compiled = readFile(fileOf('pglite.wasm')).then((bytes) => WebAssembly.compile(bytes))
// PGlite calls only `arrayBuffer`, and its file system keeps that memory; a Blob would copy the 6 MB twice
const bundled = readFile(fileOf('pglite.data')).then(({ buffer, byteOffset, length }) => ({
  arrayBuffer: async () => (buffer.byteLength === length ? buffer : buffer.slice(byteOffset, byteOffset + length))
}))
const [{ PGlite, types }, { NodeFS }] = await Promise.all([
  import('@electric-sql/pglite'),
  import('@electric-sql/pglite/nodefs')
])

/** Removes the permissions of group and others from all files that PGlite creates (0666 and 0644, whatever the umask). */
function restrictFileModes(files) {
  const init = files.init.bind(files)
  files.init = async (pglite, options) => {
    const { emscriptenOpts } = await init(pglite, options)
    const restrict = ({ NODEFS }) => {
      for (const operations of [NODEFS.node_ops, NODEFS.stream_ops]) {
        const { setattr } = operations
        operations.setattr = (node, attributes) =>
          setattr(node, attributes.mode === undefined ? attributes : { ...attributes, mode: attributes.mode & ~0o077 })
      }
    }
    return { emscriptenOpts: { ...emscriptenOpts, preRun: [restrict, ...(emscriptenOpts.preRun ?? [])] } }
  }
  return files
}

let pglite

async function open(folder) {
  const parsers = { [INT8]: (value) => value }
  const serializers = {}
  for (const [element, array] of arrayTypes) {
    const parse = types.parsers[element] ?? String
    parsers[array] = (text) => types.arrayParser(text, parse, array)
    serializers[array] = (values) => types.arraySerializer(values, undefined, array)
  }
  pglite = new PGlite({
    fs: restrictFileModes(new NodeFS(folder)),
    parsers,
    serializers,
    startParams: [...PGlite.defaultStartParams, '-c', `shared_buffers=${SHARED_BUFFERS}`],
    pgliteWasmModule: await compiled,
    fsBundle: await bundled
  })
  // Would query all array types: a quarter of the opening time
  pglite._initArrayTypes = async () => {}
  await pglite.waitReady
}

/** A view of a large buffer would be sent with all of the buffer. */
const compact = (value) =>
  value instanceof Uint8Array && value.byteLength < value.buffer.byteLength ? value.slice() : value

async function query(text, parameters) {
  const { command, rowCount, rows } = await pglite.query(text, parameters)
  for (const row of rows) for (const column in row) row[column] = compact(row[column])
  return { command, rowCount, rows }
}

const handlers = {
  open: ({ folder }) => open(folder),
  query: ({ text, parameters }) => query(text, parameters),
  close: () => pglite.close()
}

const isPlain = (value) => ['string', 'number', 'boolean'].includes(typeof value)

/**
 * Returns what PostgreSQL tells of an error. PGlite adds the parameters and options of the statement, which may hold
 * secrets and functions: the latter cannot be sent.
 */
const describe = (error) => ({
  ...Object.fromEntries(Object.entries(error ?? {}).filter(([, value]) => isPlain(value))),
  name: error?.name,
  message: String(error?.message ?? error)
})

async function handle(message) {
  try {
    parentPort.postMessage({ id: message.id, value: await handlers[message.kind](message) })
  } catch (error) {
    parentPort.postMessage({ id: message.id, error: describe(error) })
  }
}

let last = Promise.resolve()
parentPort.on('message', (message) => {
  last = last.then(() => handle(message))
})
