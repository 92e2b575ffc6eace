import type { Answer, InboundRequest, Call } from './call.ts'
import type { Connection } from './connection.ts'

/**
 * Callbacks to the client that owns a stateful session: receive the upstream's messages while none of the client's
 * calls is in flight, and upstream requests that do not name their call.
 */
export interface SessionCallbacks {
  /** `params` is JSON text. */
  notify(server: string, method: string, params: string): void
  /** `underway`: the calls that may have caused the request, oldest first. */
  request(
    server: string,
    method: string,
    params: string,
    asking: InboundRequest,
    underway?: readonly Call[]
  ): Promise<Answer>
  /** A session with that server was opened. */
  onOpen(server: string): void
  /** The session with that server has ended. */
  onClose(server: string): void
}

/** Routes messages that belong to no call of the connection, or to one of several, to the callbacks as well. */
export function attachCallbacks(connection: Connection, server: string, callbacks: SessionCallbacks): void {
  const { onNotification } = connection
  connection.onNotification = (method, params) => {
    onNotification?.(method, params)
    callbacks.notify(server, method, params)
  }
  connection.onRequest = (...request) => callbacks.request(server, ...request)
}
