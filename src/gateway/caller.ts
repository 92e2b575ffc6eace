import { allServers, type AllowList } from '../domain/allow-list.ts'
import type { TraceContext } from './trace-context.ts'

/** Who is asking. Development mode knows one caller; in enterprise mode each principal has one object for its MCP requests. */
export interface Caller {
  readonly kind: 'development' | 'admin' | 'user' | 'client'
  readonly name: string
  /** The principal for ever: sessions, upstream owners and parked calls are bound to it, never to the name. */
  readonly key: string
  /** The servers that it may use over MCP. */
  readonly allowed: AllowList
  /** SHA-256 of the access token that a user showed: what is written on its word checks it again. */
  readonly tokenHash?: Uint8Array | undefined
  /** For the audit log. */
  readonly address?: string
  readonly requestId?: string
  /** The trace that its request belongs to; of an MCP request it stands in the request. */
  readonly trace?: TraceContext | undefined
}

export const developmentCaller: Caller = {
  kind: 'development',
  name: 'development',
  key: 'development',
  allowed: allServers
}

/** How a caller goes away before the answer. One listener, where an AbortSignal costs as much as a look-up of its call. */
export interface DisconnectSignal {
  readonly isDisconnected: boolean
  /** Set by whoever works for the caller. */
  onDisconnect: (() => void) | null
}
