import { isLogLevel } from '../../domain/log-levels.ts'
import { META } from '../../domain/protocol.ts'
import type { ServerBlock } from '../catalog.ts'
import { RateLimiter } from '../notifications.ts'
import { methodNotFound, type Answer, type InboundRequest, type Call, type Sink } from '../upstream/call.ts'
import { canRequest } from './capabilities.ts'
import { customMessage } from './custom-message.ts'
import type { RequestContext } from './exchange.ts'
import { attributeRequest, needsAttribution } from './label.ts'
import { logMessage, notification } from './log-message.ts'
import { createServerRequests, type ServerRequest } from './push.ts'
import type { ResponseWriter } from './responder.ts'

const LOG_LEVEL = `${META}logLevel`

/** A notification that waits for its caller. */
interface StoredNotification {
  readonly method: string
  readonly params: string
}

/** What is kept for one caller: a thousand may be away at a time. */
const MAX_STORED = 100
const MAX_STORED_CHARACTERS = 16_384

/** Takes a request of an upstream where the caller cannot be sent one: a modern caller is asked in its result. */
export interface InputRequester {
  requestInput(method: string, params: string, asking: InboundRequest): Promise<Answer>
}

/** What a client's call can take before its answer: progress, log messages, a server's own and requests, on its stream. */
export class CallSink implements Sink {
  readonly capabilities: string
  readonly wantsProgress: boolean
  /** The call that this belongs to. */
  call: Call | null = null
  /** For modern callers; null: they are not asked. */
  inputRequester: InputRequester | null = null
  #context: RequestContext
  readonly #server: ServerBlock
  /** JSON text of the caller's progress token. */
  #token: string | undefined
  /** Those that are not answered yet. */
  #serverRequests: Set<ServerRequest> | null = null
  /** While the caller is away: what it will hear when it comes back. */
  #stored: StoredNotification[] | null = null
  #storedCharacters = 0
  #allowance: RateLimiter | null = null

  constructor(context: RequestContext, server: ServerBlock, token: string | undefined) {
    this.capabilities = context.capabilities
    this.wantsProgress = token !== undefined
    this.#context = context
    this.#server = server
    this.#token = token
  }

  /** Where the caller hears what belongs to the call. */
  get stream(): ResponseWriter {
    return this.#context.reply
  }

  /** The caller has been asked and will come back: what comes until then is kept for it, within bounds. */
  detach(): void {
    this.#stored ??= []
  }

  /** The caller goes on with another request: what was kept and what comes from now on belongs to that. */
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
      reply.sendMessage(notification(method, `{"progressToken":${this.#token}${separator}${rest}`))
    } else if (method === 'notifications/message') {
      const { logLevel } = this
      // a session gets what the upstream sends until it names a level; who has no session has to name one
      if (!session && logLevel === undefined) return
      const logged = logMessage(params, this.#server.name, scope, logLevel)
      if (logged !== undefined) reply.sendMessage(logged)
    } else if (session || era === 'modern') {
      const allowance = (this.#allowance ??= new RateLimiter())
      const custom = customMessage(method, params, this.#server.name, scope, allowance)
      if (custom !== undefined) reply.sendMessage(custom)
    }
  }

  /** The newest say most. */
  #store(stored: StoredNotification[], message: StoredNotification): void {
    stored.push(message)
    this.#storedCharacters += message.params.length
    while (stored.length > MAX_STORED || this.#storedCharacters > MAX_STORED_CHARACTERS)
      this.#storedCharacters -= stored.shift()!.params.length
  }

  /** The time that a person or a model takes to answer does not count towards the call's limits. */
  async request(method: string, params: string, asking: InboundRequest = { onCancel: null }): Promise<Answer> {
    if (!canRequest(this.capabilities, method, params)) return methodNotFound
    this.call?.pauseClock()
    try {
      return await this.#sendRequest(method, this.#attributed(method, params), asking)
    } finally {
      this.call?.resumeClock()
    }
  }

  /** The call is over: what it still asks of the client is withdrawn. */
  close(): void {
    for (const serverRequest of this.#serverRequests ?? []) serverRequest.cancel()
  }

  #attributed(method: string, params: string): string {
    return needsAttribution(this.#context.scope) ? attributeRequest(method, params, this.#server.name) : params
  }

  #sendRequest(method: string, params: string, asking: InboundRequest): Promise<Answer> {
    const { session, reply, mcp } = this.#context
    if (!session) return this.inputRequester?.requestInput(method, params, asking) ?? Promise.resolve(methodNotFound)
    mcp.elicitations.record(this.#server.name, params, { session, reply })
    session.serverRequests ??= createServerRequests(session)
    const serverRequest = session.serverRequests.send(() => this.stream, method, params)
    const serverRequests = (this.#serverRequests ??= new Set())
    serverRequests.add(serverRequest)
    asking.onCancel = serverRequest.cancel
    return serverRequest.answer.finally(() => serverRequests.delete(serverRequest))
  }
}
