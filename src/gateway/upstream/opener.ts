import type { Transport } from '../../registry/model.ts'
import type { Observer } from '../observation.ts'
import type { Breaker } from './breaker.ts'
import type { Connection, OpenOptions, TransportClient } from './connection.ts'
import { UpstreamFailure } from './failure.ts'
import type { Opening } from './stages.ts'

export interface OpenerOptions {
  /** The server's name. */
  readonly name: string
  readonly client: TransportClient
  readonly transport: Transport
  readonly breaker: Breaker
  readonly connectMs: number
  readonly observer: Pick<Observer, 'onConnected' | 'onConnectionFailure'>
  /** What connections report besides answers; `isOpening` in their first moments. */
  readonly onNotification: (method: string, params: string, isOpening: boolean) => void
}

type Wanted = Pick<OpenOptions, 'era' | 'capabilities'>

/** What a server says of its lists in the first moments of a session is mostly what it says in each. */
const OPENING_MS = 1_000

/** Ended or held up on our side: says nothing about the upstream. */
const ours: ReadonlySet<unknown> = new Set(['cancelled', 'overloaded', 'denied', 'unreadable'])

/** What a failure tells of connecting: only one before anything was sent is such. */
export function noteFailure(breaker: Breaker, error: unknown): void {
  const { reason } = error as { reason?: unknown }
  if (reason === 'timeout') breaker.recordTimeout()
  else if (!ours.has(reason)) breaker.recordResponse()
}

/**
 * Opens connections to one upstream, and tells how it went. `giveBack` gives the place of a process back: where it comes
 * to nothing, or once nothing of the process is left. Rejects with UpstreamFailure.
 */
export function createOpener(options: OpenerOptions) {
  const { name, client, transport, breaker, connectMs, observer, onNotification } = options
  return async (wanted: Wanted, timings: Opening, giveBack?: () => void): Promise<Connection> => {
    const startedAt = performance.now()
    try {
      const { era, capabilities } = wanted
      const connection = await client.open({ era, capabilities, deadline: startedAt + connectMs, timings })
      const openedAt = performance.now()
      timings.openAt = openedAt
      observer.onConnected(name, transport, openedAt - startedAt)
      if (giveBack) void (connection.ended ?? Promise.resolve()).then(giveBack)
      connection.onNotification = (method, params) =>
        onNotification(method, params, performance.now() - openedAt < OPENING_MS)
      return connection
    } catch (error) {
      if (error instanceof UpstreamFailure) observer.onConnectionFailure(name, error.reason, error.message)
      noteFailure(breaker, error)
      giveBack?.()
      throw error
    }
  }
}
