import { isLogLevel } from '../../domain/log-levels.ts'
import type { Exchange } from './exchange.ts'
import { canBeFollowed, createFollowing, MAX_FOLLOWED, type Following } from './following.ts'
import { ownSessions } from './home.ts'
import { codes, ProtocolError } from './jsonrpc.ts'
import { listenerOf } from './listen.ts'
import { sendResult, type Method } from './methods.ts'
import type { Session } from './session.ts'
import { asCall, refuseMore } from './shares.ts'

/** What is kept for a client needs a session to keep it in (proxy page 2.5). */
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

const updated = (uri: string) =>
  `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":${JSON.stringify(uri)}}}`

/** Told on the session's newest stream, as everything that belongs to no request (proxy page 2.7). */
const followingOf = (exchange: Exchange, session: Session): Following =>
  (session.following ??= createFollowing(
    exchange,
    (uri) => listenerOf(session)?.message(updated(uri)),
    ownSessions(exchange, session)
  ))

const subscribe: Method = async (exchange) => {
  const session = sessionOf(exchange)
  const asked = uriOf(exchange)
  const target = exchange.scope.resolve(asked)
  if (!target) {
    exchange.edge.core.refusals.outOfScope(exchange, 'resource', asked)
    throw refuse(exchange, codes.legacyResourceNotFound, `Resource not found: ${asked}`, { uri: asked })
  }
  if (!canBeFollowed(target)) throw refuse(exchange, codes.methodNotFound, 'The resource cannot be subscribed to')
  const following = followingOf(exchange, session)
  if (following.size >= MAX_FOLLOWED) throw refuse(exchange, codes.internal, 'Too many subscriptions')
  let isWithin = true
  const isTaken = await asCall(exchange, async () => {
    isWithin = await following.add(asked, target)
  })
  if (!isTaken) return
  if (isWithin) sendResult(exchange, '')
  else refuseMore(exchange.edge, exchange, exchange.reply, 'subscriptions')
}

const unsubscribe: Method = (exchange) => {
  const { following } = sessionOf(exchange)
  following?.delete(uriOf(exchange))
  sendResult(exchange, '')
}

/** Kept for the session's calls to come; what is under way is filtered from now on (proxy page 3.15). */
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
