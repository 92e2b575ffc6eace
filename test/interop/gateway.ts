import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Launch } from '../conformance/servers.ts'
import { startFixture } from '../conformance/servers.ts'
import { freePort, ready } from '../conformance/processes.ts'
import { type Target, quiet } from './outcomes.ts'
import type { Scenario } from './scenarios.ts'
import { here } from './toolchains.ts'

/** A gateway of the build, in one mode, with a second server in scope. */
export interface Gateway {
  /** Registers the server of a scenario. Resolves with what its client needs, and what takes it away again. */
  readonly register: (scenario: Scenario, target: Target) => Promise<Registered>
  readonly stop: () => Promise<void>
}

export interface Registered {
  readonly url: string
  readonly args: readonly string[]
  readonly remove: () => Promise<void>
}

const name = 'up'
/** The build of these sources. */
export const ownBuild = join(here, '../../dist/src/cli/main.js')

/** Starts the gateway of a build in one mode, on a store of its own. */
export async function startGateway(launch: Launch, program: string, mode: Scenario['serverMode']): Promise<Gateway> {
  const dataDir = await mkdtemp(join(tmpdir(), 'towpath-interop-data-'))
  const port = await freePort()
  const origin = `http://127.0.0.1:${port}`
  const started = launch(process.execPath, [program, 'start'], {
    HOST: '127.0.0.1',
    PORT: String(port),
    SERVER_MODE: mode,
    TOWPATH_DATA_DIR: dataDir
  })
  await ready(started, async () => (await fetch(`${origin}/ready`)).status < 500)
  const tokens = mode === 'enterprise' ? await initialise(origin) : undefined
  const send = (method: string, path: string, body?: object) => request(origin + path, method, body, tokens?.admin)
  const side = { name: 'side', transport: 'streamable_http', url: await startFixture(launch, 'http') }
  await send('POST', '/api/v0/servers', side)
  return {
    register: async (scenario, target) => {
      await send('POST', '/api/v0/servers', registration(scenario, target))
      const isGroup = scenario.view === 'group'
      if (isGroup) await send('POST', '/api/v0/tool-groups', { name, included_servers: [name], tool_names: 'bare' })
      const base = isGroup ? `${origin}/v0/groups/${name}` : origin
      return {
        url: `${base}/${scenario.clientTransport === 'sse' ? 'sse' : 'mcp'}`,
        args: [...(isGroup ? [] : ['--prefix', `${name}__`]), ...(tokens ? ['--token', tokens.client] : [])],
        remove: async () => {
          if (isGroup) await send('DELETE', `/api/v0/tool-groups/${name}`)
          await send('DELETE', `/api/v0/servers/${name}`)
        }
      }
    },
    stop: async () => {
      await started.stop()
      await rm(dataDir, { recursive: true, force: true })
    }
  }
}

function registration({ sessionMode, serverTransport }: Scenario, { url, ledger }: Target): object {
  const server = { name, session_mode: sessionMode }
  if (serverTransport !== 'stdio')
    return { ...server, transport: serverTransport === 'sse' ? 'sse' : 'streamable_http', url }
  const [command, ...args] = JSON.parse(url) as string[]
  return { ...server, transport: 'stdio', command, args, env: { ...quiet, INTEROP_LEDGER: ledger } }
}

async function initialise(origin: string) {
  const { admin_access_token: admin } = (await request(`${origin}/init`, 'POST')) as { admin_access_token: string }
  const body = { name: 'interop', allowed_servers: ['*'] }
  const made = (await request(`${origin}/api/v0/clients`, 'POST', body, admin)) as { access_token: string }
  return { admin, client: made.access_token }
}

async function request(url: string, method: string, body?: object, token?: string): Promise<unknown> {
  const response = await fetch(url, {
    method,
    headers: {
      ...(body && { 'content-type': 'application/json' }),
      ...(token !== undefined && { authorization: `Bearer ${token}` })
    },
    ...(body && { body: JSON.stringify(body) })
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${new URL(url).pathname}: ${response.status} ${text}`)
  return text === '' ? undefined : JSON.parse(text)
}
