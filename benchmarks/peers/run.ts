import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { isUp, type Bench } from '../bench.ts'
import { freePort } from '../../test/ports.ts'
import { cpuMs, rssKib, startProgram, treeOf, type ManagedProcess } from '../processes.ts'
import type { Headers } from '../requests.ts'
import type { Peer, Program, Upstream } from './peers.ts'

/** A gateway that answers calls. */
export interface Running {
  readonly pid: number
  /** Address of its MCP endpoint. */
  readonly mcp: string
  readonly tool: string
  readonly headers: Headers
}

/** How long a gateway may take until its first right answer. */
const START_MS = 90_000
const POLL_MS = 5
const PROTOCOL = '2025-11-25'
const json: Headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
const SERVER = 'stdio-server.mjs'

/** True for a server behind a gateway. A gateway may have the server's command among its own arguments. */
const isServer = (pid: number) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')[1]?.endsWith(SERVER)

/** Sums a figure over a gateway and its descendants, without the servers behind it and what ends meanwhile. */
function sumOfTree(pid: number, figure: (pid: number) => number): number {
  let sum = 0
  for (const each of treeOf(pid)) {
    try {
      if (!isServer(each)) sum += figure(each)
    } catch {
      // it has ended
    }
  }
  return sum
}

export const treeCpuMs = (pid: number): number => sumOfTree(pid, cpuMs)
export const treeRssMib = (pid: number): number => sumOfTree(pid, rssKib) / 1_024

/** Sends one message; resolves with the headers of the answer and the result, if it is one. */
async function send(url: string, headers: Headers, message: object) {
  const body = JSON.stringify({ jsonrpc: '2.0', ...message })
  const signal = AbortSignal.timeout(START_MS)
  const answer = await fetch(url, { method: 'POST', headers: { ...json, ...headers }, body, signal })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${answer.status} ${text.slice(0, 200)}`)
  // in an event stream the answer is the last message
  const data = text.startsWith('{') ? text : (/.*^data: (\{.*\})$/ms.exec(text)?.[1] ?? '{}')
  return { headers: answer.headers, result: (JSON.parse(data) as { result?: Record<string, unknown> }).result }
}

/** Opens a session where the gateway has them. Resolves with the headers of its requests. */
export async function openPeerSession({ mcp, headers }: Pick<Running, 'mcp' | 'headers'>): Promise<Headers> {
  const params = { protocolVersion: PROTOCOL, capabilities: {}, clientInfo: { name: 'bench', version: '1.0.0' } }
  const opened = await send(mcp, headers, { id: 1, method: 'initialize', params })
  const session = opened.headers.get('mcp-session-id')
  const version = opened.result?.protocolVersion
  const own = {
    ...headers,
    'mcp-protocol-version': typeof version === 'string' ? version : PROTOCOL,
    ...(session !== null && { 'mcp-session-id': session })
  }
  await send(mcp, own, { method: 'notifications/initialized' })
  return own
}

/** Calls `echo` once. Rejects unless the answer is right. */
async function callOnce(running: Omit<Running, 'pid'>): Promise<void> {
  const headers = await openPeerSession(running)
  const params = { name: running.tool, arguments: { message: 'hello' } }
  const { result } = await send(running.mcp, headers, { id: 2, method: 'tools/call', params })
  if (!JSON.stringify(result ?? {}).includes('xxxxxxxxxx')) throw new Error(`wrong: ${JSON.stringify(result)}`)
}

/** Repeats until it succeeds, the process ends, or the time is over. */
async function untilDone(process: ManagedProcess, attempt: () => Promise<unknown>): Promise<void> {
  const end = performance.now() + START_MS
  for (;;) {
    try {
      return void (await attempt())
    } catch (error) {
      if (process.child.exitCode !== null) throw new Error(`it has ended: ${process.errors()}`, { cause: error })
      if (performance.now() > end) throw error
      await delay(POLL_MS)
    }
  }
}

/** A gateway with its folder, which can be started more than once. */
export interface Startable {
  readonly name: string
  /** Starts it; resolves with the milliseconds to the first right call. */
  start(): Promise<Running & { readonly ms: number; stop(): Promise<void> }>
}

async function startOnce(program: Program, port: number, folder: string) {
  const { command, env = {}, path = '/mcp', headers = {}, tool } = program
  const begun = performance.now()
  const process_ = startProgram(command, {
    isTested: true,
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: folder, ...env }
  })
  const running = { pid: process_.pid, mcp: `http://127.0.0.1:${port}${path}`, tool, headers }
  const stop = async () => {
    const tree = treeOf(process_.pid)
    await process_.stop()
    // children that outlive their parent were started by it, so by this run
    for (const each of tree.slice(1)) endIfRunning(each)
  }
  return { process: process_, running, begun, stop }
}

function endIfRunning(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // it has ended with its parent
  }
}

/** Installs a peer and registers the upstream at it. Rejects with the reason why it cannot be measured. */
export async function prepare(bench: Bench, peer: Peer, upstream: Upstream): Promise<Startable> {
  const folder = await mkdtemp(join(tmpdir(), 'towpath-peer-'))
  bench.addCleanup(() => rm(folder, { recursive: true, force: true }))
  const port = await freePort()
  const program = await peer.program(upstream, port, folder)
  const { register, health } = program
  if (register) {
    const { process: first, stop } = await startOnce(program, port, folder)
    bench.addCleanup(stop)
    await untilDone(first, async () => {
      if (!(await isUp(`http://127.0.0.1:${port}${health!}`))) throw new Error('not up')
    })
    await register(`http://127.0.0.1:${port}`)
    await stop()
  }
  return {
    name: peer.name,
    async start() {
      const { process: process_, running, begun, stop } = await startOnce(program, port, folder)
      bench.addCleanup(stop)
      await untilDone(process_, () => callOnce(running))
      return { ...running, ms: performance.now() - begun, stop }
    }
  }
}
