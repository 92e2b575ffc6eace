import type { Answer, InboundRequest, Call } from './call.ts'
import type { ConnectTimings } from '../../observe/connect-timings.ts'

export type Era = 'legacy' | 'modern'

/**
 * Answers a request of an upstream that does not name its call; both texts are JSON. `underway`: the connection's calls
 * in flight, oldest first.
 */
export type SessionRequestHandler = (
  method: string,
  params: string,
  asking: InboundRequest,
  underway: readonly Call[]
) => Promise<Answer>

/** Server information from `initialize` or `server/discover`. */
export interface ServerGreeting {
  /** Protocol revision in use on this connection. */
  readonly version: string
  readonly capabilities: Readonly<Record<string, unknown>>
  readonly serverInfo: Readonly<Record<string, unknown>> | null
  readonly instructions: string | null
}

/**
 * An open connection to an upstream, ready for requests: a session, a process, an event stream, or (modern, and legacy
 * without session ids) just a socket pool. Created by a transport, owned and reused by `sessions/upstream-sessions.ts`.
 */
export interface Connection {
  readonly era: Era
  readonly greeting: ServerGreeting
  /** True once the connection can carry no more requests; its calls have failed by then. */
  readonly closed: boolean
  /**
   * Sends one request and waits for its answer. Rejects with UpstreamFailure, or with the failure of `call.stop`. A
   * stopped call is cancelled upstream: modern HTTP closes its POST, all others send `notifications/cancelled`.
   */
  send(call: Call): Promise<Answer>
  /** Sends a notification. `params` is JSON text with braces, or empty. Never throws. */
  notify(method: string, params: string): void
  /** Releases all resources in the background and fails the calls in flight. Idempotent, never throws. */
  close(): void
  /** Called once when the connection ends, by itself or through `close`. */
  onClose: (() => void) | null
  /** Receives notifications that belong to no call, for example `notifications/tools/list_changed`. */
  onNotification: ((method: string, params: string) => void) | null
  /**
   * Answers upstream requests that do not name their call, on transports that can carry such requests. Null: they go to
   * the oldest call in flight, or get error -32601 if there is none.
   */
  onRequest?: SessionRequestHandler | null
  /**
   * Opens the session's own stream, so that requests outside the calls' streams reach the call in flight that they must
   * belong to. `isMultiClient`: the session's calls may come from several clients. Absent on transports without such
   * streams.
   */
  openSessionStream?(isMultiClient: boolean): void
  /** Stdio only: resolves when no process of the tree is left. */
  readonly ended?: Promise<void>
  /** Stdio only: the last output on stderr, secrets redacted. */
  stderr?(): string
}

/** Options that every transport takes to open a connection. */
export interface OpenOptions {
  readonly era: Era
  /** JSON text of the client capabilities to declare (mcp-proxy.md#reading-upstream-lists). */
  readonly capabilities: string
  /** `performance.now()` time by which the connection must be open; after it the attempt fails with `timeout`. */
  readonly deadline: number
  /** Receives the start time of each connect stage. */
  readonly timings?: ConnectTimings
  /** True if calls of several callers use the connection: messages that name no call then belong to nobody. */
  readonly isShared?: boolean
}

/** One transport of one registered server. Holds pools and configuration, but no state of a caller. */
export interface TransportClient {
  /** Connects and completes the handshake (`initialize` + `initialized`; modern: nothing is sent). */
  open(options: OpenOptions): Promise<Connection>
  /**
   * Fingerprint of everything besides the settings that connections depend on: the access token or the program file. A
   * connection opened under another fingerprint must not serve a new call. Undefined: no such dependency, or it is
   * about to change.
   */
  readonly fingerprint?: string | undefined
  /** True if the server has sent a request on the session's own stream while calls were in flight. */
  readonly hasSessionRequests?: boolean
  /** Closes pools and all open connections in the background. */
  close(): void
}
