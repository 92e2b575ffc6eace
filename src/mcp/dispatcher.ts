import type { CurrentScopes } from '../catalog/scope.ts'
import { decode, isBatch, readMessage, type Message } from '../protocol/jsonrpc.ts'
import { openBatch, readBatch, type InboundLimits } from './batches/batch.ts'
import { dispatchBatchMessages } from './batches/batch-dispatch.ts'
import { checkAcceptsBoth, findSession, type HttpContext } from './http-context.ts'
import type { LegacyMessages } from './legacy.ts'
import type { ClientInfoCache } from './messages/client-info.ts'
import { classify, header } from './messages/era.ts'
import { decodeInSteps, isLargeBody, nextStep } from './messages/large-bodies.ts'
import { checkLengths } from './messages/lengths.ts'
import type { ModernRequests } from './modern.ts'
import type { ClientSessions } from './sessions/client-sessions.ts'
import type { EventStore } from './sessions/event-store.ts'
import type { Heartbeat } from './sessions/heartbeat.ts'
import { HttpReply } from './sessions/reply.ts'
import type { RequestContext } from './sessions/request-context.ts'
import type { ResponseWriter, RunHandler } from './sessions/response-writer.ts'

export interface DispatcherOptions {
  readonly sessions: Pick<ClientSessions, 'find'>
  readonly scopes: Pick<CurrentScopes, 'scope'>
  readonly clientInfoCache: Pick<ClientInfoCache, 'capabilities'>
  readonly eventStore: EventStore
  readonly heartbeat: Heartbeat
  readonly legacy: LegacyMessages
  readonly modern: ModernRequests
  readonly limits: InboundLimits
  /** Limit of bytes buffered for the responses of one batch. */
  readonly maxBatchBytes: number
  readonly run: RunHandler
}

/** Reads posted messages and dispatches each to the handlers of its era. Methods throw ProtocolError. */
export class Dispatcher {
  readonly #options: DispatcherOptions

  constructor(options: DispatcherOptions) {
    this.#options = options
  }

  post(http: HttpContext, reply: HttpReply, body: Buffer): Promise<void> | void {
    if (isLargeBody(body)) return this.#postLarge(http, reply, body)
    const text = decode(body)
    if (isBatch(text)) return this.#dispatchBatch(http, reply, text)
    return this.#dispatch(http, reply, readMessage(text, this.#options.limits))
  }

  async #postLarge(http: HttpContext, reply: HttpReply, body: Buffer): Promise<void> {
    const [text, limits] = await decodeInSteps(body, this.#options.limits)
    if (reply.isEnded) return
    if (isBatch(text)) return this.#dispatchBatch(http, reply, text, limits)
    const message = readMessage(text, limits)
    await nextStep()
    if (!reply.isEnded) return this.#dispatch(http, reply, message)
  }

  /** Returns true if the body contains no request; a malformed body counts as a request. */
  startsNoWork(body: Buffer): boolean {
    const { limits } = this.#options
    try {
      const text = decode(body)
      const messages = isBatch(text) ? readBatch(text, undefined, limits) : [readMessage(text, limits)]
      return messages.every(({ kind }) => kind !== 'request')
    } catch {
      return false
    }
  }

  #dispatch(http: HttpContext, reply: ResponseWriter, message: Message): Promise<void> | void {
    const { legacy, modern } = this.#options
    const context = this.#createRequestContext(http, reply, message)
    if (context.era === 'modern') {
      return message.kind === 'request' ? modern.request(context, http) : reply.sendEmpty(202)
    }
    if (message.kind !== 'request') return legacy.notification(context)
    checkAcceptsBoth(http, message.id)
    return legacy.request(context)
  }

  #createRequestContext(http: HttpContext, reply: ResponseWriter, message: Message): RequestContext {
    const { limits, sessions, clientInfoCache, eventStore, scopes } = this.#options
    checkLengths(message, limits.identifierBytes)
    const { headers, caller, endpoint, requestId, address } = http
    const era = classify(headers, message)
    const session = era === 'legacy' ? findSession(sessions, http, message.id) : undefined
    const declared = era === 'modern' ? clientInfoCache.capabilities(message) : undefined
    if (session && reply instanceof HttpReply) reply.enableResumption(eventStore, session)
    const scope = scopes.scope(caller, endpoint)
    return {
      era,
      message,
      headers,
      reply,
      caller,
      endpoint,
      requestId,
      address,
      scope,
      session,
      capabilities: declared?.text ?? session?.capabilities ?? '{}',
      taskCapabilities: declared?.withTasks,
      observation: null
    }
  }

  async #dispatchBatch(
    http: HttpContext,
    reply: HttpReply,
    text: string,
    limits = this.#options.limits
  ): Promise<void> {
    const { sessions, eventStore, run } = this.#options
    const session = findSession(sessions, http)
    const version = session?.version ?? header(http.headers, 'mcp-protocol-version')
    const messages = readBatch(text, version, limits)
    if (session) reply.enableResumption(eventStore, session)
    if (messages.some(({ kind }) => kind === 'request')) checkAcceptsBoth(http)
    const writers = openBatch(messages, reply, this.#options)
    await dispatchBatchMessages(messages, writers, session, (message, writer) =>
      run(http.requestId, writer, () => this.#dispatch(http, writer, message))
    )
  }
}
