import { isAdministrator, type Role, type TokenScope } from '../domain/access/access.ts'
import { allServers } from '../domain/policy/allow-list.ts'
import type { Permit } from '../domain/policy/permit.ts'
import { withoutOutput } from '../domain/failures/stderr-line.ts'
import type { TraceContext } from '../protocol/trace-context.ts'
import type { SignIn } from '../registry/model/model.ts'

/** Identity behind a request. Development mode has one; in enterprise mode a principal's MCP requests share one. */
export interface Caller {
  readonly kind: 'development' | Role | 'client'
  readonly name: string
  /**
   * Permanent id of the principal, of a personal token also the id of the token: sessions, upstream sessions and parked
   * calls belong to it, never to the name.
   */
  readonly key: string
  /** Permit where no policy decides: the allow list of an MCP client. */
  readonly allowed: Permit
  /** SHA-256 of the principal's access token; a write checks in its transaction that the token is still valid. */
  readonly tokenHash?: Uint8Array | undefined
  /** Id of the access token. */
  readonly tokenId?: string | undefined
  /** Scopes of a personal access token, or of the token of an OAuth client; undefined: all rights of the role. */
  readonly scopes?: readonly TokenScope[] | undefined
  /** Sign-in of a user without a static or personal token. */
  readonly signIn?: SignIn | undefined
  /** `client_id` of the OAuth client through which the user signed in. */
  readonly oauthClient?: string | undefined
  /** IP address of the client, for the audit log. */
  readonly address?: string
  readonly requestId?: string
  /** Trace context of a REST request; an MCP request carries its own. */
  readonly trace?: TraceContext | undefined
}

/** Returns a stored message of a failure as a caller may read it: output of programs is for administrators. */
export const messageFor = (caller: Caller, message: string): string =>
  isAdministrator(caller) ? message : withoutOutput(message)

/**
 * Returns the SHA-256 of what the caller authenticated with, which stays the same when an OAuth client refreshes its
 * token; undefined in development mode.
 */
export const credentialOf = ({ signIn, tokenHash }: Pick<Caller, 'signIn' | 'tokenHash'>): Uint8Array | undefined =>
  signIn?.credential ?? tokenHash

export const developmentCaller: Caller = {
  kind: 'development',
  name: 'development',
  key: 'development',
  allowed: allServers
}

/** Returns the id of the principal that a caller's key belongs to: quotas count a user once, whatever the token. */
export function principalIdOf(key: string): string {
  const end = key.indexOf('/')
  return end < 0 ? key : key.slice(0, end)
}

/** Tells if the caller disconnects before the answer. One listener: an AbortSignal costs as much as a name look-up. */
export interface DisconnectSignal {
  readonly isDisconnected: boolean
  /** Set by the code that runs the call. */
  onDisconnect: (() => void) | null
}
