import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'

export const root = fileURLToPath(new URL('../../', import.meta.url))

export type Engine = 'pglite' | 'postgres'

/** The stores to run a test on; PostgreSQL where `npm test` found one. */
export const engines: readonly Engine[] = process.env.TEST_DATABASE_URL ? ['pglite', 'postgres'] : ['pglite']

/** What a test has opened; closed in the reverse order when it ends. */
export interface Bench {
  onEnd(close: () => unknown): void
  /** A folder that lives as long as the test. */
  folder(): Promise<string>
  /** An empty PostgreSQL database, as a URL. */
  database(): Promise<string>
}

export function openBench(t: TestContext): Bench {
  const closers: (() => unknown)[] = []
  t.after(async () => {
    for (const close of closers.reverse()) await close()
  })
  return {
    onEnd: (close) => closers.push(close),
    async folder() {
      const path = await mkdtemp(join(tmpdir(), 'towpath-e2e-'))
      closers.push(() => rm(path, { recursive: true, force: true, maxRetries: 5 }))
      return path
    },
    async database() {
      const url = new URL(process.env.TEST_DATABASE_URL!)
      const name = `e2e_${randomBytes(6).toString('hex')}`
      await runSql(url, `create database ${name}`)
      closers.push(() => runSql(url, `drop database ${name} with (force)`))
      const own = new URL(url)
      own.pathname = `/${name}`
      return own.href
    }
  }
}

async function runSql(url: URL, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url.href })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}

/** Polls until `check` gives something true; a check that throws counts as not yet. */
export async function until<T>(what: string, check: () => T | Promise<T>, limitMs = 10_000): Promise<T> {
  const end = performance.now() + limitMs
  for (let last: unknown; ;) {
    try {
      const value = await check()
      if (value) return value
    } catch (error) {
      last = error
    }
    if (performance.now() > end) throw new Error(`waited ${limitMs} ms for ${what}`, { cause: last })
    await delay(25)
  }
}

export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

/** A child process of the test, ended by its pid when the test ends. */
export interface Running {
  readonly pid: number
  readonly child: ChildProcess
  /** Everything that it wrote to stdout and stderr. */
  output(): string
  /** Resolves with the exit code, or the signal's name. */
  readonly exited: Promise<number | string>
  stop(signal?: NodeJS.Signals): Promise<number | string>
}

export function run(bench: Bench, command: string, args: readonly string[], options: SpawnOptions = {}): Running {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options })
  let output = ''
  const collect = (chunk: Buffer) => {
    output += chunk.toString()
  }
  child.stdout?.on('data', collect)
  child.stderr?.on('data', collect)
  const exited = new Promise<number | string>((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('exit', (code, signal) => resolve(code ?? signal ?? 0))
  })
  const stop = async (signal: NodeJS.Signals = 'SIGTERM') => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal)
    const timer = setTimeout(() => child.kill('SIGKILL'), 30_000)
    const code = await exited
    clearTimeout(timer)
    return code
  }
  bench.onEnd(() => stop())
  return { pid: child.pid ?? 0, child, output: () => output, exited, stop }
}

function newest(folder: string): number {
  const times = readdirSync(folder, { recursive: true, withFileTypes: true }).map(
    (entry) => statSync(join(entry.parentPath, entry.name)).mtimeMs
  )
  return Math.max(0, ...times)
}

/** The build if it is newer than the sources, else the sources. */
export function towpathCommand(): string[] {
  const built = join(root, 'dist/src/cli/main.js')
  const changed = Math.max(...['src', 'migrations'].map((name) => newest(join(root, name))))
  if (existsSync(built) && statSync(built).mtimeMs >= changed) return [built]
  return ['--import', import.meta.resolve('tsx'), join(root, 'src/cli/main.ts')]
}

const passedOn = ['PATH', 'HOME', 'USER', 'LANG', 'TMPDIR']

/** Nothing of the environment that could configure the gateway. */
export const cleanEnv = () => Object.fromEntries(passedOn.map((name) => [name, process.env[name]]))

export interface GatewayOptions {
  readonly env?: NodeJS.ProcessEnv
  readonly args?: readonly string[]
  /** Default: the embedded store in a folder of the test. */
  readonly databaseUrl?: string | undefined
  readonly dataDir?: string
  readonly stdio?: SpawnOptions['stdio']
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The body parsed, undefined where there is none. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests assert on the shape
  readonly body: any
}

export interface Gateway extends Running {
  readonly url: string
  readonly port: number
  readonly dataDir: string
  readonly databaseUrl: string | undefined
  get(path: string): Promise<Answer>
  post(path: string, body?: unknown): Promise<Answer>
  remove(path: string): Promise<Answer>
  /** Registers a server and expects it to work. */
  register(server: object): Promise<Answer>
}

/** The product as a process of its own, ready to be used. */
export async function startGateway(bench: Bench, options: GatewayOptions = {}): Promise<Gateway> {
  const port = await freePort()
  const dataDir = options.dataDir ?? (await bench.folder())
  const { databaseUrl } = options
  const env = {
    ...cleanEnv(),
    HOST: '127.0.0.1',
    PORT: String(port),
    TOWPATH_DATA_DIR: dataDir,
    ...(databaseUrl === undefined ? {} : { DATABASE_URL: databaseUrl }),
    ...options.env
  }
  const args = [...towpathCommand(), 'start', ...(options.args ?? [])]
  const running = run(bench, process.execPath, args, { env, cwd: root, ...(options.stdio && { stdio: options.stdio }) })
  const url = `http://127.0.0.1:${port}`
  await until(
    'the gateway to be ready',
    async () => {
      const { exitCode, signalCode } = running.child
      if (exitCode !== null || signalCode !== null) throw new Error(`ended: ${running.output()}`)
      return (await fetch(`${url}/ready`)).ok
    },
    60_000
  ).catch((error: Error) => {
    throw new Error(`${error.message}: ${running.output()}`, { cause: error })
  })
  const send = (method: string) => (path: string, body?: unknown) => request(`${url}${path}`, method, body)
  const post = send('POST')
  return {
    ...running,
    url,
    port,
    dataDir,
    databaseUrl,
    get: send('GET'),
    post,
    remove: send('DELETE'),
    async register(server) {
      const answer = await post('/api/v0/servers', server)
      if (answer.status !== 201) throw new Error(`registration failed: ${answer.status} ${answer.text}`)
      return answer
    }
  }
}

/** A gateway on an empty store of the given kind. */
export async function startOn(bench: Bench, engine: Engine, options: GatewayOptions = {}): Promise<Gateway> {
  const databaseUrl = engine === 'postgres' ? await bench.database() : undefined
  return startGateway(bench, { databaseUrl, ...options })
}

/** Starts a stopped gateway again on the same store. */
export const restart = (bench: Bench, { dataDir, databaseUrl }: Gateway, options: GatewayOptions = {}) =>
  startGateway(bench, { dataDir, databaseUrl, ...options })

async function request(url: string, method: string, body?: unknown): Promise<Answer> {
  const response = await fetch(url, {
    method,
    ...(body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
  })
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.includes('json') ?? false
  return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : undefined }
}

/** The pids of all living descendants of a process; zombies count. */
export function descendants(pid: number): number[] {
  const parents = new Map<number, number>()
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
      parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]))
    } catch {
      // it ended while we looked
    }
  }
  const found = [pid]
  for (const parent of found) {
    for (const [child, of] of parents) if (of === parent) found.push(child)
  }
  return found.slice(1)
}
