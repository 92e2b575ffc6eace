import type { SlotItem } from '../bag.ts'
import type { Observation } from '../observation.ts'
import { Payload } from '../payload.ts'
import type { TraceContext } from '../tracing.ts'
import type { UpstreamFailure } from './failure.ts'

/** A request on its way to an upstream, in the parts that hops touch; everything else is JSON text, passed as it is. */
export interface Outgoing {
  readonly method: string
  /** Members of `params` without `_meta`, as JSON text without the braces (`"name":"echo","arguments":{…}`); may be empty. */
  readonly members: string
  /** Members of `params._meta` that are passed on, as JSON text without the braces, hop keys taken out; may be empty. */
  readonly meta: string
  /** Plain value for `Mcp-Name` towards a modern upstream: the tool's or prompt's own name, or the resource's URI. */
  readonly name?: string | undefined
  /**
   * More headers towards a modern upstream, in pairs, ready to be sent (`Mcp-Param-*`, mcp-proxy.md#parameter-headers).
   */
  readonly headers?: readonly string[] | undefined
  /** Told in the headers of a request over HTTP, beside what stands in `meta`. */
  readonly trace?: TraceContext | undefined
}

/** What came back: the JSON text of `result` or of `error`, byte for byte. */
export interface Answer {
  readonly kind: 'result' | 'error'
  readonly body: Payload
}

/** An error of our own making. */
export const errorAnswer = (code: number, message: string): Answer => ({
  kind: 'error',
  body: Payload.of(JSON.stringify({ code, message }))
})

export const methodNotFound = errorAnswer(-32601, 'Method not found')

/** A request of an upstream, shared by the transport that it came over and whoever is to answer it. */
export interface Asking {
  /** Set by who answers: the upstream wants no answer any more. */
  onWithdraw: (() => void) | null
}

/** The caller's side of a call: what it can take before the answer (architecture, idea 3). */
export interface Sink {
  /** JSON text of the client capabilities that the caller declared, `{}` for none. Declared upstream as they are. */
  readonly capabilities: string
  /** Whether the caller asked for progress: then the transport sends a token of its own upstream. */
  readonly wantsProgress: boolean
  /** The least severe log messages that the caller wants; undefined where it has not said. */
  readonly logLevel?: string | undefined
  /** A notification that belongs to this call. `params` is JSON text; of `notifications/progress` without its token. */
  notify(method: string, params: string): void
  /** A request from the upstream that belongs to this call; answers JSON text of result or error. */
  request(method: string, params: string, asking?: Asking): Promise<Answer>
}

/** For callers that declare no capability and want nothing but the answer (REST). */
export const silentSink: Sink = {
  capabilities: '{}',
  wantsProgress: false,
  notify() {},
  request: async () => methodNotFound
}

/** Smaller requests are not counted: their number is bounded. */
const COUNTED_BYTES = 16_384
/** What a request of that length counts. */
export const countedBytes = (length: number) => (length < COUNTED_BYTES ? 0 : length)

/**
 * One request under way, shared by the gateway, which may stop it, and the transport, which carries it.
 * Not an AbortSignal: this costs one object and no listeners on the hot path.
 */
export class Call implements SlotItem {
  slot = -1
  readonly request: Outgoing
  readonly sink: Sink
  /** What its request holds, in bytes, where that is much. */
  bytes = 0
  /** Of the call that a caller waits for; null for what the gateway asks by itself. */
  observation: Observation | null = null
  /** Set by the transport while the request is under way: tell the upstream and let go of the connection. */
  onStop: ((failure: UpstreamFailure) => void) | null = null
  /** Time (`performance.now()`) after which the call is stopped unless there is progress before. Kept by Deadlines. */
  idleDeadline = Infinity
  /** Time after which the call is stopped in any case. */
  totalDeadline = Infinity
  /** Milliseconds that each progress adds. */
  idleMs = Infinity
  stopped: UpstreamFailure | null = null
  /** Called when the clock is stopped and when it goes on. */
  onHold: (() => void) | null = null
  #holds = 0
  #totalLeft = 0

  constructor(request: Outgoing, sink: Sink) {
    this.request = request
    this.sink = sink
  }

  /** Ends the call: `timeout` or `cancelled`. The first wins; stopping an ended call does nothing. */
  stop(failure: UpstreamFailure): void {
    if (this.stopped) return
    this.stopped = failure
    const stop = this.onStop
    this.onStop = null
    stop?.(failure)
  }

  /** Stops the clock while the caller itself is asked for something. As many `resume` must follow. */
  hold(): void {
    if (this.#holds++ > 0) return
    const now = performance.now()
    this.observation?.hold(now)
    this.#totalLeft = this.totalDeadline - now
    this.idleDeadline = Infinity
    this.totalDeadline = Infinity
    this.onHold?.()
  }

  /** Whether the caller itself is asked for something. */
  get isHeld(): boolean {
    return this.#holds > 0
  }

  resume(): void {
    if (--this.#holds > 0) return
    const now = performance.now()
    this.observation?.resume(now)
    this.idleDeadline = now + this.idleMs
    this.totalDeadline = now + this.#totalLeft
    this.onHold?.()
  }

  /** Progress counts as life (mcp-proxy.md#progress); the total limit stays. */
  touch(now: number): void {
    if (this.#holds === 0) this.idleDeadline = now + this.idleMs
  }
}
