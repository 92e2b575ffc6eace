import { allServers, type AllowList } from '../domain/allow-list.ts'
import type { TraceContext } from '../protocol/trace-context.ts'

/** Identity behind a request. Development mode has one; in enterprise mode a principal's MCP requests share one. */
export interface Caller {
  readonly kind: 'development' | 'admin' | 'user' | 'client'
  readonly name: string
  /** Permanent id of the principal: sessions, upstream sessions and parked calls belong to it, never to the name. */
  readonly key: string
  /** Servers that the caller may use over MCP. */
  readonly allowed: AllowList
  /** SHA-256 of the principal's access token; a write checks in its transaction that the token is still valid. */
  readonly tokenHash?: Uint8Array | undefined
  /** IP address of the client, for the audit log. */
  readonly address?: string
  readonly requestId?: string
  /** Trace context of a REST request; an MCP request carries its own. */
  readonly trace?: TraceContext | undefined
}

export const developmentCaller: Caller = {
  kind: 'development',
  name: 'development',
  key: 'development',
  allowed: allServers
}

/** Returns true for callers who may see what programs write on stderr. */
export const seesOutput = ({ kind }: Pick<Caller, 'kind'>): boolean => kind === 'development' || kind === 'admin'

/** Tells if the caller disconnects before the answer. One listener: an AbortSignal costs as much as a name look-up. */
export interface DisconnectSignal {
  readonly isDisconnected: boolean
  /** Set by the code that runs the call. */
  onDisconnect: (() => void) | null
}
