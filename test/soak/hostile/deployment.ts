import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { startGateway, type Gateway } from '../../e2e/harness.ts'
import { startRecorder } from '../../fixtures/http/recorder.ts'
import { startPostgres } from '../../postgres.ts'
import { addCleanup, tempDir } from '../../store.ts'
import { own } from './hostile-tools.ts'
import { createLimit, type MemoryLimit } from './limit.ts'
import { niceCommand, startUpstream } from './processes.ts'

export const tokens = {
  admin: 'soak-admin-token-0123456789',
  client: 'soak-client-token-0123456789',
  attacker: 'soak-attacker-token-0123456789',
  rotated: 'soak-rotated-token-0123456789'
} as const

const PATIENCE_MS = 30_000

const settings = {
  TOWPATH_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
  TOWPATH_CALL_TIMEOUT_MS: '10000',
  TOWPATH_CALL_TOTAL_TIMEOUT_MS: '20000',
  TOWPATH_CONNECT_TIMEOUT_MS: '10000',
  TOWPATH_EVENT_LOOP_LAG_MS: '2000',
  TOWPATH_STDIO_PROCESSES: '16',
  TOWPATH_LOG_LEVEL: 'error',
  // as the image starts it
  NODE_OPTIONS: '--max-old-space-size=512 --v8-pool-size=0'
}

/** Sends one request with the caller's token, or without one in development mode. */
export type Ask = (
  method: string,
  path: string,
  token: string,
  body?: string | object,
  headers?: Record<string, string>
) => Promise<{ status: number; text: string }>

const asker =
  ({ url }: Gateway, isEnterprise: boolean): Ask =>
  async (method, path, token, body, headers = {}) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const response = await fetch(url + path, {
      method,
      headers: {
        ...(isEnterprise && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        accept: 'application/json, text/event-stream',
        ...headers
      },
      signal: AbortSignal.timeout(PATIENCE_MS),
      ...(body !== undefined && { body: text })
    })
    return { status: response.status, text: await response.text() }
  }

/** A gateway with one good server and the hostile ones. */
export interface Deployment {
  readonly gateway: Gateway
  readonly ask: Ask
  readonly isEnterprise: boolean
  /** Names of the registered hostile servers. */
  readonly hostile: readonly string[]
  /** Undefined if the kernel does not enforce the memory limit. */
  readonly limit: MemoryLimit | undefined
}

export async function deploy(t: TestContext, isEnterprise: boolean, hostile: readonly string[]): Promise<Deployment> {
  const cluster = isEnterprise ? await startPostgres(process.env) : undefined
  if (isEnterprise && !cluster) throw new Error('no PostgreSQL found')
  if (cluster) addCleanup(t, () => cluster.stop())
  // server processes have a group of their own: their memory is not the gateway's
  const [limit, childLimit] = [createLimit('gateway'), createLimit('children')]
  for (const each of [limit, childLimit]) if (each) addCleanup(t, () => each.remove())
  const place = { ...(cluster && { databaseUrl: cluster.url }), dataDir: await tempDir(t) }
  const mode = isEnterprise ? { SERVER_MODE: 'enterprise', TOWPATH_ADMIN_TOKEN: tokens.admin } : {}
  const gateway = await startGateway(t, {
    place,
    env: { ...settings, ...mode },
    ...(limit && { launcher: limit.launcher })
  })
  const ask = asker(gateway, isEnterprise)
  const made = async (path: string, body: object, triesLeft = 5): Promise<void> => {
    const { status, text } = await ask('POST', path, tokens.admin, body)
    // a process may start too slowly on a busy machine
    if (status === 504 && triesLeft > 0) return made(path, body, triesLeft - 1)
    if (status !== 201) throw new Error(`${path}: ${status} ${text}`)
  }

  const good = await startRecorder(null, { name: 'good', modern: true })
  addCleanup(t, good.close)
  const forget = setInterval(() => good.requests.splice(0), 1_000)
  addCleanup(t, () => clearInterval(forget))
  const http = { transport: 'streamable_http' }
  const script = fileURLToPath(new URL('upstream-stdio.mjs', import.meta.url))
  const [command, ...args] = [...(childLimit?.launcher ?? []), ...niceCommand, process.execPath, script]
  await made('/api/v0/servers', { name: 'good', ...http, url: good.url })
  for (const kind of ['bad', 'newer', 'turned'].filter((name) => hostile.includes(name))) {
    const session_mode = kind === 'bad' ? 'stateful' : 'stateless'
    await made('/api/v0/servers', {
      name: kind,
      ...http,
      url: await startUpstream(t, './upstream.ts', [kind]),
      session_mode
    })
  }
  if (hostile.includes('old'))
    await made('/api/v0/servers', { name: 'old', transport: 'sse', url: await startUpstream(t, './upstream-sse.ts') })
  if (hostile.includes('child'))
    await made('/api/v0/servers', {
      name: 'child',
      transport: 'stdio',
      command,
      args,
      env: { OWN_TOOLS: own.child.join() }
    })
  if (isEnterprise) {
    await made('/api/v0/clients', { name: 'caller', allowed_servers: ['good'], access_token: tokens.client })
    await made('/api/v0/clients', { name: 'attacker', allowed_servers: hostile, access_token: tokens.attacker })
  }
  return { gateway, ask, isEnterprise, hostile, limit }
}
