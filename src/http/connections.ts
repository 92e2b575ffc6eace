import { readFileSync } from 'node:fs'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Config } from '../config/config.ts'
import { networkOf, type AddressResolver } from '../domain/network/client-address.ts'
import { paceWrites } from './paced-writes.ts'

export interface ConnectionOptions extends Pick<
  Config['limits'],
  'connections' | 'connectionsPerAddress' | 'unsentBytes' | 'unreadAnswerMs'
> {
  readonly addresses: Pick<AddressResolver, 'isProxy'>
  /** Called at most once a minute with the reason for closing connections. */
  readonly onLimit: (reason: string) => void
}

export interface Connections {
  /** Closes the connections whose callers currently read nothing. */
  closeStalled(): void
  close(): void
}

interface Connection {
  readonly socket: HttpSocket
  /** Connections from the same network; null if the peer is a trusted proxy. */
  readonly neighbours: Set<Connection> | null
  /** Bytes that the kernel had accepted at the last check. */
  acceptedBytes: number
  /** Milliseconds without progress while bytes were unsent. */
  stalledMs: number
}

/** Undocumented members of Node's HTTP server sockets. */
interface HttpSocket extends Socket {
  readonly _httpMessage?: (ServerResponse & { readonly req: IncomingMessage }) | null
  readonly _handle?: { readonly bytesWritten: number; readonly writeQueueSize: number } | null
}

const CHECK_INTERVAL_MS = 500
const REPORT_INTERVAL_MS = 60_000
/** Connections examined per eviction. */
const MAX_CANDIDATES = 100
/** Share of the open-file limit that connections may use; the rest is for upstreams, processes and the store. */
const FILES_SHARE = 0.8

/** Returns the open-file limit of this process; Infinity if unknown. */
function maxOpenFiles(): number {
  try {
    return Number(/^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1] ?? Infinity)
  } catch {
    return Infinity
  }
}

/** True while the gateway works on an answer or a stream is open: such a connection is never evicted. */
const isActive = ({ _httpMessage: response }: HttpSocket) =>
  response != null && response.req.complete && !response.writableEnded

/**
 * Closes the oldest evictable connection, preferring one without any request. Examines at most `MAX_CANDIDATES` and
 * moves them to the end, so that the next eviction examines others. Returns false if none was evictable.
 */
function evictOne(connections: Set<Connection>, newcomer: Socket): boolean {
  let unread: HttpSocket | undefined
  let left = MAX_CANDIDATES
  for (const connection of connections) {
    const { socket } = connection
    if (left-- === 0 || socket === newcomer) break
    if (socket.destroyed) continue
    if (socket._httpMessage == null) {
      socket.destroy()
      return true
    }
    if (!isActive(socket)) unread ??= socket
    connections.delete(connection)
    connections.add(connection)
  }
  unread?.destroy()
  return unread !== undefined
}

/** Forwards a text at most once a minute. */
function throttle(report: (text: string) => void): (text: string) => void {
  let reportedAt = -Infinity
  return (text) => {
    const now = performance.now()
    if (now - reportedAt < REPORT_INTERVAL_MS) return
    reportedAt = now
    report(text)
  }
}

/** Updates the progress of a connection; true while the caller reads none of the unsent bytes. */
function isStalled(connection: Connection, elapsedMs: number): boolean {
  const handle = connection.socket._handle
  const accepted = handle ? handle.bytesWritten - handle.writeQueueSize : 0
  if (accepted === connection.acceptedBytes) connection.stalledMs += elapsedMs
  else connection.stalledMs = 0
  connection.acceptedBytes = accepted
  return connection.stalledMs > 0
}

interface Register {
  readonly all: Set<Connection>
  add(socket: Socket): Connection
}

/** Tracks connections by source network until they close. */
function createRegister(isProxy: AddressResolver['isProxy']): Register {
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
      const connection: Connection = { socket, neighbours, acceptedBytes: 0, stalledMs: 0 }
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

/** Checks unsent bytes twice a second and closes connections whose callers do not read them. */
function watchUnsent(all: Iterable<Connection>, { unsentBytes: max, unreadAnswerMs, onLimit }: ConnectionOptions) {
  let stalled: Connection[] = []
  let checkedAt = performance.now()
  /** Closes the connections that were unread for longest, until at most `limit` bytes remain. */
  const end = (unsent: number, limit: number) => {
    let left = unsent
    for (const { socket } of stalled.sort((a, b) => b.stalledMs - a.stalledMs)) {
      if (left <= limit) return
      left -= socket.writableLength
      socket.destroy()
    }
  }
  const checkAll = () => {
    // after a suspension of this process its callers had no time to read
    const elapsedMs = Math.min(performance.now() - checkedAt, 2 * CHECK_INTERVAL_MS)
    checkedAt = performance.now()
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
    onLimit('too many bytes are waiting for clients that do not read them')
    end(unsent, max)
  }
  const timer = setInterval(checkAll, CHECK_INTERVAL_MS).unref()
  return { closeStalled: () => end(Infinity, 0), close: () => clearInterval(timer) }
}

/**
 * Limits a server's connections: their number in total and per network, the total of unsent bytes, and the time that
 * bytes may stay unread. At a limit, idle connections are closed first, so that an administrator can still connect.
 * A large answer is written over several turns of the event loop.
 */
export function boundConnections(server: Server, options: ConnectionOptions): Connections {
  const { connectionsPerAddress, addresses } = options
  const max = Math.max(1, Math.min(options.connections, Math.floor(maxOpenFiles() * FILES_SHARE)))
  const onLimit = throttle(options.onLimit)
  const { all, add } = createRegister((peer) => addresses.isProxy(peer))
  server.on('connection', (socket) => {
    paceWrites(socket)
    const { neighbours } = add(socket)
    const full = neighbours && neighbours.size > connectionsPerAddress ? neighbours : all.size > max ? all : undefined
    if (!full) return
    onLimit(full === all ? 'there are too many connections' : 'there are too many connections from one network')
    if (!evictOne(full, socket)) socket.destroy()
  })
  const { closeStalled, close } = watchUnsent(all, { ...options, onLimit })
  return { closeStalled, close }
}
