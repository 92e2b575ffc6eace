import { LEGACY_VERSIONS } from '../domain/mcp-constants.ts'
import { concatBuffers } from '../json/buffer-list.ts'
import { readBatch } from './batch.ts'
import { dispatchBatchMessages } from './batch-dispatch.ts'
import { classify, VERSION_KEY } from './messages/era.ts'
import type { McpContext, RequestContext, HttpContext } from './request-context.ts'
import { codes, decode, isBatch, ProtocolError, readMessage, type Message } from '../protocol/jsonrpc.ts'
import { checkLengths } from './messages/lengths.ts'
import { legacyNotification, legacyRequest } from './legacy.ts'
import { attachStream, checkAcceptsStream, endSession, sessionNotFound } from './get-stream.ts'
import type { HttpReply } from './sessions/reply.ts'
import { ChannelWriter, type Channel, type RunHandler } from './sessions/response-writer.ts'
import type { Session } from './sessions/client-sessions.ts'
import { refuseOverQuota, takeStreamPlace } from './quotas.ts'

/**
 * Opens the stream of an HTTP+SSE client (mcp-proxy.md#httpsse-transport). The stream is the session: closing it ends
 * both. `companion` is the path for the client's POST requests.
 */
export function openSse(mcp: McpContext, http: HttpContext, reply: HttpReply, companion: string): void {
  checkAcceptsStream(http)
  if (!takeStreamPlace(mcp, http, reply)) return
  const session = mcp.sessions.open(http.caller.key, http.endpoint)
  if (typeof session === 'string') return refuseOverQuota(mcp, http, reply, 'sessions', session)
  attachStream(mcp, http, session, reply, { onLeave: () => endSession(mcp, session) })
  http.response.write(`event: endpoint\ndata: ${companion}?sessionId=${session.id}\n\n`)
}

function sessionOf(mcp: McpContext, { caller, endpoint }: HttpContext, id: string | undefined): Session {
  if (!id) throw new ProtocolError(codes.session, 'Bad Request: "sessionId" is missing in the query')
  const session = mcp.sessions.find(id, caller.key, endpoint)
  if (!session) throw sessionNotFound()
  return session
}

/**
 * Rejects modern messages on the stream, not in the POST response: clients that negotiate the version treat a rejected
 * POST as the end of the connection. `server/discover` is answered like an unknown method.
 */
function checkEra({ headers }: HttpContext, message: Message): void {
  const { id, method } = message
  if (method === 'server/discover') throw new ProtocolError(codes.methodNotFound, 'Method not found', { id })
  if (message.kind !== 'request' || classify(headers, message) === 'legacy') return
  throw new ProtocolError(codes.unsupportedVersion, 'Unsupported protocol version: not available over HTTP+SSE', {
    id,
    data: { supported: LEGACY_VERSIONS, requested: message.meta(VERSION_KEY) }
  })
}

/** Sends the responses to posted messages on the session's streams. */
const channelOf = ({ heartbeat }: McpContext, { streams }: Session): Channel => {
  const send = (text: string) => {
    for (const stream of streams) stream.sendMessage(text)
  }
  return {
    sendMessage: send,
    finish(writer, answer) {
      heartbeat.delete(writer)
      if (answer) send(concatBuffers(answer.pieces).toString())
    }
  }
}

/**
 * Handles a POST: rejects invalid messages in the HTTP response and sends all other responses on the session's stream.
 */
export async function postToSse(
  mcp: McpContext,
  http: HttpContext,
  reply: HttpReply,
  posted: { readonly sessionId: string | undefined; readonly body: Buffer },
  run: RunHandler
): Promise<void> {
  const session = sessionOf(mcp, http, posted.sessionId)
  const text = decode(posted.body)
  const { version } = session
  const messages = isBatch(text) ? readBatch(text, version || undefined, mcp) : [readMessage(text, mcp.limits)]
  reply.sendBody(Buffer.from('Accepted'), 202, { 'content-type': 'text/plain' })
  const { headers, caller, endpoint, requestId, address } = http
  const channel = channelOf(mcp, session)
  const writers = messages.map(({ id }) => new ChannelWriter(channel, id))
  await dispatchBatchMessages(messages, writers, session, (message, writer) =>
    run(requestId, writer, () => {
      // the session may have ended meanwhile
      sessionOf(mcp, http, posted.sessionId)
      checkLengths(message, mcp.limits.identifierBytes)
      checkEra(http, message)
      const scope = mcp.dataPlane.scope(caller, endpoint)
      const { capabilities } = session
      const context: RequestContext = {
        ...{ mcp, message, headers, caller, endpoint, requestId, address, scope, session, capabilities },
        era: 'legacy',
        reply: writer,
        observation: null
      }
      return message.kind === 'request' ? legacyRequest(context, headers) : legacyNotification(context)
    })
  )
}
