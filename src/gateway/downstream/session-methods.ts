import { isLogLevel } from '../../domain/log-levels.ts'
import type { Verdict } from '../../registry/model.ts'
import { joinParams, type ExtraParams } from '../notifications.ts'
import type { ResourceTarget } from '../scope.ts'
import type { Answer } from '../upstream/call.ts'
import { UpstreamFailure } from '../upstream/failure.ts'
import type { Exchange } from './exchange.ts'
import { canBeFollowed, createFollowing, MAX_FOLLOWED, type Following } from './following.ts'
import { askFor, ownSessions } from './home.ts'
import { codes, ProtocolError } from './jsonrpc.ts'
import { listenerOf } from './listen.ts'
import { notification } from './log-message.ts'
import { sendResult, type Method } from './methods.ts'
import type { Session } from './session.ts'
import { asCall, refuseMore } from './shares.ts'
import { mayTryToFollow, noteSubscribing } from './tried-subscription.ts'

/** What is kept for a client needs a session to keep it in (mcp-proxy.md#client-sessions). */
function sessionOf({ session, message: { id } }: Exchange): Session {
  if (session) return session
  throw new ProtocolError(codes.session, 'Bad Request: this method needs a session', { id })
}

const refuse = ({ message: { id } }: Exchange, code: number, text: string, data?: object) =>
  new ProtocolError(code, text, { id, status: 200, data })

function uriOf(exchange: Exchange): string {
  const { uri } = exchange.message.params
  if (typeof uri === 'string') return uri
  throw refuse(exchange, codes.invalidParams, 'Invalid params: "uri" must be a string')
}

const updated = (uri: string, { members, meta }: ExtraParams) =>
  notification('notifications/resources/updated', joinParams([`"uri":${JSON.stringify(uri)}`, members], [meta]))

/**
 * Told on the session's newest stream, as everything that belongs to no request (mcp-proxy.md#json-or-event-stream).
 */
const followingOf = (exchange: Exchange, session: Session): Following =>
  (session.following ??= createFollowing(
    exchange,
    (uri, said) => listenerOf(session)?.message(updated(uri, said)),
    ownSessions(exchange, session)
  ))

const cannotFollow = (exchange: Exchange) =>
  refuse(exchange, codes.methodNotFound, 'The resource cannot be subscribed to')

/** Finds out by subscribing. The answer is an error of the server's for that resource; throws where it has no such method. */
async function tryToFollow(
  exchange: Exchange,
  session: Session,
  { server, uri }: ResourceTarget,
  verdict: Verdict
): Promise<Answer | undefined> {
  const answer = await askFor(exchange, session, server, 'resources/subscribe', uri).catch((error: unknown) => {
    if (error instanceof UpstreamFailure) throw refuse(exchange, codes.internal, error.message)
    throw error
  })
  if (!noteSubscribing(verdict, answer)) throw cannotFollow(exchange)
  return answer.kind === 'error' ? answer : undefined
}

const subscribe: Method = async (exchange) => {
  const session = sessionOf(exchange)
  const asked = uriOf(exchange)
  const target = exchange.scope.resolve(asked)
  if (!target) {
    exchange.edge.core.refusals.auditOutOfScope(exchange, 'resource', asked)
    throw refuse(exchange, codes.legacyResourceNotFound, `Resource not found: ${asked}`, { uri: asked })
  }
  const { verdict } = target.server.stored
  if (!canBeFollowed(target) && !mayTryToFollow(verdict)) throw cannotFollow(exchange)
  const following = followingOf(exchange, session)
  if (following.size >= MAX_FOLLOWED) throw refuse(exchange, codes.internal, 'Too many subscriptions')
  let isWithin = true
  let refused: Answer | undefined
  const isTaken = await asCall(exchange, async () => {
    if (!canBeFollowed(target)) refused = await tryToFollow(exchange, session, target, verdict!)
    if (!refused) isWithin = await following.add(asked, target)
  })
  if (!isTaken) return
  if (refused) return exchange.reply.answer(exchange.message.id, refused)
  if (isWithin) sendResult(exchange, '')
  else refuseMore(exchange.edge, exchange, exchange.reply, 'subscriptions')
}

const unsubscribe: Method = (exchange) => {
  const { following } = sessionOf(exchange)
  following?.delete(uriOf(exchange))
  sendResult(exchange, '')
}

/** Kept for the session's calls to come; what is under way is filtered from now on (mcp-proxy.md#logging). */
const setLevel: Method = (exchange) => {
  const session = sessionOf(exchange)
  const { level } = exchange.message.params
  if (!isLogLevel(level)) throw refuse(exchange, codes.invalidParams, 'Invalid params: "level" must be a log level')
  session.logLevel = level
  sendResult(exchange, '')
}

/** Requests about what a legacy session keeps. */
export const sessionMethods: ReadonlyMap<string, Method> = new Map<string, Method>([
  ['resources/subscribe', subscribe],
  ['resources/unsubscribe', unsubscribe],
  ['logging/setLevel', setLevel]
])
