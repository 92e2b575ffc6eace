import type { SlotItem } from '../../lib/slot-set.ts'
import type { Observation } from '../../observe/observation.ts'
import { Payload } from '../../json/payload.ts'
import type { UpstreamFailure } from '../../protocol/upstream-failure.ts'
import type { TraceContext } from '../../protocol/trace-context.ts'
import { META } from '../../domain/mcp-constants.ts'
import type { Era } from './connection.ts'
import type { SessionCallbacks } from './session-callbacks.ts'

/**
 * A request to an upstream, split into the parts that the gateway changes; everything else is JSON text passed through
 * unchanged.
 */
export interface OutgoingRequest {
  readonly method: string
  /**
   * Members of `params` without `_meta`, as JSON text without the braces (`"name":"echo","arguments":{…}`); may be
   * empty.
   */
  readonly members: string
  /**
   * Members of `params._meta` to pass on, as JSON text without the braces and without hop-by-hop keys; may be empty.
   */
  readonly meta: string
  /** Plain value of `Mcp-Name` for a modern upstream: the upstream's own tool or prompt name, or the resource URI. */
  readonly name?: string | undefined
  /**
   * Further headers for a modern upstream as name-value pairs, already encoded (`Mcp-Param-*`,
   * mcp-proxy.md#parameter-headers).
   */
  readonly headers?: readonly string[] | undefined
  /** Trace context for the headers of an HTTP request, in addition to the one in `meta`. */
  readonly trace?: TraceContext | undefined
}

/** Returns the log level as a member to append to a modern request's `_meta`. */
export const logLevelMember = (level: string | undefined) =>
  level === undefined ? '' : `,"${META}logLevel":"${level}"`

/** An answer of an upstream: the JSON text of `result` or `error`, byte for byte. */
export interface Answer {
  readonly kind: 'result' | 'error'
  readonly body: Payload
}

export interface UpstreamAnswer {
  readonly answer: Answer
  /** Era of the upstream connection that answered. */
  readonly era: Era
}

/** Returns a JSON-RPC error made by the gateway itself. */
export const errorAnswer = (code: number, message: string): Answer => ({
  kind: 'error',
  body: Payload.of(JSON.stringify({ code, message }))
})

export const methodNotFound = errorAnswer(-32601, 'Method not found')

/** A request from an upstream, shared by the transport that received it and the code that answers it. */
export interface InboundRequest {
  /** Set by the answering code; called when the upstream cancels the request. */
  onCancel: (() => void) | null
}

/** Owner of the upstream session that a call uses, and the protocol era of the caller. */
export interface CallOrigin {
  readonly era: Era
  /** Key of the MCP session, or of the principal when there is no session. */
  readonly owner: string
  /** Principal whose concurrent-call quota the call counts against; null if it is part of a call already counted. */
  readonly principal: string | null
  /** Principal whose quota of processes and upstream sessions is used when `principal` is null. */
  readonly holder?: string
  /** Receives notifications and requests of the upstream session that belong to no call. */
  readonly callbacks?: SessionCallbacks | undefined
}

/** The caller's side of a call: receives notifications and requests before the answer. */
export interface Sink {
  /**
   * JSON text of the client capabilities that the caller declared, `{}` for none. Declared to the upstream unchanged.
   */
  readonly capabilities: string
  /** True if the caller asked for progress: the transport then sends its own progress token upstream. */
  readonly wantsProgress: boolean
  /** Least severe log level that the caller wants; undefined if the caller did not set one. */
  readonly logLevel?: string | undefined
  /**
   * Passes on a notification that belongs to this call. `params` is JSON text; `notifications/progress` comes without
   * its token.
   */
  notify(method: string, params: string): void
  /** Passes on a request of the upstream that belongs to this call; resolves with JSON text of its result or error. */
  request(method: string, params: string, inbound?: InboundRequest): Promise<Answer>
}

/** Sink for callers without client capabilities that only want the answer (REST). */
export const silentSink: Sink = {
  capabilities: '{}',
  wantsProgress: false,
  notify() {},
  request: async () => methodNotFound
}

/** Requests below this size are not counted by size: their number is already limited. */
const MIN_COUNTED_BYTES = 16_384
/** Returns the bytes that a request of this length counts towards its principal's quota. */
export const countBytes = (length: number) => (length < MIN_COUNTED_BYTES ? 0 : length)

/**
 * One request in flight, shared by the gateway, which may stop it, and the transport, which carries it. Not an
 * AbortSignal: a Call costs one object and no listeners on the hot path.
 */
export class Call implements SlotItem {
  slot = -1
  readonly request: OutgoingRequest
  readonly sink: Sink
  /** Bytes counted for a large request; 0 for a small one. */
  countedBytes = 0
  /** Observation of the client's call; null for requests that the gateway makes for itself. */
  observation: Observation | null = null
  /** Set by the transport while the request is in flight: cancels it upstream and releases the connection. */
  onStop: ((failure: UpstreamFailure) => void) | null = null
  /** Time (`performance.now()`) at which the call is stopped unless progress arrives first. Maintained by Deadlines. */
  idleDeadline = Infinity
  /** Time at which the call is stopped regardless of progress. */
  totalDeadline = Infinity
  /** Milliseconds by which each progress notification extends the idle deadline. */
  idleTimeoutMs = Infinity
  stopped: UpstreamFailure | null = null
  /** Called when the deadlines are paused or resumed. */
  onPauseChange: (() => void) | null = null
  #holds = 0
  #totalLeft = 0

  constructor(request: OutgoingRequest, sink: Sink) {
    this.request = request
    this.sink = sink
  }

  /** Ends the call with `timeout` or `cancelled`. The first call wins; stopping an ended call does nothing. */
  stop(failure: UpstreamFailure): void {
    if (this.stopped) return
    this.stopped = failure
    const stop = this.onStop
    this.onStop = null
    stop?.(failure)
  }

  /** Pauses the deadlines while the client is asked for input. Each pause needs one `resumeClock`. */
  pauseClock(): void {
    if (this.#holds++ > 0) return
    const now = performance.now()
    this.observation?.hold(now)
    this.#totalLeft = this.totalDeadline - now
    this.idleDeadline = Infinity
    this.totalDeadline = Infinity
    this.onPauseChange?.()
  }

  /** True while the client is asked for input. */
  get isPaused(): boolean {
    return this.#holds > 0
  }

  resumeClock(): void {
    if (--this.#holds > 0) return
    const now = performance.now()
    this.observation?.resume(now)
    this.idleDeadline = now + this.idleTimeoutMs
    this.totalDeadline = now + this.#totalLeft
    this.onPauseChange?.()
  }

  /** Extends the idle deadline after a progress notification (mcp-proxy.md#progress); the total deadline stays. */
  extendIdleDeadline(now: number): void {
    if (this.#holds === 0) this.idleDeadline = now + this.idleTimeoutMs
  }
}
