import type { SessionMode } from '../../domain/session-modes.ts'
import type { Transport } from '../../domain/transports.ts'
import type { Observer } from '../../observe/observation.ts'
import type { Breaker } from './breaker.ts'
import type { Connection, OpenOptions, TransportClient } from '../transport/connection.ts'
import { administrators, messageOf, UpstreamFailure } from '../../protocol/upstream-failure.ts'
import type { ConnectTimings } from '../../observe/connect-timings.ts'

export interface ConnectorOptions {
  /** Name of the server. */
  readonly name: string
  readonly client: TransportClient
  readonly transport: Transport
  readonly mode: SessionMode
  readonly breaker: Breaker
  readonly connectMs: number
  readonly observer: Pick<Observer, 'onConnected' | 'onConnectionFailure'>
  /** Receives notifications outside of calls; `isOpening` is true in the first moments of a connection. */
  readonly onNotification: (method: string, params: string, isOpening: boolean) => void
}

type ConnectParameters = Pick<OpenOptions, 'era' | 'capabilities'>

/** Time after connecting in which list changes count as initial: many servers announce their lists in every session. */
const OPENING_MS = 1_000

/** Failures with a local cause; they say nothing about the upstream. */
const localReasons: ReadonlySet<unknown> = new Set(['cancelled', 'overloaded', 'denied', 'unreadable'])

/** Records a failure in the breaker. A `timeout` is a connect timeout here: call timeouts end through `call.stop`. */
export function recordFailure(breaker: Breaker, error: unknown): void {
  const { reason } = error as { reason?: unknown }
  if (reason === 'timeout') breaker.recordTimeout()
  else if (!localReasons.has(reason)) breaker.recordResponse()
}

/**
 * Creates the function that opens connections to one upstream and reports the outcome. `releaseSlot` is called when
 * connecting fails, or when no process of the connection is left. Rejects with UpstreamFailure.
 */
export function createConnector(options: ConnectorOptions) {
  const { name, client, transport, mode, breaker, connectMs, observer, onNotification } = options
  return async (
    parameters: ConnectParameters,
    timings: ConnectTimings,
    releaseSlot?: () => void
  ): Promise<Connection> => {
    const startedAt = performance.now()
    try {
      const { era, capabilities } = parameters
      const connection = await client.open({
        ...{ era, capabilities, deadline: startedAt + connectMs, timings },
        isShared: mode === 'shared'
      })
      const openedAt = performance.now()
      timings.openedAt = openedAt
      observer.onConnected(name, transport, openedAt - startedAt)
      if (releaseSlot) void (connection.ended ?? Promise.resolve()).then(releaseSlot)
      connection.onNotification = (method, params) =>
        onNotification(method, params, performance.now() - openedAt < OPENING_MS)
      return connection
    } catch (error) {
      if (error instanceof UpstreamFailure)
        observer.onConnectionFailure(name, error.reason, messageOf(error, administrators))
      recordFailure(breaker, error)
      if (releaseSlot) void (timings.ended ?? Promise.resolve()).then(releaseSlot)
      throw error
    }
  }
}
