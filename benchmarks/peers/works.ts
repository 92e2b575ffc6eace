import { fileURLToPath } from 'node:url'
import type { Bench, ServerHandle } from '../bench.ts'
import type { Target } from '../load.ts'
import { onSharedCore } from '../processes.ts'
import { calls, legacyRequest, post, target, times } from '../requests.ts'
import type { Upstream } from './peers.ts'
import { openPeerSession, type Running } from './run.ts'
import { towpath, type TowpathOptions } from './towpath.ts'

const TOOLS = 1_000
const LARGE = 100_000
const server = fileURLToPath(new URL('../targets/stdio-server.mjs', import.meta.url))

/** Work that is measured at every gateway that can do it. */
export interface Work {
  readonly title: string
  readonly kind: Upstream['kind']
  /** Path of the upstream. */
  readonly path?: string
  readonly variants: readonly TowpathOptions[]
  /** True if a proxy that copies bytes can do it too. */
  readonly hasRaw?: boolean
  /** True if each call has a session of its own at the upstream, which the raw proxy can open too. */
  readonly hasRawSessions?: boolean
  /** False if the peers have no such interface. */
  readonly hasPeers?: boolean
  /** Resolves with what the load generator sends, one request for each connection. */
  target(running: Running): Promise<Target>
}

const defaults: TowpathOptions = { name: 'Towpath' }
const logOff: TowpathOptions = { name: 'Towpath, call log off', env: { TOWPATH_CALL_LOG: 'off' } }
const stateful: TowpathOptions = { name: 'Towpath, `stateful`', sessionMode: 'stateful' }
const shared: TowpathOptions = { name: 'Towpath, `shared`', sessionMode: 'shared' }

const callsOf =
  (connections: number, size = 200) =>
  async (running: Running): Promise<Target> => {
    const params = { name: running.tool, arguments: { message: 'hello', size } }
    const sessions = await Promise.all(times(connections, () => openPeerSession(running)))
    const requests = sessions.map((headers) => legacyRequest(running.mcp, 'tools/call', params, headers))
    return calls(running.mcp, requests, size)
  }

async function listsOf(running: Running): Promise<Target> {
  const sessions = await Promise.all(times(4, () => openPeerSession(running)))
  const requests = sessions.map((headers) => legacyRequest(running.mcp, 'tools/list', {}, headers))
  // every tool has a description and a schema of this length at least
  return target(running.mcp, requests, '"properties":', TOOLS * 300)
}

function invocationsOf({ mcp, tool }: Running): Promise<Target> {
  const body = JSON.stringify({ name: tool, message: 'hello' })
  const url = new URL('/api/v0/tools/invoke', mcp).href
  return Promise.resolve(
    calls(
      url,
      times(16, () => post(url, { 'content-type': 'application/json' }, body))
    )
  )
}

export const works: readonly Work[] = [
  {
    title: '`tools/call`, 200 B',
    kind: 'http',
    path: '/legacy/mcp',
    variants: [defaults, logOff],
    hasRaw: true,
    target: callsOf(16)
  },
  {
    title: '`tools/call`, 100 kB, 4 connections',
    kind: 'http',
    path: '/legacy/mcp',
    variants: [defaults, logOff],
    hasRaw: true,
    target: callsOf(4, LARGE)
  },
  {
    title: '`tools/call`, 200 B, upstream with sessions and event streams',
    kind: 'http',
    path: '/session-events/mcp',
    variants: [defaults, logOff, stateful, shared],
    hasRaw: true,
    hasRawSessions: true,
    target: callsOf(16)
  },
  {
    title: `\`tools/list\`, ${TOOLS.toLocaleString('en')} tools, 4 connections`,
    kind: 'http',
    path: `/legacy/mcp?tools=${TOOLS}`,
    variants: [defaults],
    hasRaw: true,
    target: listsOf
  },
  {
    title: 'REST `tools/invoke`, 200 B',
    kind: 'http',
    path: '/legacy/mcp',
    variants: [defaults, logOff],
    hasPeers: false,
    target: invocationsOf
  },
  {
    title: '`tools/call`, stdio, 4 connections',
    kind: 'stdio',
    variants: [defaults, stateful, shared],
    target: callsOf(4)
  }
]

/** Returns the server behind the gateways. */
export const upstreamOf = ({ kind, path = '' }: Pick<Work, 'kind' | 'path'>, { url }: ServerHandle): Upstream =>
  kind === 'http' ? { kind, url: `${url}${path}` } : { kind, command: onSharedCore([process.execPath, server]) }

/**
 * Starts the proxy that copies bytes; it answers at the path of the upstream. `sessions`: each call has a session of its
 * own at the upstream, or that of the client.
 */
export async function startRaw(
  bench: Bench,
  upstream: ServerHandle,
  path: string,
  sessions: 'each' | 'client'
): Promise<Running> {
  const { pid, url } = await bench.target('raw-proxy.ts', { UPSTREAM: upstream.url, SESSIONS: sessions }, true)
  return { pid, mcp: `${url}${path}`, tool: 'echo', headers: {} }
}

export const variantsOf = ({ variants }: Work) => variants.map(towpath)
