import type { OutgoingHttpHeaders } from 'node:http'
import { UpstreamFailure } from '../upstream/failure.ts'
import { accepts } from './era.ts'
import type { McpContext, HttpContext } from './exchange.ts'
import { codes, ProtocolError } from './jsonrpc.ts'
import type { HttpReply } from './reply.ts'
import { type Session, currentStreamOf } from './session.ts'
import { takeStreamPlace } from './shares.ts'
import type { ListChangeSubscriber } from './watch.ts'

export const sessionNotFound = (id = 'null') =>
  new ProtocolError(codes.sessionNotFound, 'Session not found', { status: 404, id })

/** Throws where the client cannot read an event stream. */
export function checkAcceptsStream({ headers }: HttpContext, id = 'null'): void {
  if (accepts(headers, 'text/event-stream')) return
  throw new ProtocolError(codes.session, 'Not Acceptable: the client must accept text/event-stream', {
    status: 406,
    id
  })
}

export function stopCalls({ calls }: Session): void {
  for (const { call } of calls) call.stop(new UpstreamFailure('cancelled', 'the session was ended'))
}

/** Ends a session with its calls. */
export function endSession(mcp: McpContext, session: Session): void {
  stopCalls(session)
  mcp.sessions.end(session)
}

/** Opens a stream on which the session hears from now on what belongs to no request. `onLeave`: it is over. */
export function attachStream(
  mcp: McpContext,
  { caller, endpoint }: HttpContext,
  session: Session,
  reply: HttpReply,
  { headers, onLeave }: { headers?: OutgoingHttpHeaders; onLeave?: () => void } = {}
): void {
  const watcher: ListChangeSubscriber = {
    principal: caller.key,
    endpoint,
    scope: () => mcp.dataPlane.scope(caller, endpoint),
    notifyListChanged(list) {
      if (currentStreamOf(session) !== reply) return
      reply.sendMessage(`{"jsonrpc":"2.0","method":"notifications/${list}/list_changed"}`)
    },
    hasActiveCalls: () => session.calls.size > 0,
    end: () => reply.close()
  }
  reply.onAbort = () => {
    session.streams.delete(reply)
    if (session.detachedStream === reply) session.detachedStream = null
    mcp.listChanges.delete(watcher)
    onLeave?.()
  }
  session.streams.add(reply)
  mcp.heartbeat.add(reply)
  reply.openStream(headers)
  reply.setConnectionCallbacks(
    () => detachStream(session, reply),
    () => {
      if (session.detachedStream === reply) session.detachedStream = null
      session.streams.add(reply)
    }
  )
  mcp.listChanges.add(watcher)
}

/** What is said while nobody listens is kept on the stream that was open last, for its client to come back to. */
function detachStream(session: Session, reply: HttpReply): void {
  session.streams.delete(reply)
  if (session.streams.size > 0) return reply.close()
  session.detachedStream?.close()
  session.detachedStream = reply
}

/**
 * Goes on with a stream whose connection broke, behind the event that its client saw last (mcp-proxy.md#resumption).
 */
export function resumeStream(
  mcp: McpContext,
  http: HttpContext,
  session: Session,
  reply: HttpReply,
  lastEventId: string
): void {
  const found = mcp.eventStore.find(session, lastEventId)
  if (!found) throw new ProtocolError(codes.session, 'Bad Request: the event id is not known (any more)')
  if (!takeStreamPlace(mcp, http, reply)) return
  const { stream, after } = found
  reply.onAbort = () => void mcp.eventStore.drop(stream, reply)
  mcp.heartbeat.add(reply)
  reply.openStream({ 'mcp-session-id': session.id })
  mcp.eventStore.resume(stream, after, reply)
}
