import type { OutgoingHttpHeaders } from 'node:http'
import type { SlotItem } from '../bag.ts'
import { Payload } from '../payload.ts'
import type { Pieces } from '../pieces.ts'
import type { Answer } from '../upstream/call.ts'
import { codes, errorText } from './jsonrpc.ts'

/** Where the answer to one request goes: an HTTP response of its own, or a part of something larger. */
export interface ResponseWriter extends SlotItem {
  readonly isStream: boolean
  /** True where nothing more can be said. */
  readonly isEnded: boolean
  /** Called once when it is over without a complete answer. */
  onAbort: (() => void) | null
  /** Sends the answer of an upstream under the caller's id. */
  sendAnswer(id: string, answer: Answer, status?: number): void
  /** `body` is JSON text. */
  sendResult(id: string, body: Buffer, headers?: OutgoingHttpHeaders): void
  /** A result whose text is in three parts, of which `entries` may be large and belongs to others. */
  sendList(id: string, before: string, entries: Buffer, after: string): void
  sendError(id: string, code: number, message: string, options?: { status?: number; data?: unknown }): void
  /** An answer of the HTTP layer. */
  sendHttpError(status: number, error: string, headers?: OutgoingHttpHeaders): void
  /** An answer without a body. */
  sendEmpty(status: number, headers?: OutgoingHttpHeaders): void
  /** A message before the answer. */
  sendMessage(text: string): void
  openStream(): void
  /** Nothing more is to be said. */
  close(): void
  /** Gives up where whom it answers may not ask any more. */
  revoke(isOver: (principal: string) => boolean): void
  /** Called by the heartbeat from time to time. */
  beat(now: number): void
}

const closing = Buffer.from('}')

/** Does the work and sends what it throws as the answer. */
export type RunHandler = (requestId: string, reply: ResponseWriter, work: () => Promise<void> | void) => void

/** What the answers to several requests share on their way to the client. */
export interface Channel {
  sendMessage(text: string): void
  /** The request is done; `answer` is its JSON-RPC answer, undefined where it gets none. */
  finish(part: ChannelWriter, answer: ChannelAnswer | undefined): void
}

/** A JSON-RPC answer in pieces that may belong to others. */
export interface ChannelAnswer {
  readonly pieces: Pieces
  /** The one among them that other answers hold as well. */
  readonly shared?: Buffer
}

/** Answers one of several requests on a channel, where HTTP's own words (status, headers) have no place. */
export class ChannelWriter implements ResponseWriter {
  slot = -1
  /** The channel keeps itself alive. */
  readonly isStream = false
  isEnded = false
  onAbort: (() => void) | null = null
  /** JSON text of the request's id. */
  readonly id: string
  private readonly channel: Channel

  constructor(channel: Channel, id: string) {
    this.channel = channel
    this.id = id
  }

  sendAnswer(id: string, { kind, body }: Answer): void {
    this.end({ pieces: [Buffer.from(`{"jsonrpc":"2.0","id":${id},"${kind}":`), ...body.pieces, closing] })
  }

  sendResult(id: string, body: Buffer): void {
    this.sendAnswer(id, { kind: 'result', body: Payload.ofBytes(body) })
  }

  sendList(id: string, before: string, entries: Buffer, after: string): void {
    const head = Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":${before}`)
    this.end({ pieces: [head, entries, Buffer.from(`${after}}`)], shared: entries })
  }

  sendError(id: string, code: number, message: string, options: { data?: unknown } = {}): void {
    this.endWith(errorText(id, code, message, options.data))
  }

  sendHttpError(_status: number, error: string): void {
    this.endWith(errorText(this.id, codes.internal, error))
  }

  sendEmpty(): void {
    this.end(undefined)
  }

  sendMessage(text: string): void {
    if (!this.isEnded) this.channel.sendMessage(text)
  }

  openStream(): void {}

  close(): void {
    this.end(undefined)
  }

  /** The client has gone: nothing can be said, and whoever works on the answer is told. */
  abort(): void {
    if (this.isEnded) return
    this.isEnded = true
    this.onAbort?.()
  }

  /** Its batch is given up as a whole, or its session with all calls. */
  revoke(): void {}

  beat(): void {}

  private endWith(text: string): void {
    this.end({ pieces: [Buffer.from(text)] })
  }

  private end(answer: ChannelAnswer | undefined): void {
    if (this.isEnded) return
    this.isEnded = true
    this.channel.finish(this, answer)
  }
}
