import type { Answer, Asking, Call } from './call.ts'
import type { Opening } from './stages.ts'

export type Era = 'legacy' | 'modern'

/**
 * Answers a request of an upstream that does not say which call it belongs to; both texts are JSON. `underway`: the calls
 * of the connection, the oldest first.
 */
export type HomeHandler = (method: string, params: string, asking: Asking, underway: readonly Call[]) => Promise<Answer>

/** What an opened connection told about its other side. */
export interface Greeting {
  /** Revision in use on this connection. */
  readonly version: string
  readonly capabilities: Readonly<Record<string, unknown>>
  readonly serverInfo: Readonly<Record<string, unknown>> | null
  readonly instructions: string | null
}

/**
 * An opened way to an upstream, ready for requests: a session, a process, an event stream, or (modern, and legacy without
 * session ids) nothing but a pool. Made by a transport, owned and reused by `sessions.ts`.
 */
export interface Connection {
  readonly era: Era
  readonly greeting: Greeting
  /** True once it can carry nothing more; calls under way have been failed by then. */
  readonly closed: boolean
  /**
   * Sends one request and waits for its answer. Rejects with UpstreamFailure, and with the failure of `call.stop`.
   * A stopped call is cancelled upstream: modern HTTP by closing its POST, else by `notifications/cancelled`.
   */
  send(call: Call): Promise<Answer>
  /** `params` is JSON text with braces, or empty. Never throws. */
  notify(method: string, params: string): void
  /** Lets go of everything it holds, in the background. Calls under way fail. Idempotent, never throws. */
  close(): void
  /** Called once when it ends by itself or by `close`. */
  onClose: (() => void) | null
  /** Notifications that belong to no call, `notifications/tools/list_changed` for example. */
  onNotification: ((method: string, params: string) => void) | null
  /**
   * Answers requests of the upstream that do not say which call they belong to, where the transport can carry such. Null:
   * they are of the oldest call, and without one answered with -32601.
   */
  onRequest?: HomeHandler | null
  /**
   * From now on what the upstream asks outside of its calls' streams goes to the call under way that it must belong to;
   * `isMixed`: calls may be of several clients. Absent where there are no such streams.
   */
  hear?(isMixed: boolean): void
  /** Where it is a process: resolves when nothing of it is left. */
  readonly ended?: Promise<void>
  /** Where it is a process: the last that it wrote to stderr, without secrets. */
  stderr?(): string
}

/** What every transport is told to open a connection with. */
export interface OpenOptions {
  readonly era: Era
  /** JSON text of the client capabilities to declare (mcp-proxy.md#reading-upstream-lists). */
  readonly capabilities: string
  /** `performance.now()` time by which it must be open; past it the attempt fails with `timeout`. */
  readonly deadline: number
  /** Takes when which of its stages begins. */
  readonly opening?: Opening
}

/** One transport of one registered server. Holds pools and configuration, no caller's state. */
export interface TransportClient {
  /** Connects and completes the opening (`initialize` + `initialized`; modern: nothing is sent). */
  open(options: OpenOptions): Promise<Connection>
  /**
   * What connections depend on besides the settings: the access token in use, the program. One that was opened on another
   * basis is not for a new call. Undefined: nothing, or it is about to change.
   */
  readonly basis?: string | undefined
  /** Whether the server has asked something without saying for which call, where it can say so. */
  readonly hasAskedAside?: boolean
  /** Closes pools and whatever is still open, in the background. */
  close(): void
}
