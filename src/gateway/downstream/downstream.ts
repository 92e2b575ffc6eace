import { AppError } from '../../errors.ts'
import { groupOf } from '../endpoint.ts'
import { openBatch, readBatch } from './batch.ts'
import { accepts, classify, header } from './era.ts'
import type { Edge, Exchange, HttpExchange } from './exchange.ts'
import { codes, decode, isBatch, ProtocolError, readMessage, type Message } from './jsonrpc.ts'
import { checkLengths } from './lengths.ts'
import { legacyNotification, legacyRequest } from './legacy.ts'
import { attachStream, checkStream, endSession, resumeStream, sessionNotFound, stopCalls } from './listen.ts'
import { modernRequest } from './modern.ts'
import { Reply } from './reply.ts'
import type { Responder, Run } from './responder.ts'
import type { Session } from './session.ts'
import { refuseMore, takeStream } from './shares.ts'
import { openSse, postToSse } from './sse.ts'

/** The MCP edge: what the routes hand an HTTP request to. Never throws; each call answers its request. */
export interface Downstream {
  post(http: HttpExchange, body: Buffer): void
  /** Whether a body asks for nothing: answers to what upstreams asked, and notifications. */
  onlyFinishes(body: Buffer): boolean
  get(http: HttpExchange): void
  delete(http: HttpExchange): void
  /** HTTP+SSE: `companion` is the path that the client is told to post to. */
  openSse(http: HttpExchange, companion: string): void
  postToSse(http: HttpExchange, posted: { readonly sessionId: string | undefined; readonly body: Buffer }): void
  /** The catalog was swapped: tell those whose lists differ now. */
  catalogChanged(): void
  /** Calls of legacy sessions under way, whether or not an HTTP request waits for their answers. */
  callsOfSessions(): number
  /** Ends the streams that only listen, and on which no call waits for its answer. */
  endListening(): void
  /** The group is no more: its sessions end with their calls, and so do its streams. */
  endGroup(name: string): void
  /** Their tokens are good for nothing any more: all that they have open or under way ends. */
  endPrincipals(isOver: (principal: string) => boolean): void
  /** Ends every open stream. */
  close(): void
}

const sessionId = ({ headers }: HttpExchange): string | undefined => {
  const value = headers['mcp-session-id']
  return typeof value === 'string' ? value : undefined
}

/** A given id must be good: no id is served session-less, a wrong one is not (mcp-proxy.md#client-sessions). */
function sessionOf(edge: Edge, http: HttpExchange, id?: string): Session | undefined {
  const given = sessionId(http)
  if (given === undefined) return undefined
  const session = edge.sessions.find(given, http.caller.key, http.endpoint)
  if (!session) throw sessionNotFound(id)
  return session
}

function createExchange(edge: Edge, http: HttpExchange, reply: Responder, message: Message): Exchange {
  checkLengths(message, edge.limits.identifierBytes)
  const era = classify(http.headers, message)
  const { caller, endpoint, requestId, address } = http
  const session = era === 'legacy' ? sessionOf(edge, http, message.id) : undefined
  const capabilities = era === 'modern' ? edge.introductions.capabilities(message) : (session?.capabilities ?? '{}')
  if (session && reply instanceof Reply) reply.mayResume(edge.replays, session)
  const scope = edge.core.scope(caller, endpoint)
  const { headers } = http
  return {
    edge,
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

function checkAccept({ headers }: HttpExchange, id?: string): void {
  if (accepts(headers, 'application/json') && accepts(headers, 'text/event-stream')) return
  throw new ProtocolError(
    codes.session,
    'Not Acceptable: the client must accept both application/json and text/event-stream',
    { status: 406, ...(id === undefined ? {} : { id }) }
  )
}

function dispatch(edge: Edge, http: HttpExchange, reply: Responder, message: Message): Promise<void> | void {
  const exchange = createExchange(edge, http, reply, message)
  if (exchange.era === 'modern') {
    return message.kind === 'request' ? modernRequest(exchange, http) : reply.empty(202)
  }
  if (message.kind !== 'request') return legacyNotification(exchange)
  checkAccept(http, message.id)
  return legacyRequest(exchange, http.headers)
}

/** What is malformed is no answer to anything. */
function onlyFinishes(edge: Edge, body: Buffer): boolean {
  try {
    const text = decode(body)
    const messages = isBatch(text) ? readBatch(text, undefined, edge) : [readMessage(text, edge.limits)]
    return messages.every(({ kind }) => kind !== 'request')
  } catch {
    return false
  }
}

function dispatchBatch(edge: Edge, http: HttpExchange, reply: Reply, text: string, run: Run): void {
  const session = sessionOf(edge, http)
  const version = session?.version ?? header(http.headers, 'mcp-protocol-version')
  const messages = readBatch(text, version, edge)
  if (session) reply.mayResume(edge.replays, session)
  if (messages.some(({ kind }) => kind === 'request')) checkAccept(http)
  const parts = openBatch(messages, reply, edge)
  for (const [i, message] of messages.entries()) {
    const part = parts[i]!
    run(http.requestId, part, () => dispatch(edge, http, part, message))
  }
}

/** Opens the stream on which a legacy session hears what belongs to no request. */
function openListenStream(edge: Edge, http: HttpExchange, reply: Reply): void {
  const session = sessionOf(edge, http)
  if (!session) return reply.plain(405, 'method not allowed without a session', { allow: 'POST' })
  checkStream(http)
  const lastEventId = header(http.headers, 'last-event-id')
  // what another process had kept is lost, but the client hears from now on: clients do not ask again after a refusal
  const isLost = lastEventId && edge.replays.isElsewhere(lastEventId)
  if (lastEventId && !isLost) return resumeStream(edge, http, session, reply, lastEventId)
  session.awaited?.close()
  if (!takeStream(edge, http, reply)) return
  reply.mayResume(edge.replays, session)
  attachStream(edge, http, session, reply, { headers: { 'mcp-session-id': session.id } })
}

/** Answers once the end is stored: the id is good nowhere then, and after no restart. */
async function deleteSession(edge: Edge, http: HttpExchange, reply: Reply): Promise<void> {
  const session = sessionOf(edge, http)
  if (!session) return reply.plain(405, 'method not allowed without a session', { allow: 'POST' })
  const end = edge.sessions.endOf(session)
  const { ends } = edge.shares
  if (!ends.take(session.principal)) return refuseMore(edge, http, reply, 'ends')
  try {
    if (end) await edge.storeEnd(end)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    const message = 'Service Unavailable: the end of the session could not be stored, try again'
    throw new ProtocolError(codes.internal, message, { status: 503 })
  } finally {
    ends.give(session.principal)
  }
  stopCalls(session)
  edge.sessions.expire(session)
  reply.empty(200)
}

export function createDownstream(edge: Edge, log: { error(details: object, text: string): void }): Downstream {
  const fail = (requestId: string, reply: Responder, error: unknown) => {
    if (error instanceof ProtocolError) {
      const { id, code, message, status, data } = error
      return reply.error(id, code, message, { status, data })
    }
    log.error({ request_id: requestId, err: error }, 'an MCP request failed')
    reply.error('null', codes.internal, 'Internal error', { status: 500 })
  }
  const run: Run = (requestId, reply, work) => {
    try {
      const working = work()
      if (working) working.catch((error: unknown) => fail(requestId, reply, error))
    } catch (error) {
      fail(requestId, reply, error)
    }
  }
  const serve = (http: HttpExchange, work: (reply: Reply) => Promise<void> | void) => {
    const { heartbeat, maxBufferedBytes, unsent } = edge
    const acceptsStream = accepts(http.headers, 'text/event-stream')
    const reply = new Reply(http.response, {
      heartbeat,
      principal: http.caller.key,
      acceptsStream,
      maxBufferedBytes,
      unsent
    })
    run(http.requestId, reply, () => work(reply))
  }
  const post = (http: HttpExchange, reply: Reply, body: Buffer) => {
    const text = decode(body)
    if (isBatch(text)) return dispatchBatch(edge, http, reply, text, run)
    return dispatch(edge, http, reply, readMessage(text, edge.limits))
  }
  return {
    post: (http, body) => serve(http, (reply) => post(http, reply, body)),
    onlyFinishes: (body) => onlyFinishes(edge, body),
    get: (http) => serve(http, (reply) => openListenStream(edge, http, reply)),
    delete: (http) => serve(http, (reply) => deleteSession(edge, http, reply)),
    openSse: (http, companion) => serve(http, (reply) => openSse(edge, http, reply, companion)),
    postToSse: (http, posted) => serve(http, (reply) => postToSse(edge, http, reply, posted, run)),
    catalogChanged: () => edge.watch.notice(),
    callsOfSessions: () => edge.sessions.calls(),
    endListening: () => edge.watch.end((watcher) => !watcher.isAwaited?.()),
    endGroup(name) {
      const isGone = (endpoint: string) => groupOf(endpoint) === name
      for (const session of edge.sessions.where(({ endpoint }) => isGone(endpoint))) endSession(edge, session)
      edge.parks.end((_principal, endpoint) => isGone(endpoint))
      edge.watch.end(({ endpoint }) => isGone(endpoint))
    },
    endPrincipals(isOver) {
      for (const session of edge.sessions.where(({ principal }) => isOver(principal))) {
        stopCalls(session)
        edge.sessions.expire(session)
      }
      edge.parks.end(isOver)
      edge.watch.end(({ principal }) => isOver(principal))
      edge.heartbeat.end(isOver)
    },
    close() {
      edge.watch.close()
      edge.parks.end(() => true)
      edge.heartbeat.close()
      edge.sessions.close()
      edge.replays.close()
    }
  }
}
