import { isLogLevel } from '../../domain/log-levels.ts'
import { META } from '../../domain/mcp-constants.ts'
import type { CatalogServer } from '../../catalog/catalog.ts'
import { RateLimiter } from '../../protocol/notifications.ts'
import {
  methodNotFound,
  type Answer,
  type InboundRequest,
  type Call,
  type Sink
} from '../../upstream/transport/call.ts'
import { canRequest } from '../messages/capabilities.ts'
import { capabilitiesFor } from '../tasks/declaration.ts'
import { customMessage } from '../messages/custom-message.ts'
import type { Elicitations } from './elicitations.ts'
import { attributeRequest, needsAttribution } from '../messages/server-attribution.ts'
import { notificationText } from '../../protocol/jsonrpc-text.ts'
import { logMessage } from '../messages/log-message.ts'
import { createServerRequests, type ServerRequest } from '../sessions/server-requests.ts'
import type { RequestContext } from '../sessions/request-context.ts'
import type { ResponseWriter } from '../sessions/response-writer.ts'

const LOG_LEVEL = `${META}logLevel`

/** A notification stored until its caller returns. */
interface StoredNotification {
  readonly method: string
  readonly params: string
}

/** Limits per caller: a thousand calls may be parked at a time. */
const MAX_STORED = 100
const MAX_STORED_CHARACTERS = 16_384

/** Relays an upstream's request to a modern caller, which receives it in an `input_required` result. */
export interface InputRequester {
  requestInput(method: string, params: string, inbound: InboundRequest): Promise<Answer>
}

/**
 * Receives everything an upstream sends before a call's response: progress, log messages, custom notifications and
 * requests, and relays it on the call's stream.
 */
export class CallSink implements Sink {
  readonly capabilities: string
  readonly wantsProgress: boolean
  /** The call that this sink serves. */
  call: Call | null = null
  /** Set for modern callers; null if they cannot be asked for input. */
  inputRequester: InputRequester | null = null
  #context: RequestContext
  readonly #server: CatalogServer
  readonly #elicitations: Pick<Elicitations, 'record'>
  /** JSON text of the caller's progress token. */
  #token: string | undefined
  /** Requests not answered yet. */
  #serverRequests: Set<ServerRequest> | null = null
  /** Notifications stored while the call is parked; null while the caller is connected. */
  #stored: StoredNotification[] | null = null
  #storedCharacters = 0
  #allowance: RateLimiter | null = null

  constructor(
    context: RequestContext,
    server: CatalogServer,
    token: string | undefined,
    elicitations: Pick<Elicitations, 'record'>
  ) {
    this.capabilities = capabilitiesFor(context, server)
    this.wantsProgress = token !== undefined
    this.#context = context
    this.#server = server
    this.#token = token
    this.#elicitations = elicitations
  }

  /** The response writer of the caller's current request. */
  get stream(): ResponseWriter {
    return this.#context.reply
  }

  /** Starts storing notifications, within limits, until the parked call is resumed. */
  detach(): void {
    this.#stored ??= []
  }

  /** Continues with the request that resumed the call, and sends the stored notifications on it. */
  attach(context: RequestContext, token: string | undefined): void {
    this.#context = context
    this.#token = token
    const stored = this.#stored ?? []
    this.#stored = null
    this.#storedCharacters = 0
    for (const { method, params } of stored) this.notify(method, params)
  }

  get logLevel(): string | undefined {
    const { session, era, message } = this.#context
    if (session) return session.logLevel
    const level = era === 'modern' ? message.meta(LOG_LEVEL) : undefined
    return isLogLevel(level) ? level : undefined
  }

  notify(method: string, params: string): void {
    if (this.#stored) return this.#store(this.#stored, { method, params })
    const { reply, scope, session, era } = this.#context
    if (method === 'notifications/progress') {
      if (this.#token === undefined) return
      const rest = params.slice(1).trimStart()
      const separator = rest.startsWith('}') ? '' : ','
      reply.sendMessage(notificationText(method, `{"progressToken":${this.#token}${separator}${rest}`))
    } else if (method === 'notifications/message') {
      const { logLevel } = this
      // sessions get all log messages until they set a level; callers without a session must set one
      if (!session && logLevel === undefined) return
      const logged = logMessage(params, this.#server.name, scope, logLevel)
      if (logged !== undefined) reply.sendMessage(logged)
    } else if (session || era === 'modern') {
      const allowance = (this.#allowance ??= new RateLimiter())
      const custom = customMessage(method, params, this.#server.name, scope, allowance)
      if (custom !== undefined) reply.sendMessage(custom)
    }
  }

  /** Stores a notification; drops the oldest beyond the limits. */
  #store(stored: StoredNotification[], message: StoredNotification): void {
    stored.push(message)
    this.#storedCharacters += message.params.length
    while (stored.length > MAX_STORED || this.#storedCharacters > MAX_STORED_CHARACTERS)
      this.#storedCharacters -= stored.shift()!.params.length
  }

  /** Relays a request to the client. The call's timeouts are suspended until the client answers. */
  async request(method: string, params: string, inbound: InboundRequest = { onCancel: null }): Promise<Answer> {
    if (!canRequest(this.capabilities, method, params)) return methodNotFound
    this.call?.pauseClock()
    try {
      return await this.#sendRequest(method, this.#attributed(method, params), inbound)
    } finally {
      this.call?.resumeClock()
    }
  }

  /** Ends the call: cancels the requests that the client has not answered. */
  close(): void {
    for (const serverRequest of this.#serverRequests ?? []) serverRequest.cancel()
  }

  #attributed(method: string, params: string): string {
    return needsAttribution(this.#context.scope) ? attributeRequest(method, params, this.#server.name) : params
  }

  #sendRequest(method: string, params: string, inbound: InboundRequest): Promise<Answer> {
    const { session, reply } = this.#context
    if (!session) return this.inputRequester?.requestInput(method, params, inbound) ?? Promise.resolve(methodNotFound)
    this.#elicitations.record(this.#server.name, params, { session, reply })
    session.serverRequests ??= createServerRequests(session)
    const serverRequest = session.serverRequests.send(() => this.stream, method, params)
    const serverRequests = (this.#serverRequests ??= new Set())
    serverRequests.add(serverRequest)
    inbound.onCancel = serverRequest.cancel
    return serverRequest.answer.finally(() => serverRequests.delete(serverRequest))
  }
}
