import { MODERN_VERSION } from '../domain/mcp-constants.ts'
import type { RecordClient } from '../observe/client-activity.ts'
import { codes, ProtocolError } from '../protocol/jsonrpc.ts'
import { checkAcceptsStream, type HttpContext } from './http-context.ts'
import type { ClientInfoCache } from './messages/client-info.ts'
import { checkModernHeaders } from './messages/era.ts'
import { capabilitiesOf, instructionsOf } from './messages/initialize-result.ts'
import { noCacheHints, type Method, type Methods, type ResultSender } from './method.ts'
import type { QuotaGuard } from './quota-guard.ts'
import type { RequestContext } from './sessions/request-context.ts'
import type { SubscriptionsListen } from './subscriptions-listen.ts'

export interface ModernOptions {
  readonly recordClient: RecordClient
  readonly clientInfoCache: Pick<ClientInfoCache, 'client'>
  readonly listen: SubscriptionsListen
  readonly quotaGuard: QuotaGuard
  /** Further methods of modern clients. */
  readonly methods: Methods
  readonly results: ResultSender
}

/** Serves the requests of modern clients. */
export class ModernRequests {
  readonly #options: ModernOptions
  readonly #methods: Methods

  constructor(options: ModernOptions) {
    this.#options = options
    this.#methods = new Map<string, Method>([
      ['server/discover', (context) => this.#discover(context)],
      ...options.methods
    ])
  }

  request(context: RequestContext, http: HttpContext): Promise<void> | void {
    const { message, endpoint, headers } = context
    const { recordClient, clientInfoCache, listen, quotaGuard } = this.#options
    const { id } = message
    checkModernHeaders(headers, message)
    recordClient(endpoint, clientInfoCache.client(message).info)
    if (message.method === 'subscriptions/listen') {
      checkAcceptsStream(http, id)
      return quotaGuard.reserveStream(http, context.reply) ? listen.open(context) : undefined
    }
    const method = this.#methods.get(message.method)
    if (!method) throw new ProtocolError(codes.methodNotFound, 'Method not found', { status: 404, id })
    return method(context)
  }

  /** Answers from memory, because every client sends it first (mcp-proxy.md#initialize-and-serverdiscover). */
  #discover(context: RequestContext): void {
    const { scope } = context
    const instructions = instructionsOf(scope)
    const about = [
      `"supportedVersions":["${MODERN_VERSION}"]`,
      `"capabilities":${JSON.stringify(capabilitiesOf(scope, 'modern'))}`,
      ...(instructions === undefined ? [] : [`"instructions":${JSON.stringify(instructions)}`])
    ]
    this.#options.results.send(context, about.join(','), noCacheHints)
  }
}
