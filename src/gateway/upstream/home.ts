import type { Answer, Asking, Call } from './call.ts'
import type { Connection } from './connection.ts'

/**
 * The client whose sessions with upstreams are its own: it gets what they say while no call
 * of it is under way, and what they ask without saying for which call.
 */
export interface Home {
  /** `params` is JSON text. */
  notify(server: string, method: string, params: string): void
  /** `underway`: the calls that may have caused it, the oldest first. */
  request(server: string, method: string, params: string, asking: Asking, underway?: readonly Call[]): Promise<Answer>
  /** There is a session with that server from now on. */
  opened(server: string): void
  /** The session with that server is over. */
  closed(server: string): void
}

/** From now on what belongs to no call of the connection, or may belong to several, goes home too. */
export function bringHome(connection: Connection, server: string, home: Home): void {
  const { onNotification } = connection
  connection.onNotification = (method, params) => {
    onNotification?.(method, params)
    home.notify(server, method, params)
  }
  connection.onRequest = (...asked) => home.request(server, ...asked)
}
