import type { OutgoingHttpHeaders } from 'node:http'
import type { SlotItem } from '../../lib/slot-set.ts'
import { Payload } from '../../json/payload.ts'
import type { BufferList } from '../../json/buffer-list.ts'
import type { Answer } from '../../upstream/transport/call.ts'
import { codes } from '../../protocol/jsonrpc.ts'
import { errorText, RESPONSE_TAIL, responseHead } from '../../protocol/jsonrpc-text.ts'

/** Parts of an error response beside the JSON-RPC error. */
export interface ErrorOptions {
  readonly status?: number
  readonly data?: unknown
  /** Value of `WWW-Authenticate`, if the error is a whole HTTP response. */
  readonly challenge?: string | undefined
}

/** Writes the response to one request: a whole HTTP response, or one message on a shared channel. */
export interface ResponseWriter extends SlotItem {
  readonly isStream: boolean
  /** True if nothing more can be sent. */
  readonly isEnded: boolean
  /** Called once if the client disconnects or the stream is closed before the response is complete. */
  onAbort: (() => void) | null
  /** Sends an upstream's response under the caller's request id. */
  sendAnswer(id: string, answer: Answer, status?: number): void
  /** `body` is JSON text. */
  sendResult(id: string, body: Buffer, headers?: OutgoingHttpHeaders): void
  /** Sends a result in three parts, without copying `entries`, which may be large and shared. */
  sendList(id: string, before: string, entries: Buffer, after: string): void
  sendError(id: string, code: number, message: string, options?: ErrorOptions): void
  /** Sends an error of the HTTP layer. */
  sendHttpError(status: number, error: string, headers?: OutgoingHttpHeaders): void
  /** Sends a response without a body. */
  sendEmpty(status: number, headers?: OutgoingHttpHeaders): void
  /** Sends a message before the response. */
  sendMessage(text: string): void
  openStream(): void
  /** Ends the stream. */
  close(): void
  /** Ends the response if its principal's access was revoked. */
  endIfRevoked(isRevoked: (principal: string) => boolean): void
  /** Called periodically by the heartbeat. */
  beat(now: number): void
}

const closing = Buffer.from(RESPONSE_TAIL)

/** Runs `work` and sends the error if it throws or rejects. */
export type RunHandler = (requestId: string, reply: ResponseWriter, work: () => Promise<void> | void) => void

/** Carries the responses to several requests to the client. */
export interface Channel {
  sendMessage(text: string): void
  /** Called when a request is done; `answer` is its JSON-RPC response, undefined if there is none. */
  finish(writer: ChannelWriter, answer: ChannelAnswer | undefined): void
  /** Sends an error with a challenge as the response to the HTTP request; returns false if that has one already. */
  refuse?(error: string, status: number, challenge: string): boolean
}

/** A JSON-RPC response in buffers that may be shared. */
export interface ChannelAnswer {
  readonly pieces: BufferList
  /** The buffer among them that other responses share. */
  readonly shared?: Buffer
}

/** Writes one of several responses to a channel, which has no HTTP status or headers of its own. */
export class ChannelWriter implements ResponseWriter {
  slot = -1
  /** The channel sends its own keep-alives. */
  readonly isStream = false
  isEnded = false
  onAbort: (() => void) | null = null
  /** JSON text of the request's id. */
  readonly id: string
  readonly #channel: Channel

  constructor(channel: Channel, id: string) {
    this.#channel = channel
    this.id = id
  }

  sendAnswer(id: string, { kind, body }: Answer): void {
    this.#end({ pieces: [Buffer.from(responseHead(id, kind)), ...body.buffers, closing] })
  }

  sendResult(id: string, body: Buffer): void {
    this.sendAnswer(id, { kind: 'result', body: Payload.ofBytes(body) })
  }

  sendList(id: string, before: string, entries: Buffer, after: string): void {
    const head = Buffer.from(responseHead(id, 'result') + before)
    this.#end({ pieces: [head, entries, Buffer.from(after + RESPONSE_TAIL)], shared: entries })
  }

  sendError(id: string, code: number, message: string, options: ErrorOptions = {}): void {
    const { status = 200, data, challenge } = options
    const text = errorText(id, code, message, data)
    const isRefused = challenge !== undefined && !this.isEnded && this.#channel.refuse?.(text, status, challenge)
    if (isRefused) this.#end(undefined)
    else this.#endWith(text)
  }

  sendHttpError(_status: number, error: string): void {
    this.#endWith(errorText(this.id, codes.internal, error))
  }

  sendEmpty(): void {
    this.#end(undefined)
  }

  sendMessage(text: string): void {
    if (!this.isEnded) this.#channel.sendMessage(text)
  }

  openStream(): void {}

  close(): void {
    this.#end(undefined)
  }

  /** Ends the response because the client has disconnected, and notifies the handler. */
  abort(): void {
    if (this.isEnded) return
    this.isEnded = true
    this.onAbort?.()
  }

  /** Nothing to do: the whole batch or session is ended instead. */
  endIfRevoked(_isRevoked: (principal: string) => boolean): void {}

  beat(): void {}

  #endWith(text: string): void {
    this.#end({ pieces: [Buffer.from(text)] })
  }

  #end(answer: ChannelAnswer | undefined): void {
    if (this.isEnded) return
    this.isEnded = true
    this.#channel.finish(this, answer)
  }
}
