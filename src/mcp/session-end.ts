import { AppError } from '../lib/errors.ts'
import type { Quota } from '../lib/quota.ts'
import { codes, ProtocolError } from '../protocol/jsonrpc.ts'
import { UpstreamFailure } from '../protocol/upstream-failure.ts'
import type { SessionEnd } from '../registry/session-ends.ts'
import type { HttpContext } from './http-context.ts'
import type { QuotaGuard } from './quota-guard.ts'
import type { ClientSessions, Session } from './sessions/client-sessions.ts'
import type { ResponseWriter } from './sessions/response-writer.ts'

/** Stops the active calls of a session. */
export function stopCalls({ calls }: Session): void {
  for (const { call } of calls) call.stop(new UpstreamFailure('cancelled', 'the session was ended'))
}

/** Ends a session and its active calls. */
export function endSession(sessions: Pick<ClientSessions, 'end'>, session: Session): void {
  stopCalls(session)
  sessions.end(session)
}

/** Ends a session on this replica only, and its active calls. */
export function expireSession(sessions: Pick<ClientSessions, 'expire'>, session: Session): void {
  stopCalls(session)
  sessions.expire(session)
}

export interface SessionDeletionOptions {
  readonly sessions: Pick<ClientSessions, 'endOf' | 'expire'>
  /** Stores the end of a session and announces it to the other replicas. Rejects with AppError. */
  readonly storeSessionEnd: (end: SessionEnd) => Promise<void>
  /** Session ends being stored, counted apart from calls because ending a session stops its calls. */
  readonly ends: Quota
  readonly quotaGuard: QuotaGuard
}

export type DeleteSession = (session: Session, http: HttpContext, reply: ResponseWriter) => Promise<void>

/** Returns the function that serves `DELETE`. */
export const createSessionDeletion =
  ({ sessions, storeSessionEnd, ends, quotaGuard }: SessionDeletionOptions): DeleteSession =>
  // answers after the end is stored, so that the id stays invalid on every replica and after a restart
  async (session, http, reply) => {
    const end = sessions.endOf(session)
    if (!ends.acquire(session.principal)) return quotaGuard.refuse(http, reply, 'ends')
    try {
      if (end) await storeSessionEnd(end)
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      const message = 'Service Unavailable: the end of the session could not be stored, try again'
      throw new ProtocolError(codes.internal, message, { status: 503 })
    } finally {
      ends.release(session.principal)
    }
    expireSession(sessions, session)
    reply.sendEmpty(200)
  }
