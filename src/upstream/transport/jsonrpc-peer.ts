import { META, MODERN_VERSION } from '../../domain/mcp-constants.ts'
import { type BufferList, readJoined } from '../../json/buffer-list.ts'
import { JsonError, members, withMembers } from '../../json/json.ts'
import { isCustomNotification } from '../../protocol/notifications.ts'
import { InboundRequests, isBroadcast, type InboundRequestHandler } from './inbound-requests.ts'
import { methodNotFound, type Answer, type Call, logLevelMember } from './call.ts'
import { SharedClock } from './shared-clock.ts'
import type { SessionRequestHandler } from './connection.ts'
import { UpstreamFailure } from '../../protocol/upstream-failure.ts'
import {
  addressOf,
  checkSteps,
  keptPieces,
  listAnswerSteps,
  type Message,
  messageSteps,
  refusableId,
  toFailure,
  uncheckedList
} from './message.ts'
import type { MemoryQuota } from './memory-quota.ts'
import { cancelledParams, notificationText, requestText, responseText } from '../../protocol/jsonrpc-text.ts'
import type { MessageScreen } from './result-secrets.ts'

export interface JsonRpcPeerOptions {
  /** Quota for the memory of the server's answers and requests. Default: unlimited. */
  readonly memory?: MemoryQuota | undefined
  /**
   * Sends one message (one line of JSON without line end). If a request cannot be delivered, now or later, `refuse`
   * fails that request only; other messages have none and are dropped. `isAnswer`: the message answers a request of the
   * server.
   */
  readonly write: (text: string, refuse?: (failure: UpstreamFailure) => void, isAnswer?: boolean) => void
  /**
   * JSON text of the gateway's `clientInfo`. Set only on a modern connection, whose requests carry the modern envelope.
   */
  readonly modernClientInfo?: string
  /** Receives notifications that belong to no call. `params` is JSON text, `{}` if there were none. */
  readonly onNotification: (method: string, params: string) => void
  /**
   * Returns the handler of the server's requests, which never name their call; null: the oldest call answers them, or
   * error -32601 if there is none.
   */
  readonly onRequest: () => SessionRequestHandler | null
  /** Searches each received message for secrets. Default: no search. */
  readonly screen?: MessageScreen | null | undefined
  /** True if the calls are of several callers: notifications and requests that name no call are refused. */
  readonly isShared?: boolean | undefined
}

/** One JSON-RPC peer behind a pipe or stream that many calls share. */
export interface JsonRpcPeer {
  /** Number of requests in flight. */
  readonly pendingCount: number
  /** Sends a request. Rejects with the UpstreamFailure of `call.stop`, `fail` or `refuse`, or with `bad_response`. */
  send(call: Call): Promise<Answer>
  /** Sends a notification. `params` is JSON text with braces, or empty. */
  notify(method: string, params: string): void
  /**
   * Handles one message as UTF-8 bytes, which must not change afterwards; a large one in steps. Returns false if it is
   * not a JSON-RPC message.
   */
  receive(pieces: BufferList): Generator<void, boolean>
  /** Ends the conversation: rejects requests in flight and all later ones. */
  fail(failure: UpstreamFailure): void
}

interface PendingCall {
  readonly call: Call
  readonly resolve: (answer: Answer) => void
  readonly reject: (failure: UpstreamFailure) => void
}

/** Requests of one upstream that wait for an answer; further ones are refused. */
const MAX_SERVER_REQUESTS = 100

/** Multiplexes calls over one connection, for stdio and SSE. Request ids are counted per connection. */
export const createJsonRpcPeer = (options: JsonRpcPeerOptions): JsonRpcPeer => new CallMultiplexer(options)

class CallMultiplexer implements JsonRpcPeer {
  readonly #options: JsonRpcPeerOptions
  readonly #pending = new Map<number, PendingCall>()
  /** Start of the modern envelope up to the client capabilities; undefined on a legacy connection. */
  readonly #envelope: string | undefined
  readonly #inbound: InboundRequests
  readonly #clock = new SharedClock(() => this.#underway())
  #lastId = 0
  #endedWith: UpstreamFailure | null = null

  constructor(options: JsonRpcPeerOptions) {
    const { modernClientInfo, memory } = options
    this.#options = options
    if (modernClientInfo !== undefined)
      this.#envelope =
        `"${META}protocolVersion":"${MODERN_VERSION}",` +
        `"${META}clientInfo":${modernClientInfo},"${META}clientCapabilities":`
    this.#inbound = new InboundRequests(MAX_SERVER_REQUESTS, (id, answer) => this.#reply(id, answer), memory)
  }

  get pendingCount(): number {
    return this.#pending.size
  }

  send(call: Call): Promise<Answer> {
    if (call.stopped) return Promise.reject(call.stopped)
    const endedWith = this.#endedWith
    if (endedWith)
      return Promise.reject(
        new UpstreamFailure(endedWith.reason, endedWith.message, { maybeProcessed: false, cause: endedWith })
      )
    const id = ++this.#lastId
    return new Promise<Answer>((resolve, reject) => {
      this.#pending.set(id, { call, resolve, reject })
      this.#clock.add(call)
      call.onStop = (failure) => this.#stop(id, failure)
      this.#options.write(this.#requestText(id, call), (failure) => this.#settle(id)?.reject(failure))
    })
  }

  notify(method: string, params: string): void {
    if (this.#endedWith) return
    this.#options.write(notificationText(method, params))
  }

  receive(pieces: BufferList): Generator<void, boolean> {
    return readJoined(pieces, (received) => this.#receiveJoined(received, pieces))
  }

  *#receiveJoined(received: Buffer, pieces: BufferList): Generator<void, boolean> {
    const { screen } = this.#options
    try {
      const check = yield* checkSteps(received)
      const bytes = screen ? screen(received) : received
      const message = bytes && (yield* messageSteps(bytes, check, keptPieces(pieces, received, bytes, check)))
      if (message && !this.#endedWith) this.#handle(message)
      return true
    } catch (error) {
      if (!(error instanceof JsonError || error instanceof UpstreamFailure)) throw error
      return yield* this.#malformedSteps(received, pieces, error)
    }
  }

  fail(failure: UpstreamFailure): void {
    this.#endedWith ??= failure
    this.#inbound.clear()
    for (const id of [...this.#pending.keys()]) this.#settle(id)?.reject(failure)
  }

  #requestText(id: number, { request, sink }: Call): string {
    const hop = sink.wantsProgress ? [`"progressToken":${id}`] : []
    if (this.#envelope !== undefined) hop.push(this.#envelope + sink.capabilities + logLevelMember(sink.logLevel))
    if (request.meta) hop.push(request.meta)
    const meta = hop.length > 0 ? `"_meta":{${hop.join(',')}}` : ''
    const params = request.members && meta ? `${request.members},${meta}` : request.members || meta
    return requestText(id, request.method, params && `{${params}}`)
  }

  #stop(id: number, failure: UpstreamFailure): void {
    const entry = this.#settle(id)
    if (!entry) return
    // `initialize` is the only request that must not be cancelled (mcp-proxy.md#cancellation-and-disconnect)
    if (entry.call.request.method !== 'initialize') {
      this.notify('notifications/cancelled', cancelledParams(id, failure.message))
    }
    entry.reject(failure)
  }

  #settle(id: number): PendingCall | undefined {
    const entry = this.#pending.get(id)
    if (!entry) return undefined
    this.#pending.delete(id)
    this.#clock.remove(entry.call)
    entry.call.onStop = null
    return entry
  }

  #underway(): Call[] {
    return [...this.#pending.values()].map(({ call }) => call)
  }

  #oldestCall(): Call | undefined {
    return this.#pending.values().next().value?.call
  }

  #handle(message: Message): void {
    if (message.kind === 'answer') this.#settle(Number(message.id))?.resolve(message.answer)
    else if (message.kind === 'notification') this.#handleNotification(message.method, message.params)
    else void this.#inbound.handle(message.id, message.method, message.params, this.#answerRequest)
  }

  #handleNotification(method: string, params: string): void {
    if (method === 'notifications/progress') return this.#handleProgress(params)
    if (method === 'notifications/cancelled') return this.#inbound.cancel(params)
    if (this.#options.isShared && !isBroadcast(method)) return
    const call = isBroadcast(method) ? undefined : this.#oldestCall()
    // with calls of several clients in flight, the recipient is unknown
    if (call && isCustomNotification(method) && this.#pending.size > 1 && !this.#options.onRequest()) return
    if (call) call.sink.notify(method, params)
    else this.#options.onNotification(method, params)
  }

  #handleProgress(params: string): void {
    const found = members(params)
    const token = found.find(({ key }) => key === 'progressToken')
    const call = token && this.#pending.get(Number(params.slice(token.start, token.end)))?.call
    if (!call?.sink.wantsProgress) return
    call.extendIdleDeadline(performance.now())
    call.sink.notify('notifications/progress', withMembers(params, { progressToken: null }, found))
  }

  readonly #answerRequest: InboundRequestHandler = async (method, params, request) => {
    if (this.#options.isShared) return methodNotFound
    const handler = this.#options.onRequest()
    if (handler) return this.#clock.pauseDuring(handler(method, params, request, this.#underway()))
    return this.#oldestCall()?.sink.request(method, params, request) ?? methodNotFound
  }

  #reply(id: string, { kind, body }: Answer): void {
    if (this.#endedWith) return
    this.#options.write(responseText(id, kind, body.toString()), undefined, true)
  }

  /** Returns false if nobody can use the message. */
  *#malformedSteps(bytes: Buffer, pieces: BufferList, error: unknown): Generator<void, boolean> {
    const address = addressOf(bytes)
    const id = address?.kind === 'answer' ? Number(address.id) : NaN
    const isList = this.#pending.get(id)?.call.request.method.endsWith('/list')
    const screened = this.#options.screen?.(bytes) ?? bytes
    const kept = keptPieces(pieces, bytes, screened, uncheckedList)
    const listAnswer = isList ? yield* listAnswerSteps(screened, kept) : undefined
    const entry = this.#settle(id)
    if (entry) {
      if (listAnswer) entry.resolve(listAnswer.answer)
      else entry.reject(toFailure(error))
      return true
    }
    const requestId = address?.kind === 'request' ? refusableId(address.id) : undefined
    if (requestId !== undefined) this.#inbound.refuse(requestId)
    return false
  }
}
