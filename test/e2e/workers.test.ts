import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { createServer } from 'node:net'
import { test, type TestContext } from 'node:test'
import { StreamableHTTPClientTransport as HttpTransport2 } from '@modelcontextprotocol/client'
import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { Agent, fetch as send } from 'undici'
import { ownerOf } from '../../src/domain/worker-ids.ts'
import { connectLegacy, connectModern } from '../asked-clients.ts'
import { startRecorder, type Recorder } from '../fixtures/http/recorder.ts'
import { addCleanup, engines, freshDatabase, tempDir, type StoreLocation } from '../store.ts'
import { until } from '../until.ts'
import { cleanEnv, root, run, startGateway, towpathCommand, type Gateway } from './harness.ts'
import { freePort } from '../ports.ts'
import { descendants, isAlive } from './process-tree.ts'

const skip = engines.includes('postgres') ? false : 'no PostgreSQL'
const WORKERS = 2

interface Workers extends Gateway {
  /** Folder for the folder of the sockets. */
  readonly sockets: string
}

const freshPostgres = async (t: TestContext): Promise<StoreLocation> => ({
  databaseUrl: await freshDatabase(t),
  dataDir: await tempDir(t)
})

async function startWorkers(t: TestContext, env: NodeJS.ProcessEnv = {}): Promise<Workers> {
  const sockets = await tempDir(t)
  const all = { TOWPATH_WORKERS: String(WORKERS), OTEL_ENABLED: 'on', TMPDIR: sockets, ...env }
  const gateway = await startGateway(t, { place: await freshPostgres(t), env: all })
  await until('all workers to serve', () => gateway.output().includes('listens on'))
  return { ...gateway, sockets }
}

/** Processes of the workers, by index. */
const workersOf = ({ pid }: Pick<Gateway, 'pid'>) =>
  Array.from({ length: WORKERS }, (_, index) =>
    descendants(pid).find(({ command, state }) => state !== 'Z' && command.startsWith(`towpath: worker ${index}`))
  )

const socketFolders = ({ sockets }: Workers) => readdirSync(sockets).filter((name) => name.startsWith('towpath-'))

/** Opens a connection for each request, of which the primary gives every second one to the other worker. */
function freshFetch(t: TestContext): typeof fetch {
  const agent = new Agent({ pipelining: 0 })
  addCleanup(t, () => agent.destroy())
  return ((input: string, init: object) => send(input, { ...init, dispatcher: agent })) as never
}

async function addAlpha(t: TestContext, gateway: Gateway): Promise<Recorder> {
  const recorder = await startRecorder(null, { name: 'alpha', tells: true })
  addCleanup(t, recorder.close)
  await gateway.register({ name: 'alpha', transport: 'streamable_http', url: recorder.url })
  const fresh = freshFetch(t)
  const isKnown = async () => (await (await fresh(`${gateway.url}/api/v0/tools`)).text()).includes('alpha__echo')
  for (let connection = 0; connection < 2 * WORKERS; connection++) await until('each worker to know it', isKnown)
  return recorder
}

const answers = { form: () => ({ action: 'accept', content: { said: 'yes' } }) }

const transports = {
  'Streamable HTTP': (url: string, fetch: typeof globalThis.fetch) =>
    new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { fetch }) as Transport,
  'HTTP+SSE': (url: string, fetch: typeof globalThis.fetch) => new SSEClientTransport(new URL(`${url}/sse`), { fetch })
}

const count = (text: string, part: string) => text.split(part).length - 1

test('workers serve one port, which is announced once, and take connections in turn', { skip }, async (t) => {
  const gateway = await startWorkers(t)
  const fresh = freshFetch(t)
  for (let connection = 0; connection < 2 * WORKERS; connection++) {
    assert.equal((await fresh(`${gateway.url}/ready`)).status, 200)
  }
  const metrics = (await gateway.get('/metrics')).text
  for (let worker = 0; worker < WORKERS; worker++) {
    const served = new RegExp(`towpath_http_request_duration_seconds_count\\{worker="${worker}"[^}]*"/ready"`)
    assert.match(metrics, served)
  }
  const output = gateway.output()
  assert.deepEqual([count(output, 'listens on'), count(output, 'is starting')], [1, 1], output)
  assert.equal(socketFolders(gateway).length, 1)
  assert.equal(workersOf(gateway).filter((worker) => worker !== undefined).length, WORKERS)
})

for (const [name, open] of Object.entries(transports)) {
  test(`a client over ${name} that opens a connection for each request is served by workers`, { skip }, async (t) => {
    const gateway = await startWorkers(t)
    await addAlpha(t, gateway)
    const { client, call } = await connectLegacy(t, open(gateway.url, freshFetch(t)), answers)
    let changes = 0
    const legacy = client as Client
    legacy.setNotificationHandler(ToolListChangedNotificationSchema, () => void changes++)
    for (let turn = 0; turn < 6; turn++) {
      const { content } = await call('alpha__echo', { text: `turn ${turn}` })
      assert.match(content[0]!.text, new RegExp(`turn ${turn}`))
    }
    await gateway.post('/api/v0/tools/disable?entity=alpha__fail')
    await until('news of the change', () => changes > 0)
  })
}

test('a modern client whose call waits for its answer is served by workers', { skip }, async (t) => {
  const gateway = await startWorkers(t)
  const args = [`${root}/test/fixtures/asking/main.mjs`, 'stdio']
  await gateway.register({ name: 'up', session_mode: 'stateful', transport: 'stdio', command: process.execPath, args })
  const fetch = freshFetch(t)
  const { call } = await connectModern(t, new HttpTransport2(new URL(`${gateway.url}/mcp`), { fetch }), answers)
  const ask = async (name: string) => (await call('up__ask', { name })).content[0]!.text
  await until('the worker to know the server', async () => (await ask('first')) === 'first: accept yes')
  for (let turn = 0; turn < 4; turn++) assert.equal(await ask(`turn ${turn}`), `turn ${turn}: accept yes`)
})

test(
  'a worker that is killed is replaced; other clients notice nothing, and its sessions go on',
  { skip },
  async (t) => {
    const gateway = await startWorkers(t)
    await addAlpha(t, gateway)
    const clients = await Promise.all(
      Array.from({ length: 6 }, async () => {
        const transport = transports['Streamable HTTP'](gateway.url, freshFetch(t))
        const { call } = await connectLegacy(t, transport, answers)
        return { call, owner: ownerOf(transport.sessionId!, WORKERS) }
      })
    )
    assert.deepEqual(new Set(clients.map(({ owner }) => owner)), new Set([0, 1]))
    const lost = workersOf(gateway)[1]!
    process.kill(lost.pid, 'SIGKILL')
    await until('the worker to be gone', () => !isAlive(lost.pid))
    for (const { call, owner } of clients) {
      const again = () => call('alpha__echo', { text: 'meanwhile' })
      // what is on its way to the worker that dies may be lost, as with any process; all else is served
      if (owner === 0) await again()
      else await until('its session to go on', again)
    }
    await until('the worker to be replaced', () => gateway.output().includes('a worker was replaced'))
    for (const { call } of clients)
      for (let turn = 0; turn < 2; turn++) await call('alpha__echo', { text: 'afterwards' })
    assert.notEqual(workersOf(gateway)[1]!.pid, lost.pid)
    assert.equal(count(gateway.output(), 'listens on'), 1)
  }
)

test('a worker that cannot be started again at once leaves the others alone', { skip }, async (t) => {
  const gateway = await startWorkers(t)
  const limit = (descriptors: number) =>
    execFileSync('prlimit', ['--pid', String(gateway.pid), `--nofile=${descriptors}:`])
  // fewer than are open: none is left for the channel to a new process
  limit(8)
  process.kill(workersOf(gateway)[1]!.pid, 'SIGKILL')
  await until('a start to fail', () => gateway.output().includes('worker=1 code=null signal=null'))
  assert.ok(workersOf(gateway)[0])
  limit(1_024)
  await until('the worker to be replaced', () => gateway.output().includes('a worker was replaced'))
  assert.equal((await fetch(`${gateway.url}/health`)).status, 200)
})

test('a stop drains all workers: no call is lost, and nothing is left', { skip }, async (t) => {
  const gateway = await startWorkers(t)
  const alpha = await addAlpha(t, gateway)
  const fetch = freshFetch(t)
  const clients = [
    ...(await Promise.all(
      Object.values(transports).flatMap((open) =>
        [1, 2].map(async () => connectLegacy(t, open(gateway.url, fetch), answers))
      )
    )),
    await connectModern(t, new HttpTransport2(new URL(`${gateway.url}/mcp`), { fetch }), answers)
  ]
  const calls = clients.flatMap(({ call }) => [1, 2].map(() => call('alpha__slow', { ms: 3_600_000 })))
  await until('all calls to arrive', () => alpha.calls('tools/call').length === calls.length)
  const workers = workersOf(gateway)
  const stopped = gateway.stop()
  await until('all workers to stop', () => count(gateway.output(), 'stopping') === WORKERS + 1)
  alpha.finish()
  for (const { content } of await Promise.all(calls)) assert.match(content[0]!.text, /3600000/)
  assert.equal(await stopped, 0, gateway.output())
  for (const worker of workers) assert.ok(!isAlive(worker!.pid))
  assert.deepEqual(socketFolders(gateway), [])
})

test('workers end when the process that started them is killed', { skip }, async (t) => {
  const gateway = await startWorkers(t)
  const workers = workersOf(gateway)
  await gateway.stop('SIGKILL')
  for (const worker of workers) await until('the worker to end', () => !isAlive(worker!.pid))
})

/** Starts a gateway that is expected to refuse, and returns its exit code and output. */
async function refusedStart(t: TestContext, { databaseUrl, dataDir }: StoreLocation, env: NodeJS.ProcessEnv) {
  const starting = run(t, process.execPath, [...towpathCommand(), 'start'], {
    cwd: root,
    env: {
      ...cleanEnv(),
      HOST: '127.0.0.1',
      TOWPATH_WORKERS: String(WORKERS),
      TOWPATH_DATA_DIR: dataDir,
      ...(databaseUrl && { DATABASE_URL: databaseUrl }),
      ...env
    }
  })
  return { code: await starting.exited, output: starting.output() }
}

test('a port in use stops the start of all workers with one line', { skip }, async (t) => {
  const port = await freePort()
  const other = createServer().listen(port, '127.0.0.1')
  addCleanup(t, () => other.close())
  const { code, output } = await refusedStart(t, await freshPostgres(t), { PORT: String(port) })
  assert.equal(code, 1)
  assert.equal(count(output, 'cannot start'), 1, output)
  assert.match(output, new RegExp(`towpath: cannot start: port ${port} on 127.0.0.1 is in use by another process`))
})

test(
  'a database that cannot be used stops the start of all workers with one line and its code',
  { skip },
  async (t) => {
    const gateway = await startWorkers(t)
    await gateway.stop()
    const { code, output } = await refusedStart(t, gateway.place, {
      PORT: String(await freePort()),
      SERVER_MODE: 'enterprise',
      TOWPATH_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64')
    })
    assert.equal(code, 2, output)
    assert.equal(count(output, 'cannot start'), 1, output)
  }
)

test('workers on the embedded store are refused', async (t) => {
  const { code, output } = await refusedStart(t, { dataDir: await tempDir(t) }, { PORT: '0' })
  assert.equal(code, 2)
  assert.match(output, /TOWPATH_WORKERS=2 needs PostgreSQL, set DATABASE_URL/)
})

test('port 0 gives all workers one port', { skip }, async (t) => {
  const { databaseUrl, dataDir } = await freshPostgres(t)
  const starting = run(t, process.execPath, [...towpathCommand(), 'start'], {
    cwd: root,
    env: {
      ...cleanEnv(),
      ...{ HOST: '127.0.0.1', PORT: '0', TOWPATH_WORKERS: String(WORKERS), TOWPATH_DATA_DIR: dataDir },
      DATABASE_URL: databaseUrl
    }
  })
  const url = await until('the address', () => /listens on (\S+)/.exec(starting.output())?.[1])
  const fresh = freshFetch(t)
  const ready = await Promise.all(Array.from({ length: 4 }, async () => (await fresh(`${url}/ready`)).status))
  assert.deepEqual(ready, [200, 200, 200, 200])
  assert.equal(await starting.stop(), 0)
})
