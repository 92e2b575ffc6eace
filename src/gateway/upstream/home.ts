import type { Answer, Asking } from './call.ts'
import type { Connection } from './connection.ts'

/** The client whose sessions with upstreams are its own: it gets what they say and ask while no call of it is under way. */
export interface Home {
  /** `params` is JSON text. */
  notify(server: string, method: string, params: string): void
  request(server: string, method: string, params: string, asking: Asking): Promise<Answer>
  /** There is a session with that server from now on. */
  opened(server: string): void
  /** The session with that server is over. */
  closed(server: string): void
}

/** From now on what belongs to no call of the connection goes home too. */
export function bringHome(connection: Connection, server: string, home: Home): void {
  const { onNotification } = connection
  connection.onNotification = (method, params) => {
    onNotification?.(method, params)
    home.notify(server, method, params)
  }
  connection.onRequest = (...asked) => home.request(server, ...asked)
}
