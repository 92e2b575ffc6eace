import { readFileSync } from 'node:fs'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Config } from '../config.ts'
import { networkOf, type ClientAddresses } from '../domain/client-address.ts'

export interface ConnectionOptions extends Pick<
  Config['limits'],
  'connections' | 'connectionsPerAddress' | 'unsentBytes' | 'unreadAnswerMs'
> {
  readonly addresses: Pick<ClientAddresses, 'isProxy'>
  /** Told at most once a minute why connections are ended. */
  readonly onLimit: (reason: string) => void
}

export interface Connections {
  /** Ends the connections whose callers read nothing at the moment. */
  shed(): void
  close(): void
}

interface Connection {
  readonly socket: HttpSocket
  /** Connections from the same network; null where a trusted proxy is the peer. */
  readonly neighbours: Set<Connection> | null
  /** Bytes that the kernel had taken at the last look. */
  taken: number
  /** Time without progress while something was unsent. */
  stalledMs: number
}

/** The parts of Node's sockets of HTTP servers that have no public name. */
interface HttpSocket extends Socket {
  readonly _httpMessage?: (ServerResponse & { readonly req: IncomingMessage }) | null
  readonly _handle?: { readonly bytesWritten: number; readonly writeQueueSize: number } | null
}

const LOOK_MS = 500
const QUIET_MS = 60_000
/** Connections that are looked at to find one that may give way. */
const MAX_CANDIDATES = 100
/** Share of the open files that connections may take; the rest is for upstreams, processes and the store. */
const FILES_SHARE = 0.8

/** Open files that the system allows this process; Infinity where it does not tell. */
function maxOpenFiles(): number {
  try {
    return Number(/^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1] ?? Infinity)
  } catch {
    return Infinity
  }
}

/** Whether the gateway itself works on an answer, or a stream is open: such a connection never gives way. */
const isServed = ({ _httpMessage: response }: HttpSocket) =>
  response != null && response.req.complete && !response.writableEnded

/**
 * Ends the oldest of the first connections that may give way to a new one, one without any request if there is one.
 * Looks at a hundred at most, and at others the next time.
 */
function giveWay(connections: Set<Connection>, to: Socket): boolean {
  let unread: HttpSocket | undefined
  let left = MAX_CANDIDATES
  for (const connection of connections) {
    const { socket } = connection
    if (left-- === 0 || socket === to) break
    if (socket.destroyed) continue
    if (socket._httpMessage == null) {
      socket.destroy()
      return true
    }
    if (!isServed(socket)) unread ??= socket
    connections.delete(connection)
    connections.add(connection)
  }
  unread?.destroy()
  return unread !== undefined
}

/** Passes a text on at most once a minute. */
function seldom(tell: (text: string) => void): (text: string) => void {
  let toldAt = -Infinity
  return (text) => {
    const now = performance.now()
    if (now - toldAt < QUIET_MS) return
    toldAt = now
    tell(text)
  }
}

/** Notes how far a connection has got; true while its caller reads nothing of what is unsent. */
function isStalled(connection: Connection, elapsedMs: number): boolean {
  const handle = connection.socket._handle
  const taken = handle ? handle.bytesWritten - handle.writeQueueSize : 0
  if (taken === connection.taken) connection.stalledMs += elapsedMs
  else connection.stalledMs = 0
  connection.taken = taken
  return connection.stalledMs > 0
}

interface Register {
  readonly all: Set<Connection>
  add(socket: Socket): Connection
}

/** Connections by the network that they come from; each is forgotten when it closes. */
function createRegister(isProxy: ClientAddresses['isProxy']): Register {
  const all = new Set<Connection>()
  const networks = new Map<string, Set<Connection>>()
  const neighboursOf = (name: string): Set<Connection> => {
    const known = networks.get(name) ?? new Set()
    networks.set(name, known)
    return known
  }
  return {
    all,
    add(socket) {
      const { remoteAddress: peer = '' } = socket
      const name = isProxy(peer) ? undefined : networkOf(peer)
      const neighbours = name === undefined ? null : neighboursOf(name)
      const connection: Connection = { socket, neighbours, taken: 0, stalledMs: 0 }
      all.add(connection)
      neighbours?.add(connection)
      socket.once('close', () => {
        all.delete(connection)
        neighbours?.delete(connection)
        if (name !== undefined && neighbours?.size === 0) networks.delete(name)
      })
      return connection
    }
  }
}

/** Looks at what is unsent twice a second, and ends connections whose callers do not read it. */
function watchUnsent(all: Iterable<Connection>, { unsentBytes: max, unreadAnswerMs, onLimit }: ConnectionOptions) {
  let stalled: Connection[] = []
  let lookedAt = performance.now()
  /** The longest unread first, until what is left takes `limit` bytes at most. */
  const end = (unsent: number, limit: number) => {
    let left = unsent
    for (const { socket } of stalled.sort((a, b) => b.stalledMs - a.stalledMs)) {
      if (left <= limit) return
      left -= socket.writableLength
      socket.destroy()
    }
  }
  const look = () => {
    // a process that was stopped for a while gave its callers no time to read
    const elapsedMs = Math.min(performance.now() - lookedAt, 2 * LOOK_MS)
    lookedAt = performance.now()
    stalled = []
    let unsent = 0
    for (const connection of all) {
      const { socket } = connection
      if (socket.writableLength === 0) connection.stalledMs = 0
      else if (!isStalled(connection, elapsedMs)) unsent += socket.writableLength
      else if (connection.stalledMs >= unreadAnswerMs) socket.destroy()
      else {
        stalled.push(connection)
        unsent += socket.writableLength
      }
    }
    if (unsent <= max) return
    onLimit('too many bytes wait for callers who do not read them')
    end(unsent, max)
  }
  const timer = setInterval(look, LOOK_MS).unref()
  return { shed: () => end(Infinity, 0), close: () => clearInterval(timer) }
}

/**
 * Bounds the connections of a server: their number in all and from each network, the bytes that wait for callers who do
 * not read, and the time for which they wait. Where there are too many, those on which nothing is under way give way, so
 * that an administrator can still connect.
 */
export function boundConnections(server: Server, options: ConnectionOptions): Connections {
  const { connectionsPerAddress, addresses } = options
  const max = Math.max(1, Math.min(options.connections, Math.floor(maxOpenFiles() * FILES_SHARE)))
  const onLimit = seldom(options.onLimit)
  const { all, add } = createRegister((peer) => addresses.isProxy(peer))
  server.on('connection', (socket) => {
    const { neighbours } = add(socket)
    const full = neighbours && neighbours.size > connectionsPerAddress ? neighbours : all.size > max ? all : undefined
    if (!full) return
    onLimit(full === all ? 'there are too many connections' : 'there are too many connections from one network')
    if (!giveWay(full, socket)) socket.destroy()
  })
  const { shed, close } = watchUnsent(all, { ...options, onLimit })
  return { shed, close }
}
