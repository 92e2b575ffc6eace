import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Payload } from '../payload.ts'
import { lengthOf, type Pieces } from '../pieces.ts'
import type { Answer } from '../upstream/call.ts'
import { errorText } from './jsonrpc.ts'
import type { Heartbeat } from './heartbeat.ts'
import type { EventStore, StoredStream } from './replay.ts'
import type { ResponseWriter } from './responder.ts'
import type { Session } from './session.ts'
import type { UnsentResponse, UnsentResponses } from './unsent.ts'

/**
 * Said here and not by the guard: a header in `writeHead` costs a fraction of one by `setHeader`, and MCP answers are
 * the hot path.
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
 * After this long without an answer the reply becomes a stream, so that proxies do not cut it
 * (mcp-proxy.md#json-or-event-stream).
 */
const STREAM_AFTER_MS = 10_000
const KEEP_ALIVE_MS = 15_000
/** Streams that were opened together do not all speak in the same second: some are this much earlier each time. */
const KEEP_ALIVE_SPREAD_MS = 4_000
const KEEP_ALIVE_SPREAD_STEPS = 64
/** Below this size bytes are sent for less as one string with what stands around them (8 kB: for a quarter more). */
const SINGLE_WRITE_BYTES = 4_096

/** Answers from this size on are counted while nobody reads them. */
const MIN_TRACKED_BYTES = 65_536

/** White space between tokens may be a line break, which would end an event; inside JSON strings none can stand. */
const toSingleLine = (text: string) => (/[\r\n]/.test(text) ? text.replace(/[\r\n]/g, ' ') : text)

const keepAliveOffset = (slot: number) =>
  ((slot % KEEP_ALIVE_SPREAD_STEPS) * KEEP_ALIVE_SPREAD_MS) / KEEP_ALIVE_SPREAD_STEPS
const uncork = (socket: Socket) => socket.uncork()

export interface HttpReplyOptions {
  readonly heartbeat: Heartbeat
  /** Whom it answers. */
  readonly principal: string
  /** Whether the client can read an event stream as the answer to this request. */
  readonly acceptsStream: boolean
  /** Bytes that may wait for a client that does not read, before its stream is ended. */
  readonly maxBufferedBytes: number
  /** Counts what its client does not read. Absent: nobody does. */
  readonly unsent?: UnsentResponses
}

/**
 * The answer to one HTTP request of an MCP client: JSON, unless something has to be said before the result; then an
 * event stream (mcp-proxy.md#json-or-event-stream).
 */
export class HttpReply implements ResponseWriter {
  slot = -1
  private readonly response: ServerResponse
  private readonly options: HttpReplyOptions
  private readonly createdAt = performance.now()
  private lastWrite = 0
  private storedStream: StoredStream | null = null
  private replays: EventStore | null = null
  private session: Session | null = null
  private unsentResponse: UnsentResponse | null = null
  isStream = false
  isEnded = false
  /** Called once when the reply is over without a complete answer: the client has gone, or its stream was closed here. */
  onAbort: (() => void) | null = null

  constructor(response: ServerResponse, options: HttpReplyOptions) {
    this.response = response
    this.options = options
    response.on('close', () => this.handleClose())
  }

  /** If this becomes a stream it can be resumed by the session (mcp-proxy.md#resumption). */
  enableResumption(replays: EventStore, session: Session): void {
    this.replays = replays
    this.session = session
  }

  /** Sends the answer of an upstream under the caller's id. */
  sendAnswer(id: string, { kind, body }: Answer, status = 200): void {
    this.sendEnvelope(`{"jsonrpc":"2.0","id":${id},"${kind}":`, body, '}', status)
  }

  sendResult(id: string, body: Buffer, headers?: OutgoingHttpHeaders): void {
    this.sendEnvelope(`{"jsonrpc":"2.0","id":${id},"result":`, Payload.ofBytes(body), '}', 200, headers)
  }

  sendList(id: string, before: string, entries: Buffer, after: string): void {
    this.trackShared(entries)
    this.sendEnvelope(`{"jsonrpc":"2.0","id":${id},"result":${before}`, Payload.ofBytes(entries), `${after}}`, 200)
  }

  sendError(id: string, code: number, message: string, options: { status?: number; data?: unknown } = {}): void {
    const text = errorText(id, code, message, options.data)
    if (this.isStream) this.sendLastEvent(text)
    else this.sendBody(Buffer.from(text), options.status ?? 200)
  }

  /** An answer of the HTTP layer (mcp-proxy.md#error-bodies). */
  sendHttpError(status: number, error: string, headers?: OutgoingHttpHeaders): void {
    this.sendBody(Buffer.from(JSON.stringify({ error })), status, headers)
  }

  /** An answer without a body. */
  sendEmpty(status: number, headers?: OutgoingHttpHeaders): void {
    if (this.markEnded()) this.response.writeHead(status, { ...securityHeaders, 'content-length': 0, ...headers }).end()
  }

  /** A message before the answer, or on a stream of its own. Dropped where the client takes no stream. */
  sendMessage(text: string): void {
    if (this.isEnded || !this.options.acceptsStream) return
    this.openStream()
    this.writeMessage(toSingleLine(text))
  }

  /** Begins the event stream. Does nothing where it has begun. */
  openStream(headers?: OutgoingHttpHeaders): void {
    if (this.isStream || this.isEnded) return
    this.isStream = true
    this.lastWrite = performance.now()
    this.corkUntilNextTurn()
    this.response.writeHead(200, { ...streamHeaders, ...headers }).flushHeaders()
    if (this.session && this.replays) this.storedStream = this.replays.open(this.session, this)
  }

  /** One message, on a stream that has begun. */
  writeEvent(line: string, id?: string): void {
    this.writeFrame(`${id === undefined ? '' : `id: ${id}\n`}event: message\ndata: ${line}\n\n`)
  }

  /** Ends the connection, though the stream may go on on another. */
  endConnection(): void {
    if (!this.storedStream) this.markEnded()
    this.options.heartbeat.delete(this)
    this.response.end()
  }

  /** What happens to a stream of a session whose client has gone or comes back. */
  setConnectionCallbacks(onDrop: () => void, onResume: () => void): void {
    if (this.storedStream) Object.assign(this.storedStream, { onDrop, onResume })
  }

  /** Ends an event stream that has nothing more to say. */
  close(): void {
    if (!this.markEnded()) return
    this.endStream()
    this.onAbort?.()
  }

  revoke(isOver: (principal: string) => boolean): void {
    if (!isOver(this.options.principal)) return
    if (this.isStream) return this.close()
    const leave = this.onAbort
    this.sendHttpError(401, 'the access token is not valid any more', {
      'www-authenticate': 'Bearer error="invalid_token"'
    })
    leave?.()
  }

  beat(now: number): void {
    if (this.isEnded) return
    if (this.isStream && this.unsentResponse) this.trackUnsent(this.response.writableLength)
    if (!this.isStream && this.options.acceptsStream && now - this.createdAt >= STREAM_AFTER_MS) {
      this.openStream()
      this.writeFrame(': keep-alive\n\n')
    } else if (this.isStream && now - this.lastWrite >= KEEP_ALIVE_MS - keepAliveOffset(this.slot)) {
      this.writeFrame(': keep-alive\n\n')
    }
  }

  /** What waits for this answer to be complete or to be read, in bytes; little is not counted. */
  trackUnsent(bytes: number): void {
    if (bytes < MIN_TRACKED_BYTES && this.unsentResponse === null) return
    this.openUnsent()?.setBytes(bytes)
  }

  /** A part of the answer that other answers hold as well. */
  trackShared({ buffer, length }: Buffer): void {
    if (length >= MIN_TRACKED_BYTES) this.openUnsent()?.addShared(buffer)
  }

  private openUnsent(): UnsentResponse | null {
    const { unsent, principal } = this.options
    if (!unsent || this.response.destroyed) return null
    return (this.unsentResponse ??= unsent.open(principal, () => this.response.destroy()))
  }

  private handleClose(): void {
    this.options.heartbeat.delete(this)
    this.unsentResponse?.close()
    if (this.isEnded || (this.storedStream && this.replays?.drop(this.storedStream, this))) return
    this.isEnded = true
    this.onAbort?.()
  }

  /** False where the reply has ended before. */
  private markEnded(): boolean {
    if (this.isEnded) return false
    this.isEnded = true
    this.options.heartbeat.delete(this)
    return true
  }

  /** What waits is looked at first: one message of any size may go to a client that reads. */
  writeFrame(text: string): void {
    if (this.response.writableEnded) return
    if (this.response.writableLength > this.options.maxBufferedBytes) return void this.response.destroy()
    this.lastWrite = performance.now()
    this.corkUntilNextTurn()
    this.response.write(text)
    this.trackUnsent(this.response.writableLength)
  }

  /**
   * What is said in one turn of the event loop goes out together: each write costs as much as all that is in it. The socket
   * holds it, not the response: one that is ended so says in newer versions of Node that it is over before what it holds.
   */
  private corkUntilNextTurn(): void {
    const { socket } = this.response
    if (!socket || socket.writableCorked > 0) return
    socket.cork()
    setImmediate(uncork, socket)
  }

  private sendEnvelope(head: string, body: Payload, tail: string, status: number, headers?: OutgoingHttpHeaders): void {
    if (this.isStream) return this.sendLastEvent(`${head}${body.toString()}${tail}`)
    if (!this.markEnded()) return
    const around = Buffer.byteLength(head) + Buffer.byteLength(tail)
    this.writeHead(status, around + body.length, headers)
    const isAscii = around === head.length + tail.length
    if (isAscii && (body.isText ? !body.isLarge : body.length < SINGLE_WRITE_BYTES)) {
      return void this.response.end(`${head}${body.latin1}${tail}`, 'latin1')
    }
    if (!this.unsentResponse) this.trackUnsent(body.length)
    // put together they would be copied: half of what a list of 1,000 tools costs
    this.response.write(head)
    for (const piece of body.pieces) this.response.write(piece)
    this.response.end(tail)
  }

  /** A whole answer whose parts are sent as they are, uncopied. */
  sendPieces(pieces: Pieces): void {
    if (!this.markEnded()) return
    this.writeHead(200, lengthOf(pieces))
    for (const piece of pieces) this.response.write(piece)
    this.response.end()
  }

  /** The whole answer; JSON unless the headers say otherwise. */
  sendBody(body: Buffer, status: number, headers?: OutgoingHttpHeaders): void {
    if (!this.markEnded()) return
    this.writeHead(status, body.length, headers)
    this.response.end(body)
  }

  private writeHead(status: number, length: number, headers?: OutgoingHttpHeaders): void {
    const { 'x-content-type-options': sniff, 'referrer-policy': referrer, 'cache-control': cache } = securityHeaders
    const own = {
      'content-type': 'application/json',
      'content-length': length,
      'x-content-type-options': sniff,
      'referrer-policy': referrer,
      'cache-control': cache
    }
    this.response.writeHead(status, headers ? { ...own, ...headers } : own)
  }

  private sendLastEvent(text: string): void {
    if (this.isEnded) return
    this.writeMessage(toSingleLine(text))
    if (this.markEnded()) this.endStream()
  }

  private writeMessage(line: string): void {
    if (this.storedStream) this.replays?.add(this.storedStream, line)
    else this.writeEvent(line)
  }

  private endStream(): void {
    if (this.storedStream) this.replays?.end(this.storedStream)
    else this.response.end()
  }
}
