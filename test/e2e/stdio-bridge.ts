import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { TestContext } from 'node:test'
import { StdioClientTransport as StdioTransport2 } from '@modelcontextprotocol/client/stdio'
import { StdioClientTransport as StdioTransport1 } from '@modelcontextprotocol/sdk/client/stdio.js'
import { addCleanup, tempDir } from '../store.ts'
import { until } from '../until.ts'
import { cleanEnv, root, towpathCommand } from './harness.ts'

export interface BridgeOptions {
  /** Options of `towpath stdio`. */
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

async function commandOf(t: TestContext, url: string, { args = [], env = {} }: BridgeOptions) {
  const home = await tempDir(t)
  return {
    command: process.execPath,
    args: [...towpathCommand(), 'stdio', '--registry', url, ...args],
    env: { ...cleanEnv(), HOME: home, ...env } as Record<string, string>,
    cwd: root
  }
}

/** Returns a transport of SDK version 1 that starts the bridge. */
export const legacyTransport = async (t: TestContext, url: string, options: BridgeOptions = {}) =>
  new StdioTransport1({ ...(await commandOf(t, url, options)), stderr: 'ignore' })

/** Returns a transport of SDK version 2 that starts the bridge. */
export const modernTransport = async (t: TestContext, url: string, options: BridgeOptions = {}) =>
  new StdioTransport2({ ...(await commandOf(t, url, options)), stderr: 'ignore' })

// oxlint-disable-next-line typescript/no-explicit-any -- tests assert on the shape
type RpcMessage = any

/** A bridge whose lines the test writes and reads itself. */
export interface RawBridge {
  /** Everything that it wrote on stdout, parsed; a line that is not JSON fails. */
  readonly messages: readonly RpcMessage[]
  stderr(): string
  /** Writes a line: text, or a value as JSON. */
  send(line: unknown): void
  /** Resolves with the response to a request with this id. */
  response(id: unknown): Promise<RpcMessage>
  /** Sends a request and resolves with its response. */
  request(id: number | string, method: string, params?: object): Promise<RpcMessage>
  /** Opens a session. */
  initialize(version?: string, capabilities?: object): Promise<RpcMessage>
  endInput(): void
  pauseOutput(): void
  resumeOutput(): void
  kill(signal: NodeJS.Signals): void
  /** Resolves with the exit code, or the name of the signal. */
  readonly exited: Promise<number | string>
}

/** Starts the bridge as a process. */
export async function startBridge(t: TestContext, url: string, options: BridgeOptions = {}): Promise<RawBridge> {
  const { command, args, env, cwd } = await commandOf(t, url, options)
  const child = spawn(command, args, { env, cwd, stdio: ['pipe', 'pipe', 'pipe'] })
  addCleanup(t, () => void child.kill('SIGKILL'))
  const messages: RpcMessage[] = []
  let stderr = ''
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
  child.stdin.on('error', () => {})
  createInterface({ input: child.stdout }).on('line', (line) => void messages.push(JSON.parse(line)))
  const exited = new Promise<number | string>((resolve) => {
    child.once('exit', (code, signal) => resolve(code ?? signal ?? 0))
  })
  const send = (line: unknown) => void child.stdin.write(`${typeof line === 'string' ? line : JSON.stringify(line)}\n`)
  const response = (id: unknown): Promise<RpcMessage> =>
    until(`the response to ${String(id)}: ${stderr}`, () =>
      messages.find((message) => message.id === id && message.method === undefined)
    )
  const request = (id: number | string, method: string, params: object = {}) => {
    send({ jsonrpc: '2.0', id, method, params })
    return response(id)
  }
  return {
    messages,
    stderr: () => stderr,
    send,
    response,
    request,
    async initialize(protocolVersion = '2025-11-25', capabilities = {}) {
      const clientInfo = { name: 'raw', version: '1' }
      const answer = await request('initialize', 'initialize', { protocolVersion, capabilities, clientInfo })
      send({ jsonrpc: '2.0', method: 'notifications/initialized' })
      return answer
    },
    endInput: () => void child.stdin.end(),
    pauseOutput: () => void child.stdout.pause(),
    resumeOutput: () => void child.stdout.resume(),
    kill: (signal) => void child.kill(signal),
    exited
  }
}
