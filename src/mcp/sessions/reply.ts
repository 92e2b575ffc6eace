import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Payload } from '../../json/payload.ts'
import { totalLength, type BufferList } from '../../json/buffer-list.ts'
import type { Answer } from '../../upstream/transport/call.ts'
import { errorText, RESPONSE_TAIL, responseHead } from '../../protocol/jsonrpc-text.ts'
import type { Heartbeat } from './heartbeat.ts'
import type { EventStore, StoredStream } from './event-store.ts'
import type { ErrorOptions, ResponseWriter } from './response-writer.ts'
import type { Session } from './client-sessions.ts'
import type { UnsentResponse, UnsentResponses } from './unsent-responses.ts'

/**
 * Set here instead of in the guard plugin: `writeHead` is much cheaper than `setHeader`, and MCP responses are the hot
 * path.
 */
const securityHeaders = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store'
} as const

const streamHeaders = {
  ...securityHeaders,
  'content-type': 'text/event-stream',
  'cache-control': 'no-store, no-cache, no-transform',
  'x-accel-buffering': 'no'
} as const

/**
 * Time without a response after which the reply becomes a stream, so that proxies keep the connection open
 * (mcp-proxy.md#json-or-event-stream).
 */
const STREAM_AFTER_MS = 10_000
const KEEP_ALIVE_MS = 15_000
/** Keep-alives are sent up to this much early, by slot, so that streams opened together do not all write at once. */
const KEEP_ALIVE_SPREAD_MS = 4_000
const KEEP_ALIVE_SPREAD_STEPS = 64
/** Below this size it is cheaper to send body and envelope as one string; at 8 kB it costs a quarter more. */
const SINGLE_WRITE_BYTES = 4_096

/** Size from which unread responses are counted, in bytes. */
const MIN_TRACKED_BYTES = 65_536

/** Replaces line breaks, which would end the event; valid JSON has them only between tokens. */
const toSingleLine = (text: string) => (/[\r\n]/.test(text) ? text.replace(/[\r\n]/g, ' ') : text)

const keepAliveOffset = (slot: number) =>
  ((slot % KEEP_ALIVE_SPREAD_STEPS) * KEEP_ALIVE_SPREAD_MS) / KEEP_ALIVE_SPREAD_STEPS
const uncork = (socket: Socket) => socket.uncork()

export interface HttpReplyOptions {
  readonly heartbeat: Heartbeat
  /** Key of the principal that receives the response. */
  readonly principal: string
  /** True if the client accepts an event stream as the response. */
  readonly acceptsStream: boolean
  /** Bytes buffered for a client that does not read, before its stream is closed. */
  readonly maxBufferedBytes: number
  /** Counts unread bytes. Absent: not counted. */
  readonly unsentResponses?: UnsentResponses
}

/**
 * The HTTP response to an MCP client: JSON, or an event stream if a message must be sent before the result
 * (mcp-proxy.md#json-or-event-stream).
 */
export class HttpReply implements ResponseWriter {
  slot = -1
  readonly #response: ServerResponse
  readonly #options: HttpReplyOptions
  readonly #createdAt = performance.now()
  #lastWrite = 0
  #storedStream: StoredStream | null = null
  #eventStore: EventStore | null = null
  #session: Session | null = null
  #unsentResponse: UnsentResponse | null = null
  isStream = false
  isEnded = false
  /** Called once if the client disconnects or the stream is closed before the response is complete. */
  onAbort: (() => void) | null = null

  constructor(response: ServerResponse, options: HttpReplyOptions) {
    this.#response = response
    this.#options = options
    response.on('close', () => this.#handleClose())
  }

  /** Makes the response resumable in the session if it becomes a stream (mcp-proxy.md#resumption). */
  enableResumption(eventStore: EventStore, session: Session): void {
    this.#eventStore = eventStore
    this.#session = session
  }

  /** Sends an upstream's response under the caller's request id. */
  sendAnswer(id: string, { kind, body }: Answer, status = 200): void {
    this.#sendEnvelope(responseHead(id, kind), body, RESPONSE_TAIL, status)
  }

  sendResult(id: string, body: Buffer, headers?: OutgoingHttpHeaders): void {
    this.#sendEnvelope(responseHead(id, 'result'), Payload.ofBytes(body), RESPONSE_TAIL, 200, headers)
  }

  sendList(id: string, before: string, entries: Buffer, after: string): void {
    this.trackShared(entries)
    this.#sendEnvelope(responseHead(id, 'result') + before, Payload.ofBytes(entries), after + RESPONSE_TAIL, 200)
  }

  sendError(id: string, code: number, message: string, options: ErrorOptions = {}): void {
    const { status = 200, data, challenge } = options
    const text = errorText(id, code, message, data)
    if (this.isStream) this.#sendLastEvent(text)
    else this.sendBody(Buffer.from(text), status, challenge === undefined ? {} : { 'www-authenticate': challenge })
  }

  /** Sends an error of the HTTP layer (mcp-proxy.md#error-bodies). */
  sendHttpError(status: number, error: string, headers?: OutgoingHttpHeaders): void {
    this.sendBody(Buffer.from(JSON.stringify({ error })), status, headers)
  }

  /** Sends a response without a body. */
  sendEmpty(status: number, headers?: OutgoingHttpHeaders): void {
    if (this.#markEnded())
      this.#response.writeHead(status, { ...securityHeaders, 'content-length': 0, ...headers }).end()
  }

  /** Sends a message before the response, or on a listening stream. Dropped if the client accepts no stream. */
  sendMessage(text: string): void {
    if (this.isEnded || !this.#options.acceptsStream) return
    this.openStream()
    this.#writeMessage(toSingleLine(text))
  }

  /** Starts the event stream, unless it has started. */
  openStream(headers?: OutgoingHttpHeaders): void {
    if (this.isStream || this.isEnded) return
    this.isStream = true
    this.#lastWrite = performance.now()
    this.#corkUntilNextTurn()
    this.#response.writeHead(200, { ...streamHeaders, ...headers }).flushHeaders()
    if (this.#session && this.#eventStore) this.#storedStream = this.#eventStore.open(this.#session, this)
  }

  /** Writes one event to the open stream. */
  writeEvent(line: string, id?: string): void {
    this.writeFrame(`${id === undefined ? '' : `id: ${id}\n`}event: message\ndata: ${line}\n\n`)
  }

  /** Ends this connection; the stored stream may continue on another one. */
  endConnection(): void {
    if (!this.#storedStream) this.#markEnded()
    this.#options.heartbeat.delete(this)
    this.#response.end()
  }

  /** Sets callbacks for a client that disconnects from a stored stream and resumes it. */
  setConnectionCallbacks(onDrop: (() => void) | null, onResume: (() => void) | null): void {
    if (this.#storedStream) Object.assign(this.#storedStream, { onDrop, onResume })
  }

  /** Ends the event stream. */
  close(): void {
    if (!this.#markEnded()) return
    this.#endStream()
    this.onAbort?.()
  }

  endIfRevoked(isRevoked: (principal: string) => boolean): void {
    if (!isRevoked(this.#options.principal)) return
    if (this.isStream) return this.close()
    const leave = this.onAbort
    this.sendHttpError(401, 'the access token is no longer valid', {
      'www-authenticate': 'Bearer error="invalid_token"'
    })
    leave?.()
  }

  beat(now: number): void {
    if (this.isEnded) return
    if (this.isStream && this.#unsentResponse) this.trackUnsent(this.#response.writableLength)
    if (!this.isStream && this.#options.acceptsStream && now - this.#createdAt >= STREAM_AFTER_MS) {
      this.openStream()
      this.writeFrame(': keep-alive\n\n')
    } else if (this.isStream && now - this.#lastWrite >= KEEP_ALIVE_MS - keepAliveOffset(this.slot)) {
      this.writeFrame(': keep-alive\n\n')
    }
  }

  /** Records the bytes that wait to be completed or read; small responses are not counted. */
  trackUnsent(bytes: number): void {
    if (bytes < MIN_TRACKED_BYTES && this.#unsentResponse === null) return
    this.#openUnsent()?.setBytes(bytes)
  }

  /** Records a part of the response that other responses share. */
  trackShared({ buffer, length }: Buffer): void {
    if (length >= MIN_TRACKED_BYTES) this.#openUnsent()?.addShared(buffer)
  }

  #openUnsent(): UnsentResponse | null {
    const { unsentResponses, principal } = this.#options
    if (!unsentResponses || this.#response.destroyed) return null
    return (this.#unsentResponse ??= unsentResponses.open(principal, () => this.#response.destroy()))
  }

  #handleClose(): void {
    this.#options.heartbeat.delete(this)
    this.#unsentResponse?.close()
    if (this.isEnded || (this.#storedStream && this.#eventStore?.detach(this.#storedStream, this))) return
    this.isEnded = true
    this.onAbort?.()
  }

  /** Marks the reply as ended; returns false if it already was. */
  #markEnded(): boolean {
    if (this.isEnded) return false
    this.isEnded = true
    this.#options.heartbeat.delete(this)
    return true
  }

  /** Checks the bytes buffered so far, not the new ones: a client that reads may get a message of any size. */
  writeFrame(text: string): void {
    if (this.#response.writableEnded) return
    if (this.#response.writableLength > this.#options.maxBufferedBytes) return void this.#response.destroy()
    this.#lastWrite = performance.now()
    this.#corkUntilNextTurn()
    this.#response.write(text)
    this.trackUnsent(this.#response.writableLength)
  }

  /**
   * Corks the socket, so that all writes of one event-loop turn are sent together. The socket is corked, not the
   * response: newer versions of Node report a corked response as finished before its bytes are written.
   */
  #corkUntilNextTurn(): void {
    const { socket } = this.#response
    if (!socket || socket.writableCorked > 0) return
    socket.cork()
    setImmediate(uncork, socket)
  }

  #sendEnvelope(head: string, body: Payload, tail: string, status: number, headers?: OutgoingHttpHeaders): void {
    if (this.isStream) return this.#sendLastEvent(`${head}${body.toString()}${tail}`)
    if (!this.#markEnded()) return
    const around = Buffer.byteLength(head) + Buffer.byteLength(tail)
    this.#writeHead(status, around + body.length, headers)
    const isAscii = around === head.length + tail.length
    if (isAscii && (body.hasLatin1 ? !body.isLarge : body.length < SINGLE_WRITE_BYTES)) {
      return void this.#response.end(`${head}${body.latin1}${tail}`, 'latin1')
    }
    if (!this.#unsentResponse) this.trackUnsent(body.length)
    // written separately: joining would copy the body, half the cost of a list of 1,000 tools
    this.#response.write(head)
    for (const piece of body.buffers) this.#response.write(piece)
    this.#response.end(tail)
  }

  /** Sends a complete response from buffers, without copying. */
  sendPieces(pieces: BufferList): void {
    if (!this.#markEnded()) return
    this.#writeHead(200, totalLength(pieces))
    for (const piece of pieces) this.#response.write(piece)
    this.#response.end()
  }

  /** Sends a complete response; JSON unless the headers say otherwise. */
  sendBody(body: Buffer, status: number, headers?: OutgoingHttpHeaders): void {
    if (!this.#markEnded()) return
    this.#writeHead(status, body.length, headers)
    this.#response.end(body)
  }

  #writeHead(status: number, length: number, headers?: OutgoingHttpHeaders): void {
    const { 'x-content-type-options': sniff, 'referrer-policy': referrer, 'cache-control': cache } = securityHeaders
    const own = {
      'content-type': 'application/json',
      'content-length': length,
      'x-content-type-options': sniff,
      'referrer-policy': referrer,
      'cache-control': cache
    }
    this.#response.writeHead(status, headers ? { ...own, ...headers } : own)
  }

  #sendLastEvent(text: string): void {
    if (this.isEnded) return
    this.#writeMessage(toSingleLine(text))
    if (this.#markEnded()) this.#endStream()
  }

  #writeMessage(line: string): void {
    if (this.#storedStream) this.#eventStore?.add(this.#storedStream, line)
    else this.writeEvent(line)
  }

  #endStream(): void {
    if (this.#storedStream) this.#eventStore?.end(this.#storedStream)
    else this.#response.end()
  }
}
