import type { OutgoingHttpHeaders } from 'node:http'
import { UpstreamFailure } from '../upstream/failure.ts'
import { accepts } from './era.ts'
import type { Edge, HttpExchange } from './exchange.ts'
import { codes, ProtocolError } from './jsonrpc.ts'
import type { Reply } from './reply.ts'
import type { Session } from './session.ts'
import { takeStream } from './shares.ts'
import type { Watcher } from './watch.ts'

export const sessionNotFound = (id = 'null') =>
  new ProtocolError(codes.sessionNotFound, 'Session not found', { status: 404, id })

/** Throws where the client cannot read an event stream. */
export function checkStream({ headers }: HttpExchange, id = 'null'): void {
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
export function endSession(edge: Edge, session: Session): void {
  stopCalls(session)
  edge.sessions.end(session)
}

/** The stream on which the session hears what belongs to no request; its client may be away for a moment. */
export const listenerOf = ({ streams, awaited }: Session): Reply | null => [...streams].at(-1) ?? awaited

/** Opens a stream on which the session hears from now on what belongs to no request. `onLeave`: it is over. */
export function attachStream(
  edge: Edge,
  { caller, endpoint }: HttpExchange,
  session: Session,
  reply: Reply,
  { headers, onLeave }: { headers?: OutgoingHttpHeaders; onLeave?: () => void } = {}
): void {
  const watcher: Watcher = {
    principal: caller.key,
    endpoint,
    scope: () => edge.core.scope(caller, endpoint),
    changed(list) {
      if (listenerOf(session) !== reply) return
      reply.message(`{"jsonrpc":"2.0","method":"notifications/${list}/list_changed"}`)
    },
    isAwaited: () => session.calls.size > 0,
    end: () => reply.close()
  }
  reply.onLeave = () => {
    session.streams.delete(reply)
    if (session.awaited === reply) session.awaited = null
    edge.watch.delete(watcher)
    onLeave?.()
  }
  session.streams.add(reply)
  edge.heartbeat.add(reply)
  reply.openStream(headers)
  reply.whenDropped(
    () => keepFor(session, reply),
    () => {
      if (session.awaited === reply) session.awaited = null
      session.streams.add(reply)
    }
  )
  edge.watch.add(watcher)
}

/** What is said while nobody listens is kept on the stream that was open last, for its client to come back to. */
function keepFor(session: Session, reply: Reply): void {
  session.streams.delete(reply)
  if (session.streams.size > 0) return reply.close()
  session.awaited?.close()
  session.awaited = reply
}

/**
 * Goes on with a stream whose connection broke, behind the event that its client saw last (mcp-proxy.md#resumption).
 */
export function resumeStream(
  edge: Edge,
  http: HttpExchange,
  session: Session,
  reply: Reply,
  lastEventId: string
): void {
  const found = edge.replays.find(session, lastEventId)
  if (!found) throw new ProtocolError(codes.session, 'Bad Request: the event id is not known (any more)')
  if (!takeStream(edge, http, reply)) return
  const { track, after } = found
  reply.onLeave = () => void edge.replays.drop(track, reply)
  edge.heartbeat.add(reply)
  reply.openStream({ 'mcp-session-id': session.id })
  edge.replays.resume(track, after, reply)
}
