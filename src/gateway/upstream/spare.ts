import type { Sink } from './call.ts'
import type { Connection } from './connection.ts'

/** An open session that belongs to nobody yet. */
export interface Spare {
  /** Whether a call can use it. */
  readonly isGood: boolean
  /** Gives it to a call; `sink` answers what the upstream has asked so far. */
  take(sink: Sink): Connection
  /** Closes it. Idempotent. */
  end(): void
}

export interface SpareOptions {
  /** Whether clients of that kind can be asked anything. */
  readonly canBeAsked: boolean
  /** As `TransportClient` has it. */
  readonly basis: () => string | undefined
  /** It is taken or over; `hasDied`: by itself. Called once. */
  readonly onGone: (hasDied: boolean) => void
}

/**
 * What the upstream asks right after the handshake (its client's roots, mostly) waits for the call that takes the session.
 * An upstream that gives a question up goes on without the answer that a caller would have given: then it is of no use.
 */
export function createSpare(connection: Connection, { canBeAsked, basis, onGone }: SpareOptions): Spare {
  const used = basis()
  const asked: ((sink: Sink) => void)[] = []
  let isGone = false

  const leave = (hasDied: boolean) => {
    if (isGone) return
    isGone = true
    connection.onClose = null
    onGone(hasDied)
  }
  const spare: Spare = {
    get isGood() {
      return !isGone && !connection.closed && used === basis()
    },
    take(sink) {
      leave(false)
      connection.onRequest = null
      for (const answer of asked) answer(sink)
      return connection
    },
    end() {
      leave(false)
      connection.close()
    }
  }
  connection.onClose = () => leave(true)
  if (canBeAsked) {
    connection.onRequest = (method, params, asking) =>
      new Promise((resolve) => {
        asking.onCancel = spare.end
        asked.push((sink) => resolve(sink.request(method, params, asking)))
      })
  }
  return spare
}
