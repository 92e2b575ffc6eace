import type { OutgoingHttpHeaders } from 'node:http'
import type { CurrentScopes } from '../catalog/scope.ts'
import { codes, ProtocolError } from '../protocol/jsonrpc.ts'
import { notificationText } from '../protocol/jsonrpc-text.ts'
import { checkAcceptsStream, type HttpContext } from './http-context.ts'
import type { ListChangeNotifier, ListChangeSubscriber } from './list-change-notifier.ts'
import { header } from './messages/era.ts'
import type { QuotaGuard } from './quota-guard.ts'
import { type Session, currentStreamOf } from './sessions/client-sessions.ts'
import type { EventStore } from './sessions/event-store.ts'
import type { Heartbeat } from './sessions/heartbeat.ts'
import type { HttpReply } from './sessions/reply.ts'

export interface ListenStreamsOptions {
  readonly scopes: Pick<CurrentScopes, 'scope'>
  readonly listChanges: Pick<ListChangeNotifier, 'add' | 'delete'>
  readonly heartbeat: Pick<Heartbeat, 'add'>
  readonly eventStore: EventStore
  readonly quotaGuard: QuotaGuard
}

/** Streams of legacy sessions for messages that belong to no request: `GET` streams and those of HTTP+SSE. */
export class ListenStreams {
  readonly #options: ListenStreamsOptions

  constructor(options: ListenStreamsOptions) {
    this.#options = options
  }

  /** Serves `GET`: opens a stream, or resumes the one that the client names. */
  open(http: HttpContext, session: Session, reply: HttpReply): void {
    const { eventStore, quotaGuard } = this.#options
    checkAcceptsStream(http)
    const lastEventId = header(http.headers, 'last-event-id')
    // events stored by another process are lost, yet the stream opens: clients do not retry after an error
    const isLost = lastEventId && eventStore.isFromOtherProcess(lastEventId)
    if (lastEventId && !isLost) return this.#resume(http, session, reply, lastEventId)
    session.detachedStream?.close()
    if (!quotaGuard.reserveStream(http, reply)) return
    reply.enableResumption(eventStore, session)
    this.attach(http, session, reply, { headers: { 'mcp-session-id': session.id } })
  }

  /**
   * Makes `reply` the session's stream for messages that belong to no request. `onLeave` is called when the stream ends.
   */
  attach(
    { caller, endpoint }: HttpContext,
    session: Session,
    reply: HttpReply,
    { headers, onLeave }: { headers?: OutgoingHttpHeaders; onLeave?: () => void } = {}
  ): void {
    const { scopes, listChanges, heartbeat } = this.#options
    const subscriber: ListChangeSubscriber = {
      principal: caller.key,
      endpoint,
      scope: () => scopes.scope(caller, endpoint),
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
      listChanges.delete(subscriber)
      onLeave?.()
    }
    session.streams.add(reply)
    heartbeat.add(reply)
    reply.openStream(headers)
    reply.setConnectionCallbacks(
      () => detachStream(session, reply),
      () => {
        if (session.detachedStream === reply) session.detachedStream = null
        session.streams.add(reply)
        session.serverRequests?.streamOpened()
      }
    )
    listChanges.add(subscriber)
    session.serverRequests?.streamOpened()
  }

  /** Resumes a disconnected stream after the last event that the client received (mcp-proxy.md#resumption). */
  #resume(http: HttpContext, session: Session, reply: HttpReply, lastEventId: string): void {
    const { eventStore, heartbeat, quotaGuard } = this.#options
    const resumed = eventStore.find(session, lastEventId)
    if (!resumed) throw new ProtocolError(codes.session, 'Bad Request: unknown or expired event id')
    if (!quotaGuard.reserveStream(http, reply)) return
    const { stream, after } = resumed
    reply.onAbort = () => void eventStore.detach(stream, reply)
    heartbeat.add(reply)
    reply.openStream({ 'mcp-session-id': session.id })
    eventStore.resume(stream, after, reply)
  }
}

/** Keeps the disconnected stream if the session has no other, so that its client can reconnect to it. */
function detachStream(session: Session, reply: HttpReply): void {
  session.streams.delete(reply)
  if (session.streams.size > 0) return reply.close()
  session.detachedStream?.close()
  session.detachedStream = reply
}
