import { AppError } from '../errors.ts'
import type { ItemKind, SessionMode, Transport } from '../registry/model.ts'
import { ProtocolError } from './downstream/jsonrpc.ts'
import type { Caller } from './gateway.ts'
import { isErrorResult } from './is-error.ts'
import type { Payload } from './payload.ts'
import { sentContext, type Trace, type TraceContext, type TracePolicy, type Tracer } from './tracing.ts'
import { UpstreamFailure, type Reason } from './upstream/failure.ts'
import { stageOf, waitsOf, type Opening, type Stage, type Waits } from './upstream/stages.ts'

/** How a call went, in the same words everywhere (design of the dashboard, 3.3). */
export const outcomes = ['ok', 'tool_error', 'failed', 'timeout', 'cancelled', 'refused'] as const
export type Outcome = (typeof outcomes)[number]

export type CallKind = 'tool' | 'prompt' | 'resource' | 'completion'

/** How a call came in: over REST, or in an era of MCP. */
export type Via = 'rest' | 'legacy' | 'modern'

/** What stands as endpoint of a call that came in over REST. */
export const REST_ENDPOINT = '/api/v0'

/** One call as it went, told when it is over, however it came in: REST, MCP of either era, alone or in a batch. */
export interface CallObservation {
  readonly kind: CallKind
  readonly caller: Caller
  /** Path of the MCP endpoint, or `REST_ENDPOINT`. */
  readonly endpoint: string
  readonly via: Via
  readonly requestId: string | undefined
  /** How the client names itself, where it does: one line, and no character in it that is not seen. */
  readonly client: string | undefined
  /** Revision that the client's session has agreed on; undefined outside of one. */
  readonly clientVersion: string | undefined
  /** Undefined where what was asked for is not there for this caller: then `item` is any text. */
  readonly server: string | undefined
  /** The upstream's own name of the tool or prompt, or a URI; of something unknown what the caller called it. */
  readonly item: string | undefined
  readonly outcome: Outcome
  /** What went wrong, in words that the caller may read; undefined where nothing did or the tool itself says it. */
  readonly error: string | undefined
  /** Milliseconds since 1970. */
  readonly startedAt: number
  /** From the first look at the request to its answer, without the time in which the caller itself was asked. */
  readonly totalMs: number
  /** The part of it in which a connection was made or waited for, and the upstream's answer waited for. */
  readonly upstreamMs: number
  /** Of the server, where the call was meant for one. */
  readonly mode: SessionMode | undefined
  /** Revision that the server was spoken to in; undefined where the call did not get there. */
  readonly serverVersion: string | undefined
  /** What it had to wait for, where there was something. */
  readonly waits: Waits | undefined
  /** Where it ended before it was with the server. */
  readonly endedIn: Stage | undefined
  /** Of a process that failed it: the last that it wrote to stderr. May quote secrets of the server. */
  readonly stderr: string
  /** Members of the request's `params` as JSON text without braces, as they went upstream; empty where nothing did. */
  readonly params: string
  /** JSON text of the result, null where there is none. Of the call, so not to be kept. */
  readonly result: Payload | null
  /** Takes the server's secrets out of a text. */
  readonly redact: (text: string) => string
}

/** Who wants to know what the data plane does. Called on the way of a request: must not throw, nor wait. */
export interface Observer {
  /** Undefined where nobody wants spans. */
  readonly tracer: Tracer | undefined
  /** What servers are told of the trace; `own` where nothing says so. */
  readonly traceContext: TracePolicy
  call(done: CallObservation): void
  /** A list was asked for over MCP. */
  list(kind: ItemKind): void
  /** A way to an upstream was opened: a session, a process, an event stream, or the pool that all its calls share. */
  connected(server: string, transport: Transport, ms: number): void
  /** A call has a session for itself, as in stateless mode: a spare one, or else one that it has to wait for. */
  sessionTaken(server: string, isSpare: boolean): void
  /** A way to an upstream was not to be had, or broke under a call. `message` may quote secrets of the server. */
  failed(server: string, reason: Reason, message: string): void
  /** Another version of the registry has been taken over. */
  swapped(ms: number): void
}

/** Tells each of them what it asks for. */
export function joinObservers(observers: readonly Partial<Observer>[]): Observer {
  const calls = observers.flatMap((each) => each.call ?? [])
  const lists = observers.flatMap((each) => each.list ?? [])
  const connects = observers.flatMap((each) => each.connected ?? [])
  const takes = observers.flatMap((each) => each.sessionTaken ?? [])
  const swaps = observers.flatMap((each) => each.swapped ?? [])
  const failures = observers.flatMap((each) => each.failed ?? [])
  return {
    tracer: observers.find(({ tracer }) => tracer)?.tracer,
    traceContext: observers.find(({ traceContext }) => traceContext)?.traceContext ?? 'own',
    call(done) {
      for (const tell of calls) tell(done)
    },
    list(kind) {
      for (const tell of lists) tell(kind)
    },
    connected(...made) {
      for (const tell of connects) tell(...made)
    },
    sessionTaken(...taken) {
      for (const tell of takes) tell(...taken)
    },
    failed(...lost) {
      for (const tell of failures) tell(...lost)
    },
    swapped(ms) {
      for (const tell of swaps) tell(ms)
    }
  }
}

export const nobody: Observer = joinObservers([])

const byReason: Record<Reason, Outcome> = {
  unreachable: 'failed',
  timeout: 'timeout',
  crashed: 'failed',
  auth: 'failed',
  overloaded: 'refused',
  too_large: 'failed',
  bad_response: 'failed',
  cancelled: 'cancelled',
  denied: 'refused',
  limited: 'refused',
  unreadable: 'failed'
}

/** An upstream that itself says that it has too much to do has failed; we refuse only what never reached it. */
const outcomeOfFailure = ({ reason, status }: UpstreamFailure): Outcome =>
  status === undefined ? byReason[reason] : 'failed'

function outcomeOf(error: unknown): Outcome {
  if (error instanceof UpstreamFailure) return outcomeOfFailure(error)
  if (error instanceof ProtocolError) return 'refused'
  if (!(error instanceof AppError)) return 'failed'
  return error.cause instanceof UpstreamFailure ? outcomeOfFailure(error.cause) : 'refused'
}

/** Where a call came in. */
export type Entrance = Pick<CallObservation, 'caller' | 'endpoint' | 'via' | 'requestId'> &
  Partial<Pick<CallObservation, 'client' | 'clientVersion'>>

const asItIs = (text: string) => text

/** A call while it is under way. A class, since there is one for each call. */
export class Observation implements CallObservation {
  readonly kind: CallKind
  readonly caller: Caller
  readonly endpoint: string
  readonly via: Via
  readonly requestId: string | undefined
  readonly client: string | undefined
  readonly clientVersion: string | undefined
  server: string | undefined = undefined
  item: string | undefined = undefined
  outcome: Outcome = 'failed'
  error: string | undefined = undefined
  readonly startedAt = Date.now()
  totalMs = 0
  upstreamMs = 0
  mode: SessionMode | undefined = undefined
  serverVersion: string | undefined = undefined
  waits: Waits | undefined = undefined
  endedIn: Stage | undefined = undefined
  stderr = ''
  params = ''
  result: Payload | null = null
  redact: (text: string) => string = asItIs
  private heldMs = 0
  private heldSince = 0
  private leftAt = 0
  private opening: Opening | null = null
  private awaitedAt = 0
  private readonly since = performance.now()
  private readonly observer: Observer
  private trace: Trace | null = null
  private isEnded = false

  constructor(
    observer: Observer,
    kind: CallKind,
    { caller, endpoint, via, requestId, client, clientVersion }: Entrance
  ) {
    this.observer = observer
    this.kind = kind
    this.caller = caller
    this.endpoint = endpoint
    this.via = via
    this.requestId = requestId
    this.client = client
    this.clientVersion = clientVersion
  }

  /** What the call is for; `server` where it is there. */
  aims(server: string | undefined, item: string | undefined): void {
    this.server = server
    this.item = item
  }

  hold(now: number): void {
    this.heldSince = now
  }

  resume(now: number): void {
    this.heldMs += now - this.heldSince
    this.heldSince = 0
  }

  /** Opens the call's spans where somebody wants them. Answers what the server is to be told of the trace. */
  joins(given: TraceContext | undefined): TraceContext | undefined {
    const { tracer, traceContext } = this.observer
    if (!tracer) return sentContext(traceContext, undefined, given)
    this.trace = tracer.start(this, performance.now() - this.since, given)
    return sentContext(traceContext, this.trace.context, given)
  }

  /** It is in the upstream's hands from now on. */
  leaves(redact: (text: string) => string, mode: SessionMode): void {
    this.redact = redact
    this.mode = mode
    this.leftAt = performance.now() - this.heldMs
  }

  /** There is no connection yet. */
  awaits(opening: Opening): void {
    this.opening = opening
    this.awaitedAt = performance.now()
  }

  /** It goes out on a connection in this revision. */
  reaches(version: string): void {
    this.serverVersion = version
  }

  /** What the process had written when it failed the call. */
  hears(stderr: string | undefined): void {
    if (stderr !== undefined) this.stderr = stderr
  }

  returns(): void {
    this.upstreamMs += performance.now() - this.heldMs - this.leftAt
  }

  answered(result: Payload): void {
    this.result = result
    this.end(this.kind === 'tool' && isErrorResult(result) ? 'tool_error' : 'ok', undefined)
  }

  failed(error: unknown): void {
    this.end(outcomeOf(error), error instanceof Error ? error.message : undefined)
  }

  /** The first end counts. */
  end(outcome: Outcome, error: string | undefined): void {
    if (this.isEnded) return
    this.isEnded = true
    const now = performance.now()
    if (this.heldSince > 0) this.resume(now)
    this.totalMs = now - this.since - this.heldMs
    this.outcome = outcome
    this.error = error
    if (this.opening !== null) this.waits = waitsOf(this.opening, this.awaitedAt, now)
    if (this.mode !== undefined && this.serverVersion === undefined) this.endsEarly()
    this.trace?.end(this, now - this.since)
    this.observer.call(this)
  }

  /** It has never been with its server. */
  private endsEarly(): void {
    this.endedIn = (this.opening && stageOf(this.opening)) ?? 'queue'
    this.stderr ||= this.opening?.stderr ?? ''
  }
}
