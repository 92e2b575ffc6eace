import { TASK } from '../domain/mcp-constants.ts'
import type { LockedSecrets } from '../domain/secrets/locked-secrets.ts'
import type { Effect, Mode } from '../domain/policy/rule.ts'
import type { Transport } from '../domain/transports.ts'
import { AppError } from '../lib/errors.ts'
import type { ItemKind, SessionMode } from '../registry/model/model.ts'
import { ProtocolError } from '../protocol/jsonrpc.ts'
import { isErrorResult } from '../protocol/is-error.ts'
import type { Payload } from '../json/payload.ts'
import type { Trace, Tracer } from './tracing.ts'
import { administrators, messageOf, UpstreamFailure, type FailureReason } from '../protocol/upstream-failure.ts'
import { stageOf, computeWaits, type ConnectTimings, type ConnectStage, type StageWaits } from './connect-timings.ts'
import { contextToForward, type TraceContext, type TracePolicy } from '../protocol/trace-context.ts'
import type { Caller } from '../catalog/caller.ts'

/** Outcomes of a call, spelled alike in the API, the metrics and the dashboard (dashboard.md#status-and-outcomes). */
export const outcomes = ['ok', 'task', 'tool_error', 'failed', 'timeout', 'cancelled', 'refused'] as const
export type Outcome = (typeof outcomes)[number]

export type CallKind = 'tool' | 'prompt' | 'resource' | 'completion'

/** Protocol of the caller's request: REST, or an era of MCP; `search`: through a tool of search mode, in either era. */
export type Via = 'rest' | 'legacy' | 'modern' | 'search'

/** `endpoint` of calls over REST. */
export const REST_ENDPOINT = '/api/v0'

/** Record of one finished call over REST or MCP; each call of a batch has its own. */
export interface CallObservation {
  readonly kind: CallKind
  readonly caller: Caller
  /** Path of the MCP endpoint, or `REST_ENDPOINT`. */
  readonly endpoint: string
  readonly via: Via
  readonly requestId: string | undefined
  /** Name from the client's `clientInfo`, if it sent one: a single line of printable characters. */
  readonly client: string | undefined
  /** Protocol version of the client; undefined for a legacy client without a session, and over REST. */
  readonly clientVersion: string | undefined
  /** Name of the server; undefined if the item does not exist for this caller. `item` is then arbitrary text. */
  readonly server: string | undefined
  /** The upstream's own name of the tool or prompt, or the URI; for an unknown item, the name in the request. */
  readonly item: string | undefined
  readonly outcome: Outcome
  /** Error message that the caller may read; undefined for success and for tool results with `isError`. */
  readonly error: string | undefined
  /** Milliseconds since 1970. */
  readonly startedAt: number
  /** Milliseconds from parsing the request to its answer, without the time spent waiting for the caller's input. */
  readonly totalMs: number
  /** Part of `totalMs` spent on waiting for a connection and for the upstream's answer. */
  readonly upstreamMs: number
  /** Session mode of the server; undefined if the call was not forwarded to one. */
  readonly mode: SessionMode | undefined
  /** Protocol version of the connection to the server; undefined if the call never got a connection. */
  readonly serverVersion: string | undefined
  /** Milliseconds waited in each stage of opening a connection; undefined if a connection was ready. */
  readonly waits: StageWaits | undefined
  /** Stage of opening a connection at which the call ended; undefined if it got a connection. */
  readonly endedIn: ConnectStage | undefined
  /** Last lines on stderr of the process that failed the call. May quote secrets of the server. */
  readonly stderr: string
  /** Members of `params` as sent upstream, as JSON text without braces; empty if nothing was sent. */
  readonly params: string
  /** JSON text of the arguments of a call of an item that the caller may not use; undefined for all others. */
  readonly refusedArguments?: string | undefined
  /** Names of arguments that nobody may read; absent for none. */
  readonly secretArguments?: readonly string[]
  /** JSON of the result, or null. Owned by the call: observers must not retain it. */
  readonly result: Payload | null
  /** Redacts the server's secrets in a text. */
  readonly redact: (text: string) => string
}

/** Callbacks for events of the data plane. Called while a request is served: must neither throw nor block. */
export interface Observer {
  /** Undefined if no spans are exported. */
  readonly tracer: Tracer | undefined
  /** Trace context that is forwarded to servers; `own` by default. */
  readonly traceContext: TracePolicy
  onCall(done: CallObservation): void
  /** A client listed items over MCP. */
  onList(kind: ItemKind): void
  /** A connection to an upstream was opened: a session, a process, an event stream, or a shared connection pool. */
  onConnected(server: string, transport: Transport, ms: number): void
  /** A call got an exclusive session, as in stateless mode: a spare one, or one opened for this call. */
  onSessionTaken(server: string, isSpare: boolean): void
  /** A connection could not be opened, or failed during a call. `message` may quote secrets of the server. */
  onConnectionFailure(server: string, reason: FailureReason, message: string): void
  /** A policy decided on a call; `effect` is the result, or in mode `observe` the policy's effect. */
  onDecision(effect: Effect, mode: Mode): void
  /** A query of `find_tools` was answered. */
  onSearch(ms: number): void
  /** A caller called a tool after a query; `rank`: its position among the hits, 0 if it was not among them. */
  onSearchHit(rank: number): void
  /** A new version of the catalog is served; `ms`: the time it took to build and apply it. */
  onCatalogApplied(ms: number): void
}

/** Combines observers into one that calls each callback of each observer. */
export function joinObservers(observers: readonly Partial<Observer>[]): Observer {
  const calls = observers.flatMap((each) => each.onCall ?? [])
  const lists = observers.flatMap((each) => each.onList ?? [])
  const connects = observers.flatMap((each) => each.onConnected ?? [])
  const takes = observers.flatMap((each) => each.onSessionTaken ?? [])
  const swaps = observers.flatMap((each) => each.onCatalogApplied ?? [])
  const decisions = observers.flatMap((each) => each.onDecision ?? [])
  const searches = observers.flatMap((each) => each.onSearch ?? [])
  const hits = observers.flatMap((each) => each.onSearchHit ?? [])
  const failures = observers.flatMap((each) => each.onConnectionFailure ?? [])
  return {
    tracer: observers.find(({ tracer }) => tracer)?.tracer,
    traceContext: observers.find(({ traceContext }) => traceContext)?.traceContext ?? 'own',
    onCall(call) {
      for (const notify of calls) notify(call)
    },
    onList(kind) {
      for (const notify of lists) notify(kind)
    },
    onConnected(...event) {
      for (const notify of connects) notify(...event)
    },
    onSessionTaken(...event) {
      for (const notify of takes) notify(...event)
    },
    onConnectionFailure(...event) {
      for (const notify of failures) notify(...event)
    },
    onDecision(...event) {
      for (const notify of decisions) notify(...event)
    },
    onSearch(ms) {
      for (const notify of searches) notify(ms)
    },
    onSearchHit(rank) {
      for (const notify of hits) notify(rank)
    },
    onCatalogApplied(ms) {
      for (const notify of swaps) notify(ms)
    }
  }
}

const outcomeByReason: Record<FailureReason, Outcome> = {
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

/** A failure with a status came from the upstream, so it counts as failed; `refused` is for the gateway's refusals. */
const outcomeOfFailure = ({ reason, status }: UpstreamFailure): Outcome =>
  status === undefined ? outcomeByReason[reason] : 'failed'

function outcomeOf(error: unknown): Outcome {
  if (error instanceof UpstreamFailure) return outcomeOfFailure(error)
  if (error instanceof ProtocolError) return 'refused'
  if (!(error instanceof AppError)) return 'failed'
  return error.cause instanceof UpstreamFailure ? outcomeOfFailure(error.cause) : 'refused'
}

/** Properties of a call that are known when it arrives. */
export type InboundCall = Pick<CallObservation, 'caller' | 'endpoint' | 'via' | 'requestId'> &
  Partial<Pick<CallObservation, 'client' | 'clientVersion'>>

/** Returns the message of an error for the call log, which only administrators read. */
function logMessageOf(error: unknown): string | undefined {
  if (error instanceof UpstreamFailure) return messageOf(error, administrators)
  if (!(error instanceof Error)) return undefined
  const { message, cause } = error
  if (!(cause instanceof UpstreamFailure)) return message
  const full = messageOf(cause, administrators)
  // the message for the caller may lack the output
  return message.includes(full) ? message : message.replace(cause.message, () => full)
}

const identity = (text: string) => text
const noNames: readonly string[] = []

/** Record of a call in progress. A class, because every call creates one. */
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
  waits: StageWaits | undefined = undefined
  endedIn: ConnectStage | undefined = undefined
  stderr = ''
  params = ''
  refusedArguments: string | undefined = undefined
  result: Payload | null = null
  redact: (text: string) => string = identity
  secretArguments: readonly string[] = noNames
  #redactLocks: (text: string) => string = identity
  #heldMs = 0
  #heldSince = 0
  #upstreamSince = 0
  #opening: ConnectTimings | null = null
  #openingSince = 0
  readonly #since = performance.now()
  readonly #observer: Observer
  #trace: Trace | null = null
  #isEnded = false

  constructor(
    observer: Observer,
    kind: CallKind,
    { caller, endpoint, via, requestId, client, clientVersion }: InboundCall
  ) {
    this.#observer = observer
    this.kind = kind
    this.caller = caller
    this.endpoint = endpoint
    this.via = via
    this.requestId = requestId
    this.client = client
    this.clientVersion = clientVersion
  }

  /** Sets the requested item; `server` is undefined if no server offers it to this caller. */
  setTarget(server: string | undefined, item: string | undefined): void {
    this.server = server
    this.item = item
  }

  /** Keeps the arguments of a call of an item that the caller may not use, as JSON text; `redact` removes the server's secrets. */
  keepRefused(args: string | undefined, redact: (text: string) => string): void {
    this.refusedArguments = args
    this.#setRedactor(redact)
  }

  /** Keeps the values of arguments that a group locks to secrets out of the call log. */
  hideSecrets({ names, redact }: LockedSecrets): void {
    this.secretArguments = names
    this.#redactLocks = redact
    this.redact = redact
  }

  #setRedactor(redact: (text: string) => string): void {
    const redactLocks = this.#redactLocks
    this.redact = redactLocks === identity ? redact : (text) => redactLocks(redact(text))
  }

  /** Stops the clock while the caller is asked for input. */
  hold(now: number): void {
    this.#heldSince = now
  }

  resume(now: number): void {
    this.#heldMs += now - this.#heldSince
    this.#heldSince = 0
  }

  /** Starts the call's span if spans are exported. Returns the trace context to forward to the server. */
  startSpan(given: TraceContext | undefined): TraceContext | undefined {
    const { tracer, traceContext } = this.#observer
    if (!tracer) return contextToForward(traceContext, undefined, given)
    this.#trace = tracer.start(this, performance.now() - this.#since, given)
    return contextToForward(traceContext, this.#trace.context, given)
  }

  /** Starts measuring `upstreamMs`. */
  startUpstream(redact: (text: string) => string, mode: SessionMode): void {
    this.#setRedactor(redact)
    this.mode = mode
    this.#upstreamSince = performance.now() - this.#heldMs
  }

  /** Starts measuring the wait for `opening`, the connection that is being opened for the call. */
  markConnecting(opening: ConnectTimings): void {
    this.#opening = opening
    this.#openingSince = performance.now()
  }

  /** Sets the protocol version of the connection on which the call is sent. */
  markConnected(version: string): void {
    this.serverVersion = version
  }

  /** Attaches the last lines on stderr of the process that failed the call. */
  attachStderr(stderr: string | undefined): void {
    if (stderr !== undefined) this.stderr = stderr
  }

  /** Stops measuring `upstreamMs`. */
  endUpstream(): void {
    this.upstreamMs += performance.now() - this.#heldMs - this.#upstreamSince
  }

  /** Ends the call with its result; `mayBeTask`: the result may name a task, which is still running. */
  complete(result: Payload, mayBeTask = false): void {
    this.result = result
    const isTask = mayBeTask && result.valueOf('resultType') === `"${TASK}"`
    this.end(isTask ? 'task' : this.kind === 'tool' && isErrorResult(result) ? 'tool_error' : 'ok', undefined)
  }

  fail(error: unknown): void {
    this.end(outcomeOf(error), logMessageOf(error))
  }

  /** Ends the call and reports it to the observer; later calls of `end` do nothing. */
  end(outcome: Outcome, error: string | undefined): void {
    if (this.#isEnded) return
    this.#isEnded = true
    const now = performance.now()
    if (this.#heldSince > 0) this.resume(now)
    this.totalMs = now - this.#since - this.#heldMs
    this.outcome = outcome
    this.error = error
    if (this.#opening !== null) this.waits = computeWaits(this.#opening, this.#openingSince, now)
    if (this.mode !== undefined && this.serverVersion === undefined) this.#recordEndStage()
    this.#trace?.end(this, now - this.#since)
    this.#observer.onCall(this)
  }

  /** Records at which stage a call without a connection ended, and the stderr of the process it waited for. */
  #recordEndStage(): void {
    this.endedIn = (this.#opening && stageOf(this.#opening)) ?? 'queue'
    this.stderr ||= this.#opening?.stderr ?? ''
  }
}
