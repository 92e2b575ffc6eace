import type { OutgoingHttpHeaders } from 'node:http'
import { UpstreamFailure } from '../upstream/failure.ts'
import { accepts } from './era.ts'
import type { Edge, HttpExchange } from './exchange.ts'
import { codes, ProtocolError } from './jsonrpc.ts'
import type { Reply } from './reply.ts'
import type { Session } from './session.ts'
import type { Watcher } from './watch.ts'

export const sessionNotFound = (id = 'null') =>
  new ProtocolError(codes.sessionNotFound, 'Session not found', { status: 404, id })

/** Throws where the client cannot read an event stream. */
export function checkStream({ headers }: HttpExchange): void {
  if (accepts(headers, 'text/event-stream')) return
  throw new ProtocolError(codes.session, 'Not Acceptable: the client must accept text/event-stream', { status: 406 })
}

/** Ends a session with its calls. */
export function endSession(edge: Edge, session: Session): void {
  for (const { call } of session.calls) call.stop(new UpstreamFailure('cancelled', 'the session was ended'))
  edge.sessions.end(session)
}

/** Opens a stream on which the session hears from now on what belongs to no request. `onLeave`: it is over. */
export function attachStream(
  edge: Edge,
  { caller, endpoint }: HttpExchange,
  session: Session,
  reply: Reply,
  { headers, onLeave }: { headers?: OutgoingHttpHeaders; onLeave?: () => void } = {}
): void {
  const watcher: Watcher = {
    endpoint,
    scope: () => edge.core.scope(caller, endpoint),
    changed(list) {
      if ([...session.streams].at(-1) !== reply) return
      reply.message(`{"jsonrpc":"2.0","method":"notifications/${list}/list_changed"}`)
    },
    end: () => reply.close()
  }
  reply.onLeave = () => {
    session.streams.delete(reply)
    edge.watch.delete(watcher)
    onLeave?.()
  }
  session.streams.add(reply)
  edge.heartbeat.add(reply)
  reply.openStream(headers)
  edge.watch.add(watcher)
}
