import type { TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { startGateway, type Gateway } from '../e2e/harness.ts'
import { modernBody, modernHeaders } from '../integration/mcp-helpers.ts'
import { startMachine } from './machine.ts'
import type { Access } from './seeds.ts'

export type Mode = 'development' | 'enterprise'

/** A gateway under attack. */
export interface Target {
  readonly mode: Mode
  readonly gateway: Gateway
  readonly access: Access
  /** Returns the problem; undefined if ordinary requests are answered as before. */
  check(): Promise<string | undefined>
  /** Opens a new session for requests that need one. */
  renew(): Promise<void>
}

const ADMIN = 'fuzz-admin-token-0123456789'
const CLIENT = 'fuzz-client-token-0123456789'
const HEALTH_MS = 1_000
/** Factor on the machine's delay: a busy machine delays each of several processes in turn. */
const SLACK = 10

const initialize = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'fuzz', version: '1' } }
})

const settings = {
  TOWPATH_CONNECT_TIMEOUT_MS: '2000',
  TOWPATH_CALL_TIMEOUT_MS: '3000',
  TOWPATH_LOG_LEVEL: 'warn'
}

export async function startTarget(t: TestContext, mode: Mode, upstreamUrl: string): Promise<Target> {
  const isEnterprise = mode === 'enterprise'
  const env = { ...settings, ...(isEnterprise && { SERVER_MODE: mode, TOWPATH_ADMIN_TOKEN: ADMIN }) }
  const gateway = await startGateway(t, { env })
  const machine = await startMachine(t)
  const post = async (path: string, body: string, token: string, headers: Record<string, string> = {}) => {
    for (let tries = 1; ; tries++) {
      const answer = await postOnce(path, body, token, headers)
      // a loaded gateway may refuse work
      if (answer.status !== 503 || tries === 10) return answer
      await delay(500)
    }
  }
  const postOnce = async (path: string, body: string, token: string, headers: Record<string, string>) => {
    const authorization = isEnterprise ? { authorization: `Bearer ${token}` } : {}
    const given = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
    const signal = AbortSignal.timeout(30_000)
    const response = await fetch(gateway.url + path, {
      method: 'POST',
      headers: { ...given, ...authorization, ...headers },
      body,
      signal
    })
    return { status: response.status, headers: response.headers, text: await response.text() }
  }
  /** Repeats a call while the machine is too busy for the calls' time limits. */
  const inTime = async (ask: () => ReturnType<typeof postOnce>) => {
    for (let tries = 1; ; tries++) {
      const answer = await ask()
      if (tries === 5 || !/in time|longer than it may/.test(answer.text) || machine.delayMs() < 100) return answer
    }
  }
  const set = async (path: string, body: object) => {
    const { status, text } = await post(path, JSON.stringify(body), ADMIN)
    if (status !== 201) throw new Error(`${path}: ${status} ${text}`)
  }
  for (const name of ['alpha', 'canary'])
    await set('/api/v0/servers', { name, transport: 'streamable_http', url: upstreamUrl })
  await set('/api/v0/tool-groups', { name: 'g1', included_servers: ['alpha'] })
  if (isEnterprise) await set('/api/v0/clients', { name: 'fuzz', allowed_servers: ['*'], access_token: CLIENT })

  const access: Access = {
    port: gateway.port,
    upstreamUrl,
    admin: isEnterprise ? ADMIN : undefined,
    client: isEnterprise ? CLIENT : undefined,
    session: ''
  }
  const call = { name: 'canary__echo', arguments: { text: 'x' } }
  /** Requests that must succeed at any time. */
  const ordinary = async (): Promise<string | undefined> => {
    const begun = performance.now()
    const health = await fetch(`${gateway.url}/health`, { signal: AbortSignal.timeout(30_000) })
    const took = performance.now() - begun
    if (!health.ok || took > HEALTH_MS + SLACK * machine.delayMs())
      return `/health: ${health.status} after ${Math.round(took)} ms`
    const rest = await inTime(() => post('/api/v0/tools/invoke', JSON.stringify({ name: call.name, text: 'x' }), ADMIN))
    if (rest.status !== 200) return `tools/invoke: ${rest.status} ${rest.text}`
    const modern = await inTime(() =>
      post('/mcp', modernBody('tools/call', call), CLIENT, modernHeaders('tools/call', call.name))
    )
    if (modern.status !== 200 || !modern.text.includes('"result"')) return `tools/call: ${modern.status} ${modern.text}`
    const legacy = await post('/mcp', '{"jsonrpc":"2.0","id":7,"method":"ping"}', CLIENT)
    if (legacy.text !== '{"jsonrpc":"2.0","id":7,"result":{}}') return `ping: ${legacy.status} ${legacy.text}`
    return undefined
  }
  return {
    mode,
    gateway,
    access,
    async check() {
      const problem = await Promise.race([
        ordinary().catch(String),
        gateway.exited.then((code) => `it has ended: ${code}`)
      ])
      // an exiting process is about to report it
      if (problem?.startsWith('it has ended') === false) await delay(200)
      return gateway.child.exitCode === null
        ? problem
        : `it has ended: ${gateway.child.exitCode}\n${gateway.output().slice(-3_000)}`
    },
    async renew() {
      const { headers } = await post('/mcp', initialize, CLIENT)
      access.session = headers.get('mcp-session-id') ?? ''
    }
  }
}
