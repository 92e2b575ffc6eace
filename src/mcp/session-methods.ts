import { isLogLevel } from '../domain/log-levels.ts'
import type { Negotiation } from '../registry/model/model.ts'
import { joinParams, type ExtraParams } from '../protocol/notifications.ts'
import type { ResourceTarget } from '../catalog/scope.ts'
import type { Answer } from '../upstream/transport/call.ts'
import { UpstreamFailure } from '../protocol/upstream-failure.ts'
import type { RequestContext } from './request-context.ts'
import { isSubscribable, createSessionSubscriptions, MAX_SUBSCRIPTIONS } from './session-subscriptions.ts'
import { requestSubscription, subscribeInOwnSession } from './session-callbacks.ts'
import { codes, ProtocolError } from '../protocol/jsonrpc.ts'
import { notificationText } from '../protocol/jsonrpc-text.ts'
import { sendResult, type Method } from './methods.ts'
import { type Session, currentStreamOf, type SessionSubscriptions } from './sessions/client-sessions.ts'
import { runAsCall, refuseOverQuota } from './quotas.ts'
import { mayTrySubscribing, recordSubscribeAnswer } from './undeclared-subscriptions.ts'

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

const updated = (uri: string, { members, meta }: ExtraParams) =>
  notificationText('notifications/resources/updated', joinParams([`"uri":${JSON.stringify(uri)}`, members], [meta]))

/**
 * Updates go to the session's newest stream, like all messages that belong to no request
 * (mcp-proxy.md#json-or-event-stream).
 */
const subscriptionsOf = (context: RequestContext, session: Session): SessionSubscriptions =>
  (session.subscriptions ??= createSessionSubscriptions(
    context,
    (uri, extraParams) => currentStreamOf(session)?.sendMessage(updated(uri, extraParams)),
    subscribeInOwnSession(context, session)
  ))

const notSubscribable = (context: RequestContext) =>
  refuse(context, codes.methodNotFound, 'The resource cannot be subscribed to')

/**
 * Subscribes at a server that does not declare subscriptions. Returns the server's error for this resource, or
 * undefined on success; throws ProtocolError if the server does not implement the method.
 */
async function trySubscribing(
  context: RequestContext,
  session: Session,
  { server, uri }: ResourceTarget,
  negotiation: Negotiation
): Promise<Answer | undefined> {
  const answer = await requestSubscription(context, session, server, 'resources/subscribe', uri).catch(
    (error: unknown) => {
      if (error instanceof UpstreamFailure) throw refuse(context, codes.internal, error.message)
      throw error
    }
  )
  if (!recordSubscribeAnswer(negotiation, answer)) throw notSubscribable(context)
  return answer.kind === 'error' ? answer : undefined
}

const subscribe: Method = async (context) => {
  const session = sessionOf(context)
  const requestedUri = uriOf(context)
  const target = context.scope.resolve(requestedUri)
  if (!target) {
    context.mcp.dataPlane.refusals.auditOutOfScope(context, 'resource', requestedUri)
    throw refuse(context, codes.legacyResourceNotFound, `Resource not found: ${requestedUri}`, { uri: requestedUri })
  }
  const { negotiation } = target.server.stored
  if (!isSubscribable(target) && !mayTrySubscribing(negotiation)) throw notSubscribable(context)
  const subscriptions = subscriptionsOf(context, session)
  if (subscriptions.size >= MAX_SUBSCRIPTIONS) throw refuse(context, codes.internal, 'Too many subscriptions')
  let isWithinQuota = true
  let refused: Answer | undefined
  const hasCallQuota = await runAsCall(context, async () => {
    if (!isSubscribable(target)) refused = await trySubscribing(context, session, target, negotiation!)
    if (!refused) isWithinQuota = await subscriptions.add(requestedUri, target)
  })
  if (!hasCallQuota) return
  if (refused) return context.reply.sendAnswer(context.message.id, refused)
  if (isWithinQuota) sendResult(context, '')
  else refuseOverQuota(context.mcp, context, context.reply, 'subscriptions')
}

const unsubscribe: Method = (context) => {
  const { subscriptions } = sessionOf(context)
  subscriptions?.delete(uriOf(context))
  sendResult(context, '')
}

/** Sets the log level for the session's current and future calls (mcp-proxy.md#logging). */
const setLevel: Method = (context) => {
  const session = sessionOf(context)
  const { level } = context.message.params
  if (!isLogLevel(level)) throw refuse(context, codes.invalidParams, 'Invalid params: "level" must be a log level')
  session.logLevel = level
  sendResult(context, '')
}

/** Methods that use state kept in a legacy session. */
export const sessionMethods: ReadonlyMap<string, Method> = new Map<string, Method>([
  ['resources/subscribe', subscribe],
  ['resources/unsubscribe', unsubscribe],
  ['logging/setLevel', setLevel]
])
