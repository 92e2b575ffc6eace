import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { Caller } from '../catalog/caller.ts'
import { codes, ProtocolError } from '../protocol/jsonrpc.ts'
import { accepts } from './messages/era.ts'
import type { ClientSessions, Session } from './sessions/client-sessions.ts'

/** One HTTP request on an MCP endpoint that has passed the Host, Origin and authentication checks. */
export interface HttpContext {
  readonly headers: IncomingHttpHeaders
  readonly response: ServerResponse
  readonly caller: Caller
  /** Path of the endpoint; sessions are bound to it. */
  readonly endpoint: string
  readonly requestId: string
  /** Client address for the audit log, read early because the socket may be gone when a refusal is recorded. */
  readonly address: string | undefined
}

const notAcceptable = (types: string, id: string | undefined) =>
  new ProtocolError(codes.session, `Not Acceptable: the client must accept ${types}`, {
    status: 406,
    ...(id === undefined ? {} : { id })
  })

/** Throws ProtocolError if the client does not accept an event stream. */
export function checkAcceptsStream({ headers }: HttpContext, id?: string): void {
  if (!accepts(headers, 'text/event-stream')) throw notAcceptable('text/event-stream', id)
}

/** Throws ProtocolError if the client does not accept both forms of a response. */
export function checkAcceptsBoth({ headers }: HttpContext, id?: string): void {
  if (accepts(headers, 'application/json') && accepts(headers, 'text/event-stream')) return
  throw notAcceptable('both application/json and text/event-stream', id)
}

export const sessionNotFound = (id = 'null') =>
  new ProtocolError(codes.sessionNotFound, 'Session not found', { status: 404, id })

/**
 * Returns the session that the request names. No id means no session; an invalid id is an error
 * (mcp-proxy.md#client-sessions).
 */
export function findSession(
  sessions: Pick<ClientSessions, 'find'>,
  { headers, caller, endpoint }: HttpContext,
  requestId?: string
): Session | undefined {
  const id = headers['mcp-session-id']
  if (typeof id !== 'string') return undefined
  const session = sessions.find(id, caller.key, endpoint)
  if (!session) throw sessionNotFound(requestId)
  return session
}
