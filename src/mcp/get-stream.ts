import type { OutgoingHttpHeaders } from 'node:http'
import { UpstreamFailure } from '../protocol/upstream-failure.ts'
import { accepts } from './messages/era.ts'
import type { McpContext, HttpContext } from './request-context.ts'
import { codes, ProtocolError } from '../protocol/jsonrpc.ts'
import { notificationText } from '../protocol/jsonrpc-text.ts'
import type { HttpReply } from './sessions/reply.ts'
import { type Session, currentStreamOf } from './sessions/client-sessions.ts'
import { takeStreamPlace } from './quotas.ts'
import type { ListChangeSubscriber } from './list-change-notifier.ts'

export const sessionNotFound = (id = 'null') =>
  new ProtocolError(codes.sessionNotFound, 'Session not found', { status: 404, id })

/** Throws ProtocolError if the client does not accept an event stream. */
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

/** Ends a session and its active calls. */
export function endSession(mcp: McpContext, session: Session): void {
  stopCalls(session)
  mcp.sessions.end(session)
}

/**
 * Makes `reply` the session's stream for messages that belong to no request. `onLeave` is called when the stream ends.
 */
export function attachStream(
  mcp: McpContext,
  { caller, endpoint }: HttpContext,
  session: Session,
  reply: HttpReply,
  { headers, onLeave }: { headers?: OutgoingHttpHeaders; onLeave?: () => void } = {}
): void {
  const subscriber: ListChangeSubscriber = {
    principal: caller.key,
    endpoint,
    scope: () => mcp.dataPlane.scope(caller, endpoint),
    notifyListChanged(list) {
      if (currentStreamOf(session) !== reply) return
      reply.sendMessage(notificationText(`notifications/${list}/list_changed`))
    },
    hasActiveCalls: () => session.calls.size > 0,
    end: () => reply.close()
  }
  reply.onAbort = () => {
    session.streams.delete(reply)
    if (session.detachedStream === reply) session.detachedStream = null
    mcp.listChanges.delete(subscriber)
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
      session.serverRequests?.streamOpened()
    }
  )
  mcp.listChanges.add(subscriber)
  session.serverRequests?.streamOpened()
}

/** Keeps the disconnected stream if the session has no other, so that its client can reconnect to it. */
function detachStream(session: Session, reply: HttpReply): void {
  session.streams.delete(reply)
  if (session.streams.size > 0) return reply.close()
  session.detachedStream?.close()
  session.detachedStream = reply
}

/** Resumes a disconnected stream after the last event that the client received (mcp-proxy.md#resumption). */
export function resumeStream(
  mcp: McpContext,
  http: HttpContext,
  session: Session,
  reply: HttpReply,
  lastEventId: string
): void {
  const resumed = mcp.eventStore.find(session, lastEventId)
  if (!resumed) throw new ProtocolError(codes.session, 'Bad Request: unknown or expired event id')
  if (!takeStreamPlace(mcp, http, reply)) return
  const { stream, after } = resumed
  reply.onAbort = () => void mcp.eventStore.detach(stream, reply)
  mcp.heartbeat.add(reply)
  reply.openStream({ 'mcp-session-id': session.id })
  mcp.eventStore.resume(stream, after, reply)
}
