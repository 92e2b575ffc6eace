import type { Sink } from '../transport/call.ts'
import type { Connection } from '../transport/connection.ts'

/** An open session that no call has used yet. */
export interface SpareSession {
  /** True if a call can use the session. */
  readonly isUsable: boolean
  /** Hands the session to a call; `sink` answers the requests that the upstream has sent so far. */
  take(sink: Sink): Connection
  /** Closes the session. Idempotent. */
  close(): void
}

export interface SpareSessionOptions {
  /** True if clients with these capabilities can answer requests. */
  readonly acceptsRequests: boolean
  /** Fingerprint of the transport client. */
  readonly fingerprint: () => string | undefined
  /** Called once when the session is taken or has ended; `hasDied`: it ended by itself. */
  readonly onRemoved: (hasDied: boolean) => void
}

/**
 * Creates a spare session. Requests that the upstream sends right after the handshake (usually `roots/list`) wait for
 * the call that takes the session. If the upstream cancels one, it goes on without the caller's answer, and the session
 * is unusable.
 */
export function createSpareSession(
  connection: Connection,
  { acceptsRequests, fingerprint, onRemoved }: SpareSessionOptions
): SpareSession {
  const openedWith = fingerprint()
  const heldRequests: ((sink: Sink) => void)[] = []
  let isRemoved = false

  const remove = (hasDied: boolean) => {
    if (isRemoved) return
    isRemoved = true
    connection.onClose = null
    onRemoved(hasDied)
  }
  const session: SpareSession = {
    get isUsable() {
      return !isRemoved && !connection.closed && openedWith === fingerprint()
    },
    take(sink) {
      remove(false)
      connection.onRequest = null
      for (const answer of heldRequests) answer(sink)
      return connection
    },
    close() {
      remove(false)
      connection.close()
    }
  }
  connection.onClose = () => remove(true)
  if (acceptsRequests) {
    connection.onRequest = (method, params, inbound) =>
      new Promise((resolve) => {
        inbound.onCancel = session.close
        heldRequests.push((sink) => resolve(sink.request(method, params, inbound)))
      })
  }
  return session
}
