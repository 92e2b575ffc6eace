import { LEGACY_VERSIONS } from '../domain/mcp-constants.ts'
import type { CurrentScopes } from '../catalog/scope.ts'
import { concatBuffers } from '../json/buffer-list.ts'
import { codes, decode, isBatch, ProtocolError, readMessage, type Message } from '../protocol/jsonrpc.ts'
import { readBatch, type InboundLimits } from './batches/batch.ts'
import { dispatchBatchMessages } from './batches/batch-dispatch.ts'
import { checkAcceptsStream, sessionNotFound, type HttpContext } from './http-context.ts'
import type { LegacyMessages } from './legacy.ts'
import type { ListenStreams } from './listen-streams.ts'
import { classify, VERSION_KEY } from './messages/era.ts'
import { decodeInSteps, isLargeBody, nextStep } from './messages/large-bodies.ts'
import { checkLengths } from './messages/lengths.ts'
import type { QuotaGuard } from './quota-guard.ts'
import { endSession } from './session-end.ts'
import type { ClientSessions, Session } from './sessions/client-sessions.ts'
import type { Heartbeat } from './sessions/heartbeat.ts'
import type { HttpReply } from './sessions/reply.ts'
import type { RequestContext } from './sessions/request-context.ts'
import { ChannelWriter, type Channel, type ResponseWriter, type RunHandler } from './sessions/response-writer.ts'

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

/**
 * Sends the responses to posted messages on the session's streams; a challenge is the answer to the POST while that has
 * none.
 */
const channelOf = (heartbeat: Pick<Heartbeat, 'delete'>, { streams }: Session, reply: HttpReply): Channel => {
  const send = (text: string) => {
    for (const stream of streams) stream.sendMessage(text)
  }
  return {
    sendMessage: send,
    finish(writer, answer) {
      heartbeat.delete(writer)
      if (answer) send(concatBuffers(answer.pieces).toString())
    },
    refuse(error, status, challenge) {
      if (reply.isEnded) return false
      reply.sendBody(Buffer.from(error), status, { 'www-authenticate': challenge })
      return true
    }
  }
}

export interface HttpSseOptions {
  readonly sessions: Pick<ClientSessions, 'open' | 'find' | 'end'>
  readonly scopes: Pick<CurrentScopes, 'scope'>
  readonly streams: ListenStreams
  readonly legacy: LegacyMessages
  readonly heartbeat: Pick<Heartbeat, 'delete'>
  readonly quotaGuard: QuotaGuard
  readonly limits: InboundLimits
  readonly run: RunHandler
}

/** A message that an HTTP+SSE client posted. */
export interface PostedMessage {
  readonly sessionId: string | undefined
  readonly body: Buffer
}

/** Serves clients of the HTTP+SSE transport (mcp-proxy.md#httpsse-transport). */
export class HttpSse {
  readonly #options: HttpSseOptions

  constructor(options: HttpSseOptions) {
    this.#options = options
  }

  /**
   * Opens a stream. The stream is the session: closing it ends both. `companion` is the path for the client's POST
   * requests.
   */
  open(http: HttpContext, reply: HttpReply, companion: string): void {
    const { sessions, streams, quotaGuard } = this.#options
    checkAcceptsStream(http)
    if (!quotaGuard.reserveStream(http, reply)) return
    const session = sessions.open(http.caller.key, http.endpoint)
    if (typeof session === 'string') return quotaGuard.refuse(http, reply, 'sessions', session)
    streams.attach(http, session, reply, { onLeave: () => endSession(sessions, session) })
    http.response.write(`event: endpoint\ndata: ${companion}?sessionId=${session.id}\n\n`)
  }

  /**
   * Handles a POST: rejects invalid messages in the HTTP response and sends all other responses on the session's stream.
   */
  async post(http: HttpContext, reply: HttpReply, { sessionId, body }: PostedMessage): Promise<void> {
    const { heartbeat, run } = this.#options
    const session = this.#findSession(http, sessionId)
    const isLarge = isLargeBody(body)
    const [text, limits] = isLarge
      ? await decodeInSteps(body, this.#options.limits)
      : [decode(body), this.#options.limits]
    const { version } = session
    const messages = isBatch(text) ? readBatch(text, version || undefined, limits) : [readMessage(text, limits)]
    if (isLarge) await nextStep()
    const accept = () => reply.sendBody(Buffer.from('Accepted'), 202, { 'content-type': 'text/plain' })
    if (isBatch(text)) accept()
    const channel = channelOf(heartbeat, session, reply)
    const writers = messages.map(({ id }) => new ChannelWriter(channel, id))
    const dispatched = dispatchBatchMessages(messages, writers, session, (message, writer) =>
      run(http.requestId, writer, () => {
        // the session may have ended meanwhile
        this.#findSession(http, sessionId)
        return this.#dispatch(http, session, message, writer)
      })
    )
    // a single message is decided on before its POST is answered, which may be a challenge
    if (!reply.isEnded) accept()
    await dispatched
  }

  #dispatch(http: HttpContext, session: Session, message: Message, reply: ResponseWriter): Promise<void> | void {
    const { limits, scopes, legacy } = this.#options
    checkLengths(message, limits.identifierBytes)
    checkEra(http, message)
    const { headers, caller, endpoint, requestId, address } = http
    const scope = scopes.scope(caller, endpoint)
    const { capabilities } = session
    const context: RequestContext = {
      ...{ message, headers, reply, caller, endpoint, requestId, address, scope, session, capabilities },
      era: 'legacy',
      taskCapabilities: undefined,
      observation: null
    }
    return message.kind === 'request' ? legacy.request(context) : legacy.notification(context)
  }

  #findSession({ caller, endpoint }: HttpContext, id: string | undefined): Session {
    if (!id) throw new ProtocolError(codes.session, 'Bad Request: "sessionId" is missing in the query')
    const session = this.#options.sessions.find(id, caller.key, endpoint)
    if (!session) throw sessionNotFound()
    return session
  }
}
