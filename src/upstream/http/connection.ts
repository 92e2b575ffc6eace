import { members, valueOf } from '../../json/json.ts'
import { createSlotSet } from '../../lib/slot-set.ts'
import type { Answer, Call, Sink } from '../transport/call.ts'
import type { Connection, Era, ServerGreeting, SessionRequestHandler } from '../transport/connection.ts'
import { cancelledParams, notificationText, responseText } from '../../protocol/jsonrpc-text.ts'
import { UpstreamFailure, connectionClosed } from '../../protocol/upstream-failure.ts'
import { type ExchangeHost, Exchange } from './exchange.ts'
import { createSessionStream, type SessionStream, type SessionStreamStats } from './session-stream.ts'
import { MAX_UNAWAITED_POSTS, UNAWAITED_POST_TIMEOUT_MS, type HttpPool } from './pool.ts'
import type { MemoryQuota } from '../transport/memory-quota.ts'
import type { ServerReads } from '../transport/read-scheduler.ts'
import type { MessageScreen } from '../transport/result-secrets.ts'
import {
  connectionHeaders,
  legacyBody,
  legacyHeaders,
  modernBody,
  modernHeaders,
  modernMeta,
  streamHeaders
} from './request.ts'
import { type NotificationStream, createNotificationStream } from './notification-stream.ts'

export interface HttpConnection extends Connection {
  /** True if the upstream issued an `Mcp-Session-Id`. */
  readonly hasSession: boolean
  /**
   * Legacy: opens the stream for messages that belong to no call (GET). Resolves with true once the stream is open,
   * with false if the upstream offers none (405); rejects with UpstreamFailure. `onEnd` is called once when an open
   * stream ends. The stream is closed with the connection.
   */
  openNotificationStream(sink: Sink, onEnd: () => void): Promise<boolean>
  /** Passes a progress notification that arrived outside its call's response to that call, which its token names. */
  receiveProgress(params: string): void
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
  readonly reads: ServerReads
  readonly connections: Set<HttpConnection>
  readonly streams: SessionStreamStats
  nextId(): string
}

export interface ConnectionOptions {
  readonly era: Era
  readonly greeting: ServerGreeting
  readonly session: string | null
}

/** Creates a connection after its handshake. Owns no socket: sockets belong to the pool. */
export const createConnection = (context: ClientContext, options: ConnectionOptions): HttpConnection =>
  new OpenConnection(context, options)

class OpenConnection implements HttpConnection {
  readonly era: Era
  readonly greeting: ServerGreeting
  readonly hasSession: boolean
  closed = false
  onClose: HttpConnection['onClose'] = null
  onNotification: HttpConnection['onNotification'] = null
  onRequest: SessionRequestHandler | null = null
  readonly #context: ClientContext
  readonly #isLegacy: boolean
  readonly #headers: string[]
  readonly #fixedMeta: string
  readonly #host: ExchangeHost
  readonly #exchanges = createSlotSet<Exchange>()
  readonly #watches = new Set<NotificationStream>()
  #sessionStream: SessionStream | null = null
  #posting = 0
  readonly #onPosted = () => void this.#posting--
  /**
   * Settles when the upstream has received all cancellations, which must precede the DELETE: a deleted session may let
   * its calls run on.
   */
  #cancelling: Promise<void> | undefined

  constructor(context: ClientContext, { era, greeting, session }: ConnectionOptions) {
    this.era = era
    this.greeting = greeting
    this.hasSession = session !== null
    this.#context = context
    this.#isLegacy = era === 'legacy'
    this.#headers = connectionHeaders(context.base, greeting.version, session)
    this.#fixedMeta = modernMeta(context.clientInfo)
    this.#host = this.#createHost()
    context.connections.add(this)
  }

  send(call: Call): Promise<Answer> {
    return this.#sessionStream
      ? this.#sendWithStream(call, this.#sessionStream)
      : new Promise<Answer>((resolve, reject) => this.#start(call, resolve, reject))
  }

  openSessionStream(isMultiClient: boolean): void {
    if (!this.#isLegacy || !this.hasSession) return
    this.#sessionStream ??= createSessionStream(this, isMultiClient, this.#context.streams)
  }

  notify(method: string, params: string): void {
    if (!this.#isLegacy || this.closed) return
    this.#post(notificationText(method, params), false)
  }

  openNotificationStream(sink: Sink, onEnd: () => void): Promise<boolean> {
    if (this.closed) return Promise.reject(connectionClosed())
    const { pool, hasCredential, maxBytes, memory, screen, onDropped, reads } = this.#context
    const watch = createNotificationStream({
      sink,
      maxEventBytes: maxBytes,
      memory,
      hasCredential,
      screen,
      reads,
      reply: this.#host.reply,
      onDropped,
      onEnd
    })
    this.#watches.add(watch)
    pool.stream(streamHeaders(this.#headers), watch.handler)
    return watch.opened
  }

  receiveProgress(params: string): void {
    const token = valueOf(params, members(params), 'progressToken')
    for (const exchange of this.#exchanges) {
      if (exchange.id === token) return exchange.receiveProgress(params)
    }
  }

  close(): void {
    if (this.closed) return
    for (const exchange of this.#exchanges) exchange.stop(connectionClosed())
    this.#end()
    if (this.hasSession) void this.#context.pool.background('DELETE', this.#headers, null, this.#cancelling)
  }

  #createHost(): ExchangeHost {
    const { pool, hasCredential, maxBytes, memory, screen, onDropped, reads } = this.#context
    return {
      isLegacy: this.#isLegacy,
      hasSession: this.hasSession,
      hasCredential,
      maxBytes,
      memory,
      screen,
      onDropped,
      reads,
      reply: (id, { kind, body }) => this.#post(responseText(id, kind, body.toString()), true),
      cancel: (id, reason) => this.#cancel(id, reason),
      resume: (exchange, lastEventId) => {
        pool.resume([...streamHeaders(this.#headers), 'last-event-id', lastEventId], exchange)
      },
      followRedirect: pool.followRedirect,
      resend: (call, resolve, reject) => this.#start(call, resolve, reject),
      onNotification: (method, params) => this.onNotification?.(method, params),
      onSessionLost: () => this.#end(),
      onSettled: (exchange, isOpen) => {
        this.#exchanges.delete(exchange)
        if (isOpen) pool.linger(exchange)
      },
      onEnded: (exchange) => pool.endRequest(exchange)
    }
  }

  #start(call: Call, resolve: (answer: Answer) => void, reject: (failure: UpstreamFailure) => void): void {
    const { pool } = this.#context
    if (call.stopped) return reject(call.stopped)
    if (this.closed) return reject(connectionClosed())
    if (pool.isFull)
      return reject(new UpstreamFailure('overloaded', 'too many requests are in progress', { maybeProcessed: false }))
    const { request, sink } = call
    const id = this.#context.nextId()
    const body = this.#isLegacy
      ? legacyBody(id, request, sink.wantsProgress)
      : modernBody(id, request, sink.wantsProgress, this.#fixedMeta, sink.capabilities, sink.logLevel)
    const exchange = new Exchange(this.#host, call, id, resolve, reject)
    this.#exchanges.add(exchange)
    const headers = this.#isLegacy ? legacyHeaders(this.#headers, request) : modernHeaders(this.#headers, request)
    pool.post(headers, body, exchange)
  }

  async #sendWithStream(call: Call, { add, delete: remove }: SessionStream): Promise<Answer> {
    try {
      await add(call)
      return await new Promise<Answer>((resolve, reject) => {
        // remove the call at once: a later message of the session, even in the same turn, does not belong to it
        const done = (answer: Answer) => {
          remove(call)
          resolve(answer)
        }
        this.#start(call, done, reject)
      })
    } finally {
      remove(call)
    }
  }

  /** Posts an answer or a notification. Answers may have waited for their turn while the session ended. */
  #post(body: string, isAnswer: boolean): void {
    if ((this.closed && !isAnswer) || this.#posting >= MAX_UNAWAITED_POSTS) return
    this.#posting++
    const options = { timeoutMs: UNAWAITED_POST_TIMEOUT_MS, isAnswer }
    const posted = this.#context.pool.message('POST', this.#headers, body, options)
    posted.then(this.#onPosted, this.#onPosted)
  }

  #cancel(id: string, reason: string): void {
    const body = notificationText('notifications/cancelled', cancelledParams(id, reason))
    const sent = this.#context.pool.background('POST', this.#headers, body)
    const before = this.#cancelling
    this.#cancelling = before ? before.then(() => sent) : sent
  }

  #end(): void {
    if (this.closed) return
    this.closed = true
    for (const watch of this.#watches) watch.close()
    this.#context.connections.delete(this)
    this.onClose?.()
  }
}
