import type { Transport } from '../registry/model.ts'
import type { BreakerState } from './upstream/breaker.ts'

/** What the data plane is at, to be read from time to time. */
export interface GatewayStats {
  /** MCP sessions that this process holds. */
  readonly sessions: number
  /** Event streams on which clients listen. */
  readonly streams: number
  /** Processes of stdio servers. */
  readonly processes: number
  /** Calls that are with a server, or wait to be. */
  readonly callsUnderWay: number
  /** Sessions that are kept ready, of servers that have been called and may have such. */
  readonly spares: readonly (readonly [server: string, transport: Transport, ready: number])[]
  /** Calls that wait for a place for a process. */
  readonly waitingForProcess: number
  /** Calls that wait for input of their callers. */
  readonly parkedCalls: number
  readonly catalogVersion: number
  /** Of servers that have been called: name and state. */
  readonly breakers: readonly (readonly [server: string, state: BreakerState])[]
}
