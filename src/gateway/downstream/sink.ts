import { isLogLevel } from '../../domain/log-levels.ts'
import { META } from '../../domain/protocol.ts'
import type { ServerBlock } from '../catalog.ts'
import { RateLimiter } from '../notifications.ts'
import { methodNotFound, type Answer, type InboundRequest, type Call, type Sink } from '../upstream/call.ts'
import { mayAsk } from './capabilities.ts'
import { customMessage } from './custom-message.ts'
import type { Exchange } from './exchange.ts'
import { labelled, needsLabel } from './label.ts'
import { logMessage, notification } from './log-message.ts'
import { createPushes, type Push } from './push.ts'
import type { Responder } from './responder.ts'

const LOG_LEVEL = `${META}logLevel`

/** A notification that waits for its caller. */
interface Kept {
  readonly method: string
  readonly params: string
}

/** What is kept for one caller: a thousand may be away at a time. */
const MAX_KEPT = 100
const MAX_KEPT_CHARACTERS = 16_384

/** Takes a request of an upstream where the caller cannot be sent one: a modern caller is asked in its result. */
export interface Asker {
  ask(method: string, params: string, asking: InboundRequest): Promise<Answer>
}

/** What a client's call can take before its answer: progress, log messages, a server's own and requests, on its stream. */
export class CallSink implements Sink {
  readonly capabilities: string
  readonly wantsProgress: boolean
  /** The call that this belongs to. */
  call: Call | null = null
  /** For modern callers; null: they are not asked. */
  asker: Asker | null = null
  #exchange: Exchange
  readonly #server: ServerBlock
  /** JSON text of the caller's progress token. */
  #token: string | undefined
  /** Those that are not answered yet. */
  #pushes: Set<Push> | null = null
  /** While the caller is away: what it will hear when it comes back. */
  #kept: Kept[] | null = null
  #keptSize = 0
  #allowance: RateLimiter | null = null

  constructor(exchange: Exchange, server: ServerBlock, token: string | undefined) {
    this.capabilities = exchange.capabilities
    this.wantsProgress = token !== undefined
    this.#exchange = exchange
    this.#server = server
    this.#token = token
  }

  /** Where the caller hears what belongs to the call. */
  get stream(): Responder {
    return this.#exchange.reply
  }

  /** The caller has been asked and will come back: what comes until then is kept for it, within bounds. */
  detach(): void {
    this.#kept ??= []
  }

  /** The caller goes on with another request: what was kept and what comes from now on belongs to that. */
  attach(exchange: Exchange, token: string | undefined): void {
    this.#exchange = exchange
    this.#token = token
    const kept = this.#kept ?? []
    this.#kept = null
    this.#keptSize = 0
    for (const { method, params } of kept) this.notify(method, params)
  }

  get logLevel(): string | undefined {
    const { session, era, message } = this.#exchange
    if (session) return session.logLevel
    const level = era === 'modern' ? message.meta(LOG_LEVEL) : undefined
    return isLogLevel(level) ? level : undefined
  }

  notify(method: string, params: string): void {
    if (this.#kept) return this.#keep(this.#kept, { method, params })
    const { reply, scope, session, era } = this.#exchange
    if (method === 'notifications/progress') {
      if (this.#token === undefined) return
      const rest = params.slice(1).trimStart()
      const separator = rest.startsWith('}') ? '' : ','
      reply.message(notification(method, `{"progressToken":${this.#token}${separator}${rest}`))
    } else if (method === 'notifications/message') {
      const { logLevel } = this
      // a session gets what the upstream sends until it names a level; who has no session has to name one
      if (!session && logLevel === undefined) return
      const logged = logMessage(params, this.#server.name, scope, logLevel)
      if (logged !== undefined) reply.message(logged)
    } else if (session || era === 'modern') {
      const allowance = (this.#allowance ??= new RateLimiter())
      const custom = customMessage(method, params, this.#server.name, scope, allowance)
      if (custom !== undefined) reply.message(custom)
    }
  }

  /** The newest say most. */
  #keep(kept: Kept[], message: Kept): void {
    kept.push(message)
    this.#keptSize += message.params.length
    while (kept.length > MAX_KEPT || this.#keptSize > MAX_KEPT_CHARACTERS) this.#keptSize -= kept.shift()!.params.length
  }

  /** The time that a person or a model takes to answer does not count towards the call's limits. */
  async request(method: string, params: string, asking: InboundRequest = { onCancel: null }): Promise<Answer> {
    if (!mayAsk(this.capabilities, method, params)) return methodNotFound
    this.call?.pauseClock()
    try {
      return await this.#ask(method, this.#labelled(method, params), asking)
    } finally {
      this.call?.resumeClock()
    }
  }

  /** The call is over: what it still asks of the client is withdrawn. */
  close(): void {
    for (const push of this.#pushes ?? []) push.cancel()
  }

  #labelled(method: string, params: string): string {
    return needsLabel(this.#exchange.scope) ? labelled(method, params, this.#server.name) : params
  }

  #ask(method: string, params: string, asking: InboundRequest): Promise<Answer> {
    const { session, reply, edge } = this.#exchange
    if (!session) return this.asker?.ask(method, params, asking) ?? Promise.resolve(methodNotFound)
    edge.elicitations.note(this.#server.name, params, { session, reply })
    session.pushes ??= createPushes(session)
    const push = session.pushes.ask(() => this.stream, method, params)
    const pushes = (this.#pushes ??= new Set())
    pushes.add(push)
    asking.onCancel = push.cancel
    return push.answer.finally(() => pushes.delete(push))
  }
}
