import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { anyEngine, freshPlace, addCleanup, type StoreLocation } from '../store.ts'
import { checkDocumented } from '../documented.ts'
import { freePort } from '../ports.ts'
import { until } from '../until.ts'

export const root = fileURLToPath(new URL('../../', import.meta.url))

/** A child process of a test, ended by its pid when the test ends. */
export interface ManagedProcess {
  readonly pid: number
  readonly child: ChildProcess
  /** Its output on stdout and stderr so far. */
  output(): string
  /** Resolves with the exit code, or the name of the signal that ended the process. */
  readonly exited: Promise<number | string>
  stop(signal?: NodeJS.Signals): Promise<number | string>
}

export function run(
  t: TestContext,
  command: string,
  args: readonly string[],
  options: SpawnOptions = {}
): ManagedProcess {
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
  // tests of an orderly shutdown stop the process themselves; here it would only take time
  addCleanup(t, () => stop('SIGKILL'))
  return { pid: child.pid ?? 0, child, output: () => output, exited, stop }
}

function newest(folder: string): number {
  const times = readdirSync(folder, { recursive: true, withFileTypes: true }).map(
    (entry) => statSync(join(entry.parentPath, entry.name)).mtimeMs
  )
  return Math.max(0, ...times)
}

const built = join(root, 'dist/src/cli/main.js')

/** Returns true if the build is newer than the sources. */
export function hasBuild(): boolean {
  const changed = Math.max(...['src', 'migrations'].map((name) => newest(join(root, name))))
  return existsSync(built) && statSync(built).mtimeMs >= changed
}

/** Returns the command for the build if it is newer than the sources, else for the sources. */
export function towpathCommand(): string[] {
  if (hasBuild()) return [built]
  return ['--import', import.meta.resolve('tsx'), join(root, 'src/cli/main.ts')]
}

/** Generous time limits, since tests share the machine; a test of a limit sets its own. */
const unhurried = {
  TOWPATH_CALL_TIMEOUT_MS: '3600000',
  TOWPATH_CALL_TOTAL_TIMEOUT_MS: '3600000',
  TOWPATH_CONNECT_TIMEOUT_MS: '120000',
  TOWPATH_DATABASE_CONNECT_TIMEOUT_MS: '60000',
  TOWPATH_DATABASE_QUERY_TIMEOUT_MS: '60000',
  TOWPATH_EVENT_LOOP_LAG_MS: '60000'
}

const passedOn = ['PATH', 'HOME', 'USER', 'LANG', 'TMPDIR']

/** Returns an environment without any variable that could configure the gateway. */
export const cleanEnv = () => Object.fromEntries(passedOn.map((name) => [name, process.env[name]]))

export interface GatewayOptions {
  readonly env?: NodeJS.ProcessEnv
  readonly args?: readonly string[]
  /** Default: a free one. */
  readonly port?: number
  /** Default: an empty store. */
  readonly place?: StoreLocation
  readonly stdio?: SpawnOptions['stdio']
  /** A command in front of the gateway's that replaces itself with it by exec. */
  readonly launcher?: readonly string[]
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** Parsed body, undefined without a body */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests assert on the shape
  readonly body: any
}

export interface Gateway extends ManagedProcess {
  readonly url: string
  readonly port: number
  readonly place: StoreLocation
  readonly get: (path: string) => Promise<Answer>
  readonly post: (path: string, body?: unknown) => Promise<Answer>
  readonly remove: (path: string) => Promise<Answer>
  /** Registers a server and expects success. */
  register(server: object): Promise<Answer>
}

/** Starts the product as a separate process and waits until it is ready. */
export async function startGateway(t: TestContext, options: GatewayOptions = {}): Promise<Gateway> {
  const port = options.port ?? (await freePort())
  const place = options.place ?? (await freshPlace(t, anyEngine))
  const env = {
    ...cleanEnv(),
    ...unhurried,
    HOST: '127.0.0.1',
    PORT: String(port),
    TOWPATH_DATA_DIR: place.dataDir,
    ...(place.databaseUrl && { DATABASE_URL: place.databaseUrl }),
    ...options.env
  }
  const args = [...towpathCommand(), 'start', ...(options.args ?? [])]
  const [command, ...before] = [...(options.launcher ?? []), process.execPath]
  const running = run(t, command, [...before, ...args], {
    env,
    cwd: root,
    ...(options.stdio && { stdio: options.stdio })
  })
  const url = `http://127.0.0.1:${port}`
  let hasEnded = false
  void running.exited.then(() => {
    hasEnded = true
  })
  await until('the gateway to be ready', async () => hasEnded || (await fetch(`${url}/ready`)).ok)
  if (hasEnded) throw new Error(`the gateway has ended: ${running.output()}`)
  const send = (method: string) => (path: string, body?: unknown) => request(`${url}${path}`, method, body)
  const post = send('POST')
  return {
    ...running,
    url,
    port,
    place,
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

/** Starts a stopped gateway again on the same store. */
export const restart = (t: TestContext, { place }: Gateway, options: GatewayOptions = {}) =>
  startGateway(t, { place, ...options })

/** Sends a request with `body` as JSON. */
export async function request(
  url: string,
  method: string,
  body?: unknown,
  headers: Record<string, string> = {}
): Promise<Answer> {
  const response = await fetch(url, {
    method,
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) })
  })
  checkDocumented(method, url, response.status)
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.includes('json') ?? false
  return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : undefined }
}
