import { isLogLevel } from '../domain/log-levels.ts'
import { joinParams, type ExtraParams } from '../protocol/notifications.ts'
import type { ResourceTarget } from '../catalog/resource-resolution.ts'
import type { Answer } from '../upstream/transport/call.ts'
import { isAdministrator } from '../domain/access/access.ts'
import { messageOf, UpstreamFailure } from '../protocol/upstream-failure.ts'
import type { McpRefusals } from './mcp-refusals.ts'
import type { RequestContext } from './sessions/request-context.ts'
import {
  isSubscribable,
  createSessionSubscriptions,
  MAX_SUBSCRIPTIONS,
  type SubscriptionParts
} from './subscriptions/session-subscriptions.ts'
import type { PolicyGate } from './policy-gate.ts'
import { checkResource } from './policy-refusals.ts'
import type { SessionRelay } from './session-relay.ts'
import { codes, ProtocolError } from '../protocol/jsonrpc.ts'
import { notificationText } from '../protocol/jsonrpc-text.ts'
import type { Method, Methods, ResultSender } from './method.ts'
import { type Session, currentStreamOf, type SessionSubscriptions } from './sessions/client-sessions.ts'
import type { QuotaGuard } from './quota-guard.ts'
import { mayTrySubscribing, recordSubscribeAnswer } from './subscriptions/undeclared-subscriptions.ts'

/**
 * Returns the session; these methods keep state in it (mcp-proxy.md#client-sessions). Throws ProtocolError if absent.
 */
function sessionOf({ session, message: { id } }: RequestContext): Session {
  if (session) return session
  throw new ProtocolError(codes.session, 'Bad Request: this method needs a session', { id })
}

const refuse = ({ message: { id } }: RequestContext, code: number, text: string, data?: object) =>
  new ProtocolError(code, text, { id, status: 200, data })

function uriOf(context: RequestContext): string {
  const { uri } = context.message.params
  if (typeof uri === 'string') return uri
  throw refuse(context, codes.invalidParams, 'Invalid params: "uri" must be a string')
}

const notSubscribable = (context: RequestContext) =>
  refuse(context, codes.methodNotFound, 'The resource cannot be subscribed to')

const updated = (uri: string, { members, meta }: ExtraParams) =>
  notificationText('notifications/resources/updated', joinParams([`"uri":${JSON.stringify(uri)}`, members], [meta]))

export interface SessionMethodsOptions {
  readonly relay: SessionRelay
  readonly subscriptionParts: SubscriptionParts
  readonly quotaGuard: QuotaGuard
  readonly refusals: Pick<McpRefusals, 'auditOutOfScope'>
  readonly policies: PolicyGate
  readonly results: ResultSender
}

/** Subscribes sessions to resources. */
class SubscribeMethod {
  readonly #options: SessionMethodsOptions

  constructor(options: SessionMethodsOptions) {
    this.#options = options
  }

  async run(context: RequestContext): Promise<void> {
    const { quotaGuard, results } = this.#options
    const session = sessionOf(context)
    const requestedUri = uriOf(context)
    const target = this.#targetOf(context, requestedUri)
    const subscriptions = this.#subscriptionsOf(context, session)
    if (subscriptions.size >= MAX_SUBSCRIPTIONS) throw refuse(context, codes.internal, 'Too many subscriptions')
    let isWithinQuota = true
    let refused: Answer | undefined
    const hasCallQuota = await quotaGuard.runAsCall(context, async () => {
      if (!isSubscribable(target)) refused = await this.#trySubscribing(context, session, target)
      if (!refused) isWithinQuota = await subscriptions.add(requestedUri, target)
    })
    if (!hasCallQuota) return
    if (refused) return context.reply.sendAnswer(context.message.id, refused)
    if (isWithinQuota) results.send(context, '')
    else quotaGuard.refuse(context, context.reply, 'subscriptions')
  }

  #targetOf(context: RequestContext, uri: string): ResourceTarget {
    const target = context.scope.resolve(uri)
    if (!target) {
      this.#options.refusals.auditOutOfScope(context, 'resource', uri)
      throw refuse(context, codes.legacyResourceNotFound, `Resource not found: ${uri}`, { uri })
    }
    checkResource(context, this.#options.policies, target)
    const { negotiation } = target.server.stored
    if (!isSubscribable(target) && !mayTrySubscribing(negotiation)) throw notSubscribable(context)
    return target
  }

  /**
   * Updates go to the session's newest stream, like all messages that belong to no request
   * (mcp-proxy.md#json-or-event-stream).
   */
  #subscriptionsOf(context: RequestContext, session: Session): SessionSubscriptions {
    const { subscriptionParts, relay } = this.#options
    return (session.subscriptions ??= createSessionSubscriptions(
      subscriptionParts,
      context,
      (uri, extraParams) => currentStreamOf(session)?.sendMessage(updated(uri, extraParams)),
      relay.subscribeInOwnSession(context, session)
    ))
  }

  /**
   * Subscribes at a server that does not declare subscriptions. Returns the server's error for this resource, or
   * undefined on success; throws ProtocolError if the server does not implement the method.
   */
  async #trySubscribing(
    context: RequestContext,
    session: Session,
    { server, uri }: ResourceTarget
  ): Promise<Answer | undefined> {
    const answer = await this.#options.relay
      .requestSubscription(context, session, server, 'resources/subscribe', uri)
      .catch((error: unknown) => {
        if (error instanceof UpstreamFailure)
          throw refuse(context, codes.internal, messageOf(error, { withOutput: isAdministrator(context.caller) }))
        throw error
      })
    if (!recordSubscribeAnswer(server.stored.negotiation!, answer)) throw notSubscribable(context)
    return answer.kind === 'error' ? answer : undefined
  }
}

/** Creates the methods that use state kept in a legacy session. */
export function createSessionMethods(options: SessionMethodsOptions): Methods {
  const { results } = options
  const subscribe = new SubscribeMethod(options)
  return new Map<string, Method>([
    ['resources/subscribe', (context) => subscribe.run(context)],
    [
      'resources/unsubscribe',
      (context) => {
        sessionOf(context).subscriptions?.delete(uriOf(context))
        results.send(context, '')
      }
    ],
    [
      // for the session's current and future calls (mcp-proxy.md#logging)
      'logging/setLevel',
      (context) => {
        const session = sessionOf(context)
        const { level } = context.message.params
        if (!isLogLevel(level))
          throw refuse(context, codes.invalidParams, 'Invalid params: "level" must be a log level')
        session.logLevel = level
        results.send(context, '')
      }
    ]
  ])
}
