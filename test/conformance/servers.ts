import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type ManagedProcess, waitUntilReady } from './processes.ts'
import { freePort } from '../ports.ts'

export const upstreams = ['http', 'stdio', 'sse'] as const
export type Upstream = (typeof upstreams)[number]

/** Starts a process that ends with the run. */
export type Launch = (command: string, args: readonly string[], env?: Record<string, string>) => ManagedProcess

const root = fileURLToPath(new URL('../../', import.meta.url))
const fixture = join(root, 'test/fixtures/conformance/main.ts')
const name = 'conformance'

/** Starts the fixture over HTTP or SSE. Resolves with its URL. */
export async function startFixture(launch: Launch, kind: Exclude<Upstream, 'stdio'>): Promise<string> {
  const started = launch(process.execPath, ['--import', import.meta.resolve('tsx'), fixture, kind])
  return waitUntilReady(started, () => /^http:\S+/m.exec(started.output())?.[0])
}

export interface Registration {
  readonly name: string
  readonly transport: string
  /** Undefined for `stdio`. */
  readonly url?: string
  readonly [member: string]: unknown
}

/** Returns the registration of the fixture; over HTTP and SSE the fixture is started first. */
export async function registration(launch: Launch, upstream: Upstream, sessionMode: string): Promise<Registration> {
  const session = { name, session_mode: sessionMode }
  if (upstream === 'stdio')
    return {
      ...session,
      transport: 'stdio',
      command: process.execPath,
      args: ['--import', import.meta.resolve('tsx'), fixture, 'stdio']
    }
  const transport = upstream === 'http' ? 'streamable_http' : 'sse'
  return { ...session, transport, url: await startFixture(launch, upstream) }
}

/** Starts a gateway, in development mode unless `env` says otherwise, on its own store. Resolves with its origin. */
export async function startGateway(launch: Launch, dataDir: string, env: Record<string, string> = {}): Promise<string> {
  const port = env.PORT ?? (await freePort())
  const origin = `http://localhost:${port}`
  const args = ['--import', import.meta.resolve('tsx'), join(root, 'src/cli/main.ts'), 'start']
  const started = launch(process.execPath, args, {
    HOST: '127.0.0.1',
    PORT: String(port),
    TOWPATH_DATA_DIR: dataDir,
    ...env
  })
  await waitUntilReady(started, async () => (await fetch(`${origin}/ready`)).ok)
  return origin
}

/** Registers the fixture as the only server of a group with bare names. Resolves with the group's path. */
export async function register(origin: string, server: object): Promise<string> {
  await post(`${origin}/api/v0/servers`, server)
  await post(`${origin}/api/v0/tool-groups`, { name, included_servers: [name], tool_names: 'bare' })
  return `/v0/groups/${name}/mcp`
}

export async function post(url: string, body: object): Promise<void> {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  if (response.status !== 201) throw new Error(`POST ${url}: ${response.status} ${await response.text()}`)
}
