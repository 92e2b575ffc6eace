import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { Client as Client2, StreamableHTTPClientTransport as HttpTransport2 } from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { addCleanup, tempDir } from '../store.ts'
import { cleanEnv } from './harness.ts'
import { runInspector } from './peers.ts'

/** An entry of `mcpServers`, in the format of Claude Code, Cursor and others. */
interface Entry {
  readonly type?: string
  readonly url?: string
  readonly headers?: Record<string, string>
  readonly command?: string
  readonly args?: string[]
  readonly env?: Record<string, string>
}

interface Call {
  readonly name: string
  readonly arguments: Record<string, unknown>
}

/** The tools that a client listed and the result of its call. */
export interface Outcome {
  readonly by: string
  /** Undefined if the client did not list them. */
  readonly tools?: readonly string[]
  readonly result: { readonly structuredContent?: unknown; readonly [member: string]: unknown }
}

type ToolClient = Pick<Client, 'listTools' | 'callTool'>

const identity = { name: 'configured', version: '1' }

async function use(by: string, client: ToolClient, call: Call): Promise<Outcome> {
  const { tools } = await client.listTools()
  return { by, tools: tools.map(({ name }) => name), result: await client.callTool(call) }
}

async function byCommand(t: TestContext, { command = '', args = [], env = {} }: Entry, call: Call) {
  const client = new Client(identity)
  addCleanup(t, () => client.close())
  const cwd = await tempDir(t)
  const own = { ...cleanEnv(), HOME: cwd, ...env } as Record<string, string>
  await client.connect(new StdioClientTransport({ command, args, env: own, cwd, stderr: 'ignore' }))
  return use(args.includes('stdio') ? 'towpath stdio' : command, client, call)
}

async function byFirstSdk(t: TestContext, { url = '', headers = {} }: Entry, call: Call) {
  const client = new Client(identity)
  addCleanup(t, () => client.close())
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }) as Transport)
  return use('the first SDK', client, call)
}

async function bySecondSdk(t: TestContext, { url = '', headers = {} }: Entry, call: Call) {
  const client = new Client2(identity, { versionNegotiation: { mode: 'auto' } })
  addCleanup(t, () => client.close())
  await client.connect(new HttpTransport2(new URL(url), { requestInit: { headers } }))
  return use('the second SDK', client as unknown as ToolClient, call)
}

/** Makes only the call, since each run of the inspector takes seconds. */
async function byInspector(t: TestContext, configuration: string, server: string, call: Call): Promise<Outcome> {
  const file = join(await tempDir(t), 'mcp.json')
  await writeFile(file, configuration)
  const pairs = Object.entries(call.arguments).flatMap(([name, value]) => ['--tool-arg', `${name}=${String(value)}`])
  const called = ['--method', 'tools/call', '--tool-name', call.name, ...pairs]
  const result = await runInspector(t, '--config', file, '--server', server, ...called)
  return { by: 'the inspector', result }
}

/** Passes the configuration to every client that supports it, and makes a call with each. */
export async function useConfiguration(t: TestContext, configuration: string, call: Call): Promise<Outcome[]> {
  const { mcpServers } = JSON.parse(configuration) as { mcpServers: Record<string, Entry> }
  const [name, entry] = Object.entries(mcpServers)[0]!
  if (entry.command) return [await byCommand(t, entry, call)]
  const bySdks = [await byFirstSdk(t, entry, call), await bySecondSdk(t, entry, call)]
  // the inspector treats an entry without a type as a command
  return entry.type ? [...bySdks, await byInspector(t, configuration, name, call)] : bySdks
}
