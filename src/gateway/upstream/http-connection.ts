import { createSlotSet } from '../bag.ts'
import type { Answer, Call, Sink } from './call.ts'
import type { Connection, Era, ServerGreeting } from './connection.ts'
import { UpstreamFailure } from './failure.ts'
import { type ExchangeHost, Exchange } from './http-exchange.ts'
import { createSessionStream, type SessionStream, type SessionStreamStats } from './hearing.ts'
import type { BatchScheduler } from '../later.ts'
import type { HttpPool } from './http-pool.ts'
import type { MemoryQuota } from './pending.ts'
import type { ServerReads } from './reading-turns.ts'
import type { MessageScreen } from './result-secrets.ts'
import {
  connectionHeaders,
  legacyBody,
  legacyHeaders,
  modernBody,
  modernHeaders,
  modernMeta,
  streamHeaders
} from './http-request.ts'
import { type NotificationStream, createNotificationStream } from './http-watch.ts'

export interface HttpConnection extends Connection {
  /** True if the upstream issued an `Mcp-Session-Id`. */
  readonly hasSession: boolean
  /**
   * Legacy: opens the stream for messages that belong to no call (GET). Resolves with true once the stream is open,
   * with false if the upstream offers none (405); rejects with UpstreamFailure. `onEnd` is called once when an open
   * stream ends. The stream is closed with the connection.
   */
  openNotificationStream(sink: Sink, onEnd: () => void): Promise<boolean>
}

/** State shared by all connections to one upstream. */
export interface ClientContext {
  readonly pool: HttpPool
  readonly base: readonly string[]
  readonly clientInfo: string
  readonly hasCredential: boolean
  readonly maxBytes: number
  readonly memory: MemoryQuota
  readonly screen: MessageScreen | null
  /** Called with the reason when a malformed message is dropped. */
  readonly onDropped: (why: string) => void
  readonly schedule: BatchScheduler
  readonly reads: ServerReads
  readonly connections: Set<HttpConnection>
  readonly streams: SessionStreamStats
  nextId(): string
}

const REPLY_TIMEOUT_MS = 10_000
/** Answers and notifications being posted; a server that sends requests faster than it accepts answers gets no more. */
const MAX_POSTING = 256
const closedFailure = () => new UpstreamFailure('cancelled', 'connection was closed', { maybeProcessed: false })

export interface ConnectionOptions {
  readonly era: Era
  readonly greeting: ServerGreeting
  readonly session: string | null
}

/** Creates a connection after its handshake. Owns no socket: sockets belong to the pool. */
export function createConnection(
  context: ClientContext,
  { era, greeting, session }: ConnectionOptions
): HttpConnection {
  const { pool, hasCredential, maxBytes, memory, screen, onDropped, schedule, reads } = context
  const isLegacy = era === 'legacy'
  const headers = connectionHeaders(context.base, greeting.version, session)
  const fixedMeta = modernMeta(context.clientInfo)
  const exchanges = createSlotSet<Exchange>()
  const watches = new Set<NotificationStream>()
  let closed = false
  /**
   * Settles when the upstream has received all cancellations, which must precede the DELETE: a deleted session may let
   * its calls run on.
   */
  let cancelling: Promise<void> | undefined
  let sessionStream: SessionStream | null = null

  let posting = 0
  const onPosted = () => void posting--
  const post = (body: string) => {
    if (posting >= MAX_POSTING) return
    posting++
    pool.message('POST', headers, body, { timeoutMs: REPLY_TIMEOUT_MS }).then(onPosted, onPosted)
  }
  const reply = (id: string, { kind, body }: Answer) =>
    post(`{"jsonrpc":"2.0","id":${id},"${kind}":${body.toString()}}`)
  const notify = (method: string, params: string) => {
    if (isLegacy && !closed)
      post(`{"jsonrpc":"2.0","method":${JSON.stringify(method)}${params && `,"params":${params}`}}`)
  }
  const end = () => {
    if (closed) return
    closed = true
    for (const watch of watches) watch.close()
    context.connections.delete(connection)
    connection.onClose?.()
  }

  const host: ExchangeHost = {
    isLegacy,
    hasSession: session !== null,
    hasCredential,
    maxBytes,
    memory,
    screen,
    onDropped: onDropped,
    schedule,
    reads,
    reply,
    cancel(id, reason) {
      const params = `{"requestId":${id},"reason":"${reason}"}`
      const body = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":${params}}`
      const sent = pool.background('POST', headers, body)
      const before = cancelling
      cancelling = before ? before.then(() => sent) : sent
    },
    resume: (exchange, lastEventId) => {
      pool.resume([...streamHeaders(headers), 'last-event-id', lastEventId], exchange)
    },
    followRedirect: pool.followRedirect,
    resend: (call, resolve, reject) => start(call, resolve, reject),
    onNotification: (method, params) => connection.onNotification?.(method, params),
    onSessionLost: end,
    onSettled(exchange, isOpen) {
      exchanges.delete(exchange)
      if (isOpen) pool.linger(exchange)
    },
    onEnded: (exchange) => pool.endRequest(exchange)
  }

  const start = (call: Call, resolve: (answer: Answer) => void, reject: (failure: UpstreamFailure) => void) => {
    if (call.stopped) return reject(call.stopped)
    if (closed) return reject(closedFailure())
    if (pool.isFull)
      return reject(new UpstreamFailure('overloaded', 'too many requests are under way', { maybeProcessed: false }))
    const { request, sink } = call
    const id = context.nextId()
    const body = isLegacy
      ? legacyBody(id, request, sink.wantsProgress)
      : modernBody(id, request, sink.wantsProgress, fixedMeta, sink.capabilities, sink.logLevel)
    const exchange = new Exchange(host, call, id, resolve, reject)
    exchanges.add(exchange)
    pool.post(isLegacy ? legacyHeaders(headers, request) : modernHeaders(headers, request), body, exchange)
  }

  const sendWithStream = async (call: Call, { add, delete: remove }: SessionStream): Promise<Answer> => {
    try {
      await add(call)
      return await new Promise<Answer>((resolve, reject) => {
        // remove the call at once: a later message of the session, even in the same turn, does not belong to it
        const done = (answer: Answer) => {
          remove(call)
          resolve(answer)
        }
        start(call, done, reject)
      })
    } finally {
      remove(call)
    }
  }

  const connection: HttpConnection = {
    era,
    greeting,
    hasSession: session !== null,
    get closed() {
      return closed
    },
    onClose: null,
    onNotification: null,
    onRequest: null,
    send: (call) =>
      sessionStream
        ? sendWithStream(call, sessionStream)
        : new Promise<Answer>((resolve, reject) => start(call, resolve, reject)),
    openSessionStream(isMixed) {
      if (isLegacy && session !== null) sessionStream ??= createSessionStream(connection, isMixed, context.streams)
    },
    notify,
    openNotificationStream(sink, onEnd) {
      if (closed) return Promise.reject(closedFailure())
      const watch = createNotificationStream({
        sink,
        maxEventBytes: maxBytes,
        memory,
        hasCredential,
        screen,
        schedule,
        reads,
        reply,
        onDropped,
        onEnd
      })
      watches.add(watch)
      pool.stream(streamHeaders(headers), watch.handler)
      return watch.opened
    },
    close() {
      if (closed) return
      for (const exchange of exchanges) exchange.stop(closedFailure())
      end()
      if (session !== null) void pool.background('DELETE', headers, null, cancelling)
    }
  }
  context.connections.add(connection)
  return connection
}
