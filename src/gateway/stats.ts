import type { GroupTokens } from './group-budgets.ts'
import type { Transport } from '../domain/transports.ts'
import type { BreakerState } from '../upstream/sessions/breaker.ts'

/** Gauges of the data plane, for metrics. */
export interface GatewayStats {
  /** MCP sessions of clients in this process. */
  readonly sessions: number
  /** Open notification streams to clients. */
  readonly streams: number
  /** Running processes of stdio servers. */
  readonly processes: number
  /** Calls that were sent to a server or wait to be sent. */
  readonly activeCalls: number
  /** Spare sessions, of servers that have been called and may have spare sessions. */
  readonly spareSessions: readonly (readonly [server: string, transport: Transport, ready: number])[]
  /** Calls that wait because the limit of processes is reached. */
  readonly callsAwaitingProcess: number
  /** Calls that wait for input from their callers. */
  readonly parkedCalls: number
  /** Calls that wait for a decision of an approver. */
  readonly heldCalls: number
  readonly catalogVersion: number
  /** Estimated tokens of the tools of each group. */
  readonly groupTokens: readonly GroupTokens[]
  /** Circuit breakers of servers that have been called. */
  readonly breakers: readonly (readonly [server: string, state: BreakerState])[]
  /** Enabled servers that this process has contacted, and whether the last contact succeeded. */
  readonly health: readonly (readonly [server: string, isHealthy: boolean])[]
  /** Numbers of definitions that wait for a decision; 0 for servers with the policy `follow`. */
  readonly heldDefinitions: readonly (readonly [server: string, count: number])[]
}
