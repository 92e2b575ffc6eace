import { isLogLevel, reaches } from '../../domain/log-levels.ts'
import { META } from '../../domain/protocol.ts'
import type { ServerBlock } from '../catalog.ts'
import { members, valueOf, withMembers } from '../json.ts'
import { methodNotFound, type Answer, type Call, type Sink } from '../upstream/call.ts'
import { mayAsk } from './capabilities.ts'
import type { Exchange } from './exchange.ts'
import { labelled, needsLabel } from './label.ts'
import { createPushes, type Push } from './push.ts'

const notification = (method: string, params: string) => `{"jsonrpc":"2.0","method":"${method}","params":${params}}`

/** Log messages say which server they come from (proxy page 3.15). Undefined where it is none. */
function withLogger(params: string, server: string): string | undefined {
  if (!params.startsWith('{')) return undefined
  const found = members(params)
  const given: unknown = JSON.parse(valueOf(params, found, 'logger') ?? 'null')
  const rest = withMembers(params, { logger: null }).slice(1)
  const logger = JSON.stringify(typeof given === 'string' ? `${server}/${given}` : server)
  return `{"logger":${logger}${rest === '}' ? '' : ','}${rest}`
}

/** Takes a request of an upstream where the caller cannot be sent one: a modern caller is asked in its result. */
export type Asker = (method: string, params: string) => Promise<Answer>

/** What a client's call can take before its answer: progress, log messages and requests, on its own stream. */
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
  #pushes: Push[] | null = null

  constructor(exchange: Exchange, server: ServerBlock, token: string | undefined) {
    this.capabilities = exchange.capabilities
    this.wantsProgress = token !== undefined
    this.#exchange = exchange
    this.#server = server
    this.#token = token
  }

  /** The caller goes on with another request: what comes from now on belongs to that. */
  attach(exchange: Exchange, token: string | undefined): void {
    this.#exchange = exchange
    this.#token = token
  }

  get logLevel(): string | undefined {
    const { session, era, message } = this.#exchange
    if (session) return session.logLevel
    const meta = era === 'modern' ? (message.params['_meta'] as Record<string, unknown> | undefined) : undefined
    const level = meta?.[`${META}logLevel`]
    return isLogLevel(level) ? level : undefined
  }

  notify(method: string, params: string): void {
    const { reply, scope } = this.#exchange
    if (method === 'notifications/progress') {
      if (this.#token === undefined) return
      const rest = params.slice(1).trimStart()
      const separator = rest.startsWith('}') ? '' : ','
      reply.message(notification(method, `{"progressToken":${this.#token}${separator}${rest}`))
    } else if (method === 'notifications/message' && this.#wantsLog(params)) {
      const logged = scope.isBare ? params : withLogger(params, this.#server.name)
      if (logged !== undefined) reply.message(notification(method, logged))
    }
  }

  /** A session gets what the upstream sends until it names a level; who has no session has to name one. */
  #wantsLog(params: string): boolean {
    if (!params.startsWith('{')) return false
    const { logLevel } = this
    if (logLevel === undefined) return this.#exchange.session !== undefined
    return reaches((JSON.parse(params) as { level?: unknown }).level, logLevel)
  }

  /** The time that a person or a model takes to answer does not count towards the call's limits. */
  async request(method: string, params: string): Promise<Answer> {
    if (!mayAsk(this.capabilities, method, params)) return methodNotFound
    this.call?.hold()
    try {
      return await this.#ask(method, this.#labelled(method, params))
    } finally {
      this.call?.resume()
    }
  }

  /** The call is over: what it still asks of the client is withdrawn. */
  close(): void {
    for (const push of this.#pushes ?? []) push.cancel()
  }

  #labelled(method: string, params: string): string {
    return needsLabel(this.#exchange.scope) ? labelled(method, params, this.#server.name) : params
  }

  #ask(method: string, params: string): Promise<Answer> {
    const { session, reply } = this.#exchange
    if (!session) return this.asker?.(method, params) ?? Promise.resolve(methodNotFound)
    session.pushes ??= createPushes(session)
    const push = session.pushes.ask(reply, method, params)
    ;(this.#pushes ??= []).push(push)
    return push.answer
  }
}
