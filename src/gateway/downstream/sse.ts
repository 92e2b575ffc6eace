import { LEGACY_VERSIONS } from '../../domain/protocol.ts'
import { joined } from '../pieces.ts'
import { readBatch } from './batch.ts'
import { classify, VERSION_KEY } from './era.ts'
import type { Edge, Exchange, HttpExchange } from './exchange.ts'
import { codes, decode, isBatch, ProtocolError, readMessage, type Message } from './jsonrpc.ts'
import { checkLengths } from './lengths.ts'
import { legacyNotification, legacyRequest } from './legacy.ts'
import { attachStream, checkStream, endSession, sessionNotFound } from './listen.ts'
import type { Reply } from './reply.ts'
import { Part, type Channel, type Run } from './responder.ts'
import type { Session } from './session.ts'
import { refuseMore, takeStream } from './shares.ts'

/**
 * Opens the stream of a client of the HTTP+SSE transport (mcp-proxy.md#httpsse-transport): the stream is the session,
 * which ends with it.
 * `companion`: path to which the client posts.
 */
export function openSse(edge: Edge, http: HttpExchange, reply: Reply, companion: string): void {
  checkStream(http)
  if (!takeStream(edge, http, reply)) return
  const session = edge.sessions.open(http.caller.key, http.endpoint)
  if (typeof session === 'string') return refuseMore(edge, http, reply, 'sessions', session)
  attachStream(edge, http, session, reply, { onLeave: () => endSession(edge, session) })
  http.response.write(`event: endpoint\ndata: ${companion}?sessionId=${session.id}\n\n`)
}

function sessionOf(edge: Edge, { caller, endpoint }: HttpExchange, id: string | undefined): Session {
  if (!id) throw new ProtocolError(codes.session, 'Bad Request: "sessionId" is missing in the query')
  const session = edge.sessions.find(id, caller.key, endpoint)
  if (!session) throw sessionNotFound()
  return session
}

/**
 * Refuses what is not of this transport's revisions, on the stream: clients that find out what is spoken take a refused POST
 * for the end of the connection. The probe is answered as servers answer that have never heard of it.
 */
function checkEra({ headers }: HttpExchange, message: Message): void {
  const { id, method } = message
  if (method === 'server/discover') throw new ProtocolError(codes.methodNotFound, 'Method not found', { id })
  if (message.kind !== 'request' || classify(headers, message) === 'legacy') return
  throw new ProtocolError(codes.unsupportedVersion, 'Unsupported protocol version: not spoken over HTTP+SSE', {
    id,
    data: { supported: LEGACY_VERSIONS, requested: message.meta(VERSION_KEY) }
  })
}

/** Where the answers to what is posted go. */
const channelOf = ({ heartbeat }: Edge, { streams }: Session): Channel => {
  const say = (text: string) => {
    for (const stream of streams) stream.message(text)
  }
  return {
    message: say,
    done(part, answer) {
      heartbeat.delete(part)
      if (answer) say(joined(answer.pieces).toString())
    }
  }
}

/** Takes what a client posts: what is no message is refused here, all answers travel on the session's stream. */
export function postToSse(
  edge: Edge,
  http: HttpExchange,
  reply: Reply,
  posted: { readonly sessionId: string | undefined; readonly body: Buffer },
  run: Run
): void {
  const session = sessionOf(edge, http, posted.sessionId)
  const text = decode(posted.body)
  const { version } = session
  const messages = isBatch(text) ? readBatch(text, version || undefined, edge) : [readMessage(text, edge.limits)]
  reply.whole(Buffer.from('Accepted'), 202, { 'content-type': 'text/plain' })
  const { headers, caller, endpoint, requestId, address } = http
  const channel = channelOf(edge, session)
  for (const message of messages) {
    const part = new Part(channel, message.id)
    run(requestId, part, () => {
      checkLengths(message, edge.limits.identifierBytes)
      checkEra(http, message)
      const scope = edge.core.scope(caller, endpoint)
      const { capabilities } = session
      const exchange: Exchange = {
        ...{ edge, message, headers, caller, endpoint, requestId, address, scope, session, capabilities },
        era: 'legacy',
        reply: part,
        observation: null
      }
      return message.kind === 'request' ? legacyRequest(exchange, headers) : legacyNotification(exchange)
    })
  }
}
