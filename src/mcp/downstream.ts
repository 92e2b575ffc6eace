import { AppError } from '../lib/errors.ts'
import { groupOf } from '../catalog/endpoint.ts'
import { openBatch, readBatch } from './batch.ts'
import { dispatchBatchMessages } from './batch-dispatch.ts'
import { accepts, classify, header } from './messages/era.ts'
import type { McpContext, RequestContext, HttpContext } from './request-context.ts'
import { codes, decode, isBatch, ProtocolError, readMessage, type Message } from '../protocol/jsonrpc.ts'
import { checkLengths } from './messages/lengths.ts'
import { legacyNotification, legacyRequest } from './legacy.ts'
import { attachStream, checkAcceptsStream, endSession, resumeStream, sessionNotFound, stopCalls } from './get-stream.ts'
import { modernRequest } from './modern.ts'
import { HttpReply } from './sessions/reply.ts'
import type { ResponseWriter, RunHandler } from './sessions/response-writer.ts'
import type { Session } from './sessions/client-sessions.ts'
import { refuseOverQuota, takeStreamPlace } from './quotas.ts'
import { openSse, postToSse } from './http-sse.ts'

/** Request handlers of the MCP endpoints. They never throw; each call answers its HTTP request. */
export interface Downstream {
  post(http: HttpContext, body: Buffer): void
  /** Returns true if the body contains only responses and notifications, no requests. */
  startsNoWork(body: Buffer): boolean
  get(http: HttpContext): void
  delete(http: HttpContext): void
  /** Opens an HTTP+SSE stream; `companion` is the path sent to the client for its POST requests. */
  openSse(http: HttpContext, companion: string): void
  postToSse(http: HttpContext, posted: { readonly sessionId: string | undefined; readonly body: Buffer }): void
  /** Schedules `list_changed` notifications after the catalog was replaced. */
  scheduleListChanges(): void
  /** Returns the number of active calls of legacy sessions, including those that no HTTP request waits for. */
  countSessionCalls(): number
  /** Closes the listening streams that no active call needs for its response. */
  endIdleStreams(): void
  /** Ends all sessions and streams of a deleted group, including their calls. */
  endGroup(name: string): void
  /** Ends everything open for principals whose token was revoked or rotated: sessions, streams and calls. */
  endPrincipals(isRevoked: (principal: string) => boolean): void
  /** Ends every open stream. */
  close(): void
}

const sessionId = ({ headers }: HttpContext): string | undefined => {
  const value = headers['mcp-session-id']
  return typeof value === 'string' ? value : undefined
}

/**
 * Returns the session named by the request. No id means no session; an invalid id is an error
 * (mcp-proxy.md#client-sessions).
 */
function sessionOf(mcp: McpContext, http: HttpContext, id?: string): Session | undefined {
  const given = sessionId(http)
  if (given === undefined) return undefined
  const session = mcp.sessions.find(given, http.caller.key, http.endpoint)
  if (!session) throw sessionNotFound(id)
  return session
}

function createRequestContext(
  mcp: McpContext,
  http: HttpContext,
  reply: ResponseWriter,
  message: Message
): RequestContext {
  checkLengths(message, mcp.limits.identifierBytes)
  const era = classify(http.headers, message)
  const { caller, endpoint, requestId, address } = http
  const session = era === 'legacy' ? sessionOf(mcp, http, message.id) : undefined
  const capabilities = era === 'modern' ? mcp.clientInfoCache.capabilities(message) : (session?.capabilities ?? '{}')
  if (session && reply instanceof HttpReply) reply.enableResumption(mcp.eventStore, session)
  const scope = mcp.dataPlane.scope(caller, endpoint)
  const { headers } = http
  return {
    mcp,
    era,
    message,
    headers,
    reply,
    caller,
    endpoint,
    requestId,
    address,
    scope,
    session,
    capabilities,
    observation: null
  }
}

function checkAccept({ headers }: HttpContext, id?: string): void {
  if (accepts(headers, 'application/json') && accepts(headers, 'text/event-stream')) return
  throw new ProtocolError(
    codes.session,
    'Not Acceptable: the client must accept both application/json and text/event-stream',
    { status: 406, ...(id === undefined ? {} : { id }) }
  )
}

function dispatch(mcp: McpContext, http: HttpContext, reply: ResponseWriter, message: Message): Promise<void> | void {
  const context = createRequestContext(mcp, http, reply, message)
  if (context.era === 'modern') {
    return message.kind === 'request' ? modernRequest(context, http) : reply.sendEmpty(202)
  }
  if (message.kind !== 'request') return legacyNotification(context)
  checkAccept(http, message.id)
  return legacyRequest(context, http.headers)
}

/** Returns true if the body contains no request; a malformed body counts as a request. */
function startsNoWork(mcp: McpContext, body: Buffer): boolean {
  try {
    const text = decode(body)
    const messages = isBatch(text) ? readBatch(text, undefined, mcp) : [readMessage(text, mcp.limits)]
    return messages.every(({ kind }) => kind !== 'request')
  } catch {
    return false
  }
}

async function dispatchBatch(
  mcp: McpContext,
  http: HttpContext,
  reply: HttpReply,
  text: string,
  run: RunHandler
): Promise<void> {
  const session = sessionOf(mcp, http)
  const version = session?.version ?? header(http.headers, 'mcp-protocol-version')
  const messages = readBatch(text, version, mcp)
  if (session) reply.enableResumption(mcp.eventStore, session)
  if (messages.some(({ kind }) => kind === 'request')) checkAccept(http)
  const writers = openBatch(messages, reply, mcp)
  await dispatchBatchMessages(messages, writers, session, (message, writer) =>
    run(http.requestId, writer, () => dispatch(mcp, http, writer, message))
  )
}

/** Opens the GET stream of a legacy session, for messages that belong to no request. */
function openListenStream(mcp: McpContext, http: HttpContext, reply: HttpReply): void {
  const session = sessionOf(mcp, http)
  if (!session) return reply.sendHttpError(405, 'method not allowed without a session', { allow: 'POST' })
  checkAcceptsStream(http)
  const lastEventId = header(http.headers, 'last-event-id')
  // events stored by another process are lost, yet the stream opens: clients do not retry after an error
  const isLost = lastEventId && mcp.eventStore.isFromOtherProcess(lastEventId)
  if (lastEventId && !isLost) return resumeStream(mcp, http, session, reply, lastEventId)
  session.detachedStream?.close()
  if (!takeStreamPlace(mcp, http, reply)) return
  reply.enableResumption(mcp.eventStore, session)
  attachStream(mcp, http, session, reply, { headers: { 'mcp-session-id': session.id } })
}

/** Responds after the session's end is stored, so that the id stays invalid on every replica and after a restart. */
async function deleteSession(mcp: McpContext, http: HttpContext, reply: HttpReply): Promise<void> {
  const session = sessionOf(mcp, http)
  if (!session) return reply.sendHttpError(405, 'method not allowed without a session', { allow: 'POST' })
  const end = mcp.sessions.endOf(session)
  const { ends } = mcp.quotas
  if (!ends.acquire(session.principal)) return refuseOverQuota(mcp, http, reply, 'ends')
  try {
    if (end) await mcp.storeSessionEnd(end)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    const message = 'Service Unavailable: the end of the session could not be stored, try again'
    throw new ProtocolError(codes.internal, message, { status: 503 })
  } finally {
    ends.release(session.principal)
  }
  stopCalls(session)
  mcp.sessions.expire(session)
  reply.sendEmpty(200)
}

export function createDownstream(mcp: McpContext, log: { error(details: object, text: string): void }): Downstream {
  const fail = (requestId: string, reply: ResponseWriter, error: unknown) => {
    if (error instanceof ProtocolError) {
      const { id, code, message, status, data } = error
      return reply.sendError(id, code, message, { status, data })
    }
    log.error({ request_id: requestId, err: error }, 'an MCP request failed')
    reply.sendError('null', codes.internal, 'Internal error', { status: 500 })
  }
  const run: RunHandler = (requestId, reply, work) => {
    try {
      const promise = work()
      if (promise) promise.catch((error: unknown) => fail(requestId, reply, error))
    } catch (error) {
      fail(requestId, reply, error)
    }
  }
  const serve = (http: HttpContext, work: (reply: HttpReply) => Promise<void> | void) => {
    const { heartbeat, maxBufferedBytes, unsentResponses } = mcp
    const acceptsStream = accepts(http.headers, 'text/event-stream')
    const reply = new HttpReply(http.response, {
      heartbeat,
      principal: http.caller.key,
      acceptsStream,
      maxBufferedBytes,
      unsentResponses
    })
    run(http.requestId, reply, () => work(reply))
  }
  const post = (http: HttpContext, reply: HttpReply, body: Buffer) => {
    const text = decode(body)
    if (isBatch(text)) return dispatchBatch(mcp, http, reply, text, run)
    return dispatch(mcp, http, reply, readMessage(text, mcp.limits))
  }
  return {
    post: (http, body) => serve(http, (reply) => post(http, reply, body)),
    startsNoWork: (body) => startsNoWork(mcp, body),
    get: (http) => serve(http, (reply) => openListenStream(mcp, http, reply)),
    delete: (http) => serve(http, (reply) => deleteSession(mcp, http, reply)),
    openSse: (http, companion) => serve(http, (reply) => openSse(mcp, http, reply, companion)),
    postToSse: (http, posted) => serve(http, (reply) => postToSse(mcp, http, reply, posted, run)),
    scheduleListChanges: () => mcp.listChanges.schedule(),
    countSessionCalls: () => mcp.sessions.countCalls(),
    endIdleStreams: () => mcp.listChanges.end((subscriber) => !subscriber.hasActiveCalls?.()),
    endGroup(name) {
      const isGone = (endpoint: string) => groupOf(endpoint) === name
      for (const session of mcp.sessions.filter(({ endpoint }) => isGone(endpoint))) endSession(mcp, session)
      mcp.inputRequiredStore.end((_principal, endpoint) => isGone(endpoint))
      mcp.listChanges.end(({ endpoint }) => isGone(endpoint))
    },
    endPrincipals(isRevoked) {
      for (const session of mcp.sessions.filter(({ principal }) => isRevoked(principal))) {
        stopCalls(session)
        mcp.sessions.expire(session)
      }
      mcp.inputRequiredStore.end(isRevoked)
      mcp.listChanges.end(({ principal }) => isRevoked(principal))
      mcp.heartbeat.revoke(isRevoked)
    },
    close() {
      mcp.listChanges.close()
      mcp.inputRequiredStore.end(() => true)
      mcp.heartbeat.close()
      mcp.sessions.close()
      mcp.eventStore.close()
    }
  }
}
