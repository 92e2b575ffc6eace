import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Launch } from '../conformance/servers.ts'
import { startFixture } from '../conformance/servers.ts'
import { waitUntilReady } from '../conformance/processes.ts'
import { freePort } from '../ports.ts'
import { type Target, quiet } from './outcomes.ts'
import type { Scenario } from './scenarios.ts'
import { here } from './toolchains.ts'

/** A gateway of the build in one mode, with a second server in scope. */
export interface Gateway {
  /** Registers the server of a scenario, with a sign-in if needed. Resolves with the arguments for its client. */
  readonly register: (scenario: Scenario, target: Target) => Promise<{ url: string; args: readonly string[] }>
  /** Removes the registered records. */
  readonly clear: (scenario: Scenario) => Promise<void>
  readonly stop: () => Promise<void>
}

const name = 'up'
/** The build of this checkout. */
export const ownBuild = join(here, '../../dist/src/cli/main.js')

/** Starts a build's gateway in one mode, on its own store. */
export async function startGateway(launch: Launch, program: string, mode: Scenario['serverMode']): Promise<Gateway> {
  const dataDir = await mkdtemp(join(tmpdir(), 'towpath-interop-data-'))
  const port = await freePort()
  const origin = `http://127.0.0.1:${port}`
  const started = launch(process.execPath, [program, 'start'], {
    HOST: '127.0.0.1',
    PORT: String(port),
    SERVER_MODE: mode,
    // enterprise mode would hold the tool that servers add
    TOWPATH_DEFINITIONS: 'follow',
    TOWPATH_DATA_DIR: dataDir,
    // the speed of the machine must not affect the result
    TOWPATH_CONNECT_TIMEOUT_MS: '120000',
    TOWPATH_CALL_TIMEOUT_MS: '120000'
  })
  await waitUntilReady(started, async () => (await fetch(`${origin}/ready`)).status < 500, 300_000)
  const tokens = mode === 'enterprise' ? await initialise(origin) : undefined
  const send: Send = (method, path, body) => request(origin + path, method, body, tokens?.admin)
  const side = { name: 'side', transport: 'streamable_http', url: await startFixture(launch, 'http') }
  await send('POST', '/api/v0/servers', side)
  return {
    register: async (scenario, target) => {
      const answer = await send('POST', '/api/v0/servers', registration(scenario, target))
      if (answer?.authorization_required) await signIn(send, answer.authorization_required)
      const isGroup = scenario.view === 'group'
      if (isGroup) await send('POST', '/api/v0/tool-groups', { name, included_servers: [name], tool_names: 'bare' })
      const base = isGroup ? `${origin}/v0/groups/${name}` : origin
      return {
        url: `${base}/${scenario.clientTransport === 'sse' ? 'sse' : 'mcp'}`,
        args: [...(isGroup ? [] : ['--prefix', `${name}__`]), ...(tokens ? ['--token', tokens.client] : [])]
      }
    },
    clear: async ({ view }) => {
      // records that were never registered cannot be removed
      const remove = (path: string) => send('DELETE', path).catch(() => undefined)
      if (view === 'group') await remove(`/api/v0/tool-groups/${name}`)
      await remove(`/api/v0/servers/${name}`)
    },
    stop: async () => {
      await started.stop()
      await rm(dataDir, { recursive: true, force: true })
    }
  }
}

type Send = (method: string, path: string, body?: object) => Promise<Answer | undefined>

interface Answer {
  readonly admin_access_token: string
  readonly access_token: string
  readonly authorization_required?: { readonly session_id: string; readonly authorization_url: string }
}

/** Follows the redirects as a user's browser would: the test authorization server does not prompt. */
async function signIn(send: Send, wanted: NonNullable<Answer['authorization_required']>) {
  const response = await fetch(wanted.authorization_url, { redirect: 'manual' })
  const back = new URL(response.headers.get('location') ?? '', redirectUri).searchParams
  const code = back.get('code')
  if (code === null) throw new Error(`authorization: ${response.status} ${String(back)}`)
  const iss = back.get('iss')
  const body = { code, state: back.get('state'), ...(iss !== null && { iss }) }
  await send('POST', `/api/v0/upstream_oauth/sessions/${wanted.session_id}/complete`, body)
}

const redirectUri = 'http://127.0.0.1:1/callback'

function registration({ server: { withoutOAuth }, sessionMode, serverTransport }: Scenario, { url, ledger }: Target) {
  const oauth = withoutOAuth === undefined ? {} : { oauth_redirect_uri: redirectUri }
  const server = { name, session_mode: sessionMode, ...oauth }
  if (serverTransport !== 'stdio')
    return { ...server, transport: serverTransport === 'sse' ? 'sse' : 'streamable_http', url }
  const [command, ...args] = JSON.parse(url) as string[]
  return { ...server, transport: 'stdio', command, args, env: { ...quiet, INTEROP_LEDGER: ledger } }
}

async function initialise(origin: string) {
  const admin = (await request(`${origin}/init`, 'POST'))?.admin_access_token
  const body = { name: 'interop', allowed_servers: ['*'] }
  const made = await request(`${origin}/api/v0/clients`, 'POST', body, admin)
  if (admin === undefined || made === undefined) throw new Error('the gateway gave no tokens')
  return { admin, client: made.access_token }
}

async function request(url: string, method: string, body?: object, token?: string): Promise<Answer | undefined> {
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
  return text === '' ? undefined : (JSON.parse(text) as Answer)
}
