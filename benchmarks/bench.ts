import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { freePort } from '../test/ports.ts'
import { until } from '../test/until.ts'
import type { Order, Round } from './load.ts'
import { start, type ManagedProcess } from './processes.ts'
import { ask, type Headers } from './requests.ts'

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const builtIn = (checkout: string) => join(checkout, 'dist/src/cli/main.js')
const ownCheckout = here('..')
/** Node.js options for profiling: `--cpu-prof` is not allowed in NODE_OPTIONS. */
const nodeArgs = process.env.BENCH_NODE_ARGS?.split(' ') ?? []
const withCompiler = ['--import', import.meta.resolve('tsx')]

/** A benchmarked process that serves HTTP. */
export interface ServerHandle {
  readonly pid: number
  readonly url: string
  stop(): Promise<void>
}

export interface Gateway extends ServerHandle {
  readonly mcp: string
  /** Sends an administrative request that must succeed; `path` is relative to `/api/v0`. */
  admin(method: string, path: string, body?: unknown): Promise<Response>
  register(name: string, server: object): Promise<void>
}

/** Storage location of a gateway; undefined selects the embedded store. */
export interface StoreLocation {
  readonly databaseUrl: string | undefined
  readonly dataDir: string
}

export interface GatewayOptions {
  readonly env?: NodeJS.ProcessEnv
  /** Default: an empty store, on PostgreSQL if available. */
  readonly place?: StoreLocation
  readonly adminHeaders?: Headers
  /** Default: a free one. */
  readonly port?: number
  /** Folder of the built sources to start. Default: this checkout. */
  readonly checkout?: string
  /** False: it may use all cores. Default: it has one core to itself. */
  readonly isPinned?: boolean
}

/** Tools for a benchmark row; everything it starts ends with the row. */
export interface Bench {
  readonly isQuick: boolean
  /** False if this machine has no PostgreSQL; gateways then use the embedded store. */
  readonly hasPostgres: boolean
  /** Starts a file of `targets/` that reports its port. */
  target(name: string, env?: NodeJS.ProcessEnv, isTested?: boolean): Promise<ServerHandle>
  /** Starts a plain JavaScript file of `targets/` that listens on `PORT`. */
  plain(name: string): Promise<ServerHandle>
  gateway(options?: GatewayOptions): Promise<Gateway>
  place(engine?: 'postgres' | 'embedded'): Promise<StoreLocation>
  /** Starts a load generator, which runs one order at a time. */
  load(): Promise<(order: Order) => Promise<Round>>
  /** Runs `work` when the row ends. */
  addCleanup(work: () => unknown): void
}

/** Returns true if the URL answers 200. */
export const isUp = async (url: string) => (await fetch(url)).ok

async function served(process: ManagedProcess, url: string, path: string): Promise<ServerHandle> {
  const check = async () => process.child.exitCode !== null || (await isUp(url + path))
  await until(`${url}${path}`, check, 60_000)
  if (process.child.exitCode !== null) throw new Error(`a process has ended: ${process.errors()}`)
  return { pid: process.pid, url, stop: process.stop }
}

/** Environment without any variable that could configure the gateway; checks and metrics are on, as in production. */
const gatewayEnv = (port: number, { databaseUrl, dataDir }: StoreLocation): NodeJS.ProcessEnv => ({
  PATH: process.env.PATH,
  HOME: dataDir,
  NODE_ENV: 'production',
  HOST: '127.0.0.1',
  PORT: String(port),
  TOWPATH_DATA_DIR: dataDir,
  ...(databaseUrl && { DATABASE_URL: databaseUrl }),
  OTEL_ENABLED: 'on',
  TOWPATH_CALL_LOG: 'off'
})

/** Starts the built gateway without waiting until it is ready. */
export function startGateway(
  port: number,
  place: StoreLocation,
  env: NodeJS.ProcessEnv = {},
  checkout = ownCheckout,
  isPinned = true
): ManagedProcess {
  return start([...nodeArgs, builtIn(checkout), 'start'], {
    isTested: isPinned,
    env: { ...gatewayEnv(port, place), ...env },
    cwd: place.dataDir
  })
}

/** Starts a plain JavaScript file of `targets/` without waiting until it is ready. */
export const startPlain = (name: string, port: number): ManagedProcess =>
  start([here(`targets/${name}`)], { isTested: true, env: { PATH: process.env.PATH, PORT: String(port) } })

async function makeDatabase(adminUrl: string): Promise<string> {
  const client = new pg.Client({ connectionString: adminUrl })
  await client.connect()
  const name = `bench_${process.pid}_${Date.now()}_${Math.floor(Math.random() * 1e6)}`
  try {
    await client.query(`create database ${name}`)
  } finally {
    await client.end()
  }
  const url = new URL(adminUrl)
  url.pathname = `/${name}`
  return url.href
}

/** Runs `work` with a bench, then ends everything the bench started, last first. */
export async function withBench<T>(
  { isQuick, postgresUrl }: { readonly isQuick: boolean; readonly postgresUrl: string | undefined },
  work: (bench: Bench) => Promise<T>
): Promise<T> {
  const cleanups: (() => unknown)[] = []
  let isOver = false
  const addCleanup = (clean: () => unknown) => {
    if (!isOver) return void cleanups.push(clean)
    // the row was abandoned: processes that it still starts must end too
    void clean()
    throw new Error('the row is over')
  }

  async function place(engine: 'postgres' | 'embedded' = 'postgres'): Promise<StoreLocation> {
    const dataDir = await mkdtemp(join(tmpdir(), 'towpath-bench-'))
    addCleanup(() => rm(dataDir, { recursive: true, force: true }))
    const databaseUrl = engine === 'postgres' && postgresUrl ? await makeDatabase(postgresUrl) : undefined
    return { databaseUrl, dataDir }
  }

  const bench: Bench = {
    isQuick,
    hasPostgres: postgresUrl !== undefined,
    place,
    addCleanup,
    async target(name, env = {}, isTested = false) {
      const options = { env: { ...process.env, ...env }, isTested, stdio: ['ignore', 'ignore', 'pipe', 'ipc'] as never }
      const process_ = start([...withCompiler, here(`targets/${name}`)], options)
      addCleanup(process_.stop)
      const [{ port }] = (await once(process_.child, 'message')) as [{ port: number }]
      return { pid: process_.pid, url: `http://127.0.0.1:${port}`, stop: process_.stop }
    },
    async plain(name) {
      const port = await freePort()
      const running = startPlain(name, port)
      addCleanup(running.stop)
      return served(running, `http://127.0.0.1:${port}`, '/health')
    },
    async gateway({ env, place: given, adminHeaders = {}, checkout, port: wanted, isPinned } = {}) {
      const port = wanted ?? (await freePort())
      const running = startGateway(port, given ?? (await place()), env, checkout, isPinned)
      addCleanup(running.stop)
      const serving = await served(running, `http://127.0.0.1:${port}`, '/ready')
      const admin: Gateway['admin'] = (method, path, body) =>
        ask(`${serving.url}/api/v0${path}`, method, adminHeaders, body)
      const register = async (name: string, server: object) => {
        await (await admin('POST', '/servers', { name, ...server })).text()
      }
      return { ...serving, mcp: `${serving.url}/mcp`, admin, register }
    },
    async load() {
      const stdio = ['ignore', 'inherit', 'pipe', 'ipc'] as never
      const { child, stop, errors } = start([...withCompiler, here('load.ts')], { stdio })
      addCleanup(stop)
      const ended = once(child, 'exit').then(() => Promise.reject(new Error(`the load generator ended: ${errors()}`)))
      ended.catch(() => {})
      return async (order) => {
        const answered = once(child, 'message')
        child.send(order)
        const [round] = (await Promise.race([answered, ended])) as [Round]
        return round
      }
    }
  }
  try {
    return await work(bench)
  } finally {
    isOver = true
    while (cleanups.length > 0) await cleanups.pop()!()
  }
}
