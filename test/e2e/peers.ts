import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { Client as Client2, StreamableHTTPClientTransport as HttpTransport2 } from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { addCleanup, tempDir } from '../store.ts'
import { toolPath } from '../tools/tools.ts'
import { cleanEnv, root, run } from './harness.ts'
import { freePort } from '../ports.ts'
import { until } from '../until.ts'
import { rawHttp, rawSse, rawStdio, type RawPeer } from './raw.ts'

/** A real MCP server: its registration, and a direct connection. */
export interface Upstream {
  readonly registration: { readonly name: string; readonly transport: string; readonly [member: string]: unknown }
  readonly direct: () => Promise<RawPeer>
}

const script = (path: string) => join(root, 'node_modules', path)
const everythingScript = script('@modelcontextprotocol/server-everything/dist/index.js')

function stdio(name: string, args: string[], env: Record<string, string> = {}): Upstream {
  return {
    registration: { name, transport: 'stdio', command: process.execPath, args, env },
    direct: async () => rawStdio(process.execPath, args, { ...cleanEnv(), ...env })
  }
}

const answers = async (url: string) => {
  const stop = new AbortController()
  const { status } = await fetch(url, { signal: stop.signal })
  stop.abort()
  return status > 0
}

/** Starts `@modelcontextprotocol/server-everything` over a transport. */
export async function everything(t: TestContext, transport: 'stdio' | 'streamable_http' | 'sse'): Promise<Upstream> {
  if (transport === 'stdio') return stdio('everything', [everythingScript, 'stdio'])
  const port = await freePort()
  const mode = transport === 'sse' ? 'sse' : 'streamableHttp'
  run(t, process.execPath, [everythingScript, mode], { env: { ...cleanEnv(), PORT: String(port) } })
  const url = `http://127.0.0.1:${port}${transport === 'sse' ? '/sse' : '/mcp'}`
  await until('server-everything to listen', () => answers(url))
  return {
    registration: { name: 'everything', transport, url },
    direct: async () => (transport === 'sse' ? rawSse(url) : rawHttp(url))
  }
}

export const filesystem = (folder: string): Upstream =>
  stdio('filesystem', [script('@modelcontextprotocol/server-filesystem/dist/index.js'), folder])

export const memory = (file: string): Upstream =>
  stdio('memory', [script('@modelcontextprotocol/server-memory/dist/index.js')], { MEMORY_FILE_PATH: file })

export async function context7(t: TestContext, transport: 'stdio' | 'streamable_http'): Promise<Upstream> {
  const program = toolPath('@upstash/context7-mcp/dist/index.js')
  if (transport === 'stdio') return stdio('context7', [program])
  const port = await freePort()
  run(t, process.execPath, [program, '--transport', 'http', '--port', String(port)], { env: cleanEnv() })
  const url = `http://127.0.0.1:${port}/mcp`
  await until('context7 to listen', () => answers(url))
  return { registration: { name: 'context7', transport, url }, direct: async () => rawHttp(url) }
}

type Headers = Readonly<Record<string, string>>

const identity = { name: 'e2e', version: '1' }

/** Connects a client of SDK version 1, which speaks the session-based revisions. */
export async function connectV1(t: TestContext, url: string, headers: Headers = {}): Promise<Client> {
  const client = new Client(identity)
  const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } })
  // the SDK's own transport does not satisfy its interface under exactOptionalPropertyTypes
  await client.connect(transport as Transport)
  addCleanup(t, () => client.close())
  return client
}

/** Connects the same client over HTTP+SSE, the transport of the oldest revision. */
export async function connectSse(t: TestContext, url: string, headers: Headers = {}): Promise<Client> {
  const client = new Client(identity)
  await client.connect(new SSEClientTransport(new URL(`${url}/sse`), { requestInit: { headers } }))
  addCleanup(t, () => client.close())
  return client
}

/** Connects a client of SDK version 2, which discovers the server's revisions and prefers 2026-07-28. */
export async function connectV2(t: TestContext, url: string, headers: Headers = {}): Promise<Client2> {
  const client = new Client2(identity, { versionNegotiation: { mode: 'auto' } })
  await client.connect(new HttpTransport2(new URL(`${url}/mcp`), { requestInit: { headers } }))
  addCleanup(t, () => client.close())
  return client
}

/** Connects a client of SDK version 1 over stdio to mcp-remote, which speaks HTTP to the gateway. */
export async function connectByMcpRemote(t: TestContext, url: string): Promise<Client> {
  const client = new Client(identity)
  const folder = await tempDir(t)
  const args = [toolPath('mcp-remote/dist/proxy.js'), `${url}/mcp`, '--allow-http', '--transport', 'http-only']
  const env = { ...cleanEnv(), MCP_REMOTE_CONFIG_DIR: folder } as Record<string, string>
  await client.connect(new StdioClientTransport({ command: process.execPath, args, env, stderr: 'ignore' }))
  addCleanup(t, () => client.close())
  return client
}

/** Runs the inspector's command line once. Returns its parsed output. */
export async function runInspector(t: TestContext, ...args: string[]): Promise<Record<string, unknown>> {
  const folder = await tempDir(t)
  const launcher = toolPath('@modelcontextprotocol/inspector/clients/launcher/build/index.js')
  const env = { ...cleanEnv(), HOME: folder }
  const inspector = run(t, process.execPath, [launcher, '--cli', ...args], {
    env,
    cwd: folder,
    stdio: ['ignore', 'pipe', 'ignore']
  })
  const code = await inspector.exited
  if (code !== 0) throw new Error(`the inspector ended with ${code}: ${inspector.output()}`)
  return JSON.parse(inspector.output()) as Record<string, unknown>
}

/** Runs the inspector's command line at the gateway with this URL. */
export const inspect = (t: TestContext, url: string, ...args: string[]) =>
  runInspector(t, `${url}/mcp`, '--transport', 'http', ...args)
