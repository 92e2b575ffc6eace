import type { CatalogServer } from '../catalog/catalog.ts'
import type { Payload } from '../json/payload.ts'
import { Observation, type CallKind, type InboundCall, type Observer } from '../observe/observation.ts'
import { traceMembers, type TraceContext } from '../protocol/trace-context.ts'
import { adaptResult, errorMessage, type Adaptation } from './era-bridge.ts'
import {
  Call,
  countBytes,
  type CallOrigin,
  type OutgoingRequest,
  type Sink,
  type UpstreamAnswer
} from './transport/call.ts'

/** Sends a call to a server within its limits. Rejects with UpstreamFailure. */
export type SendCall = (server: CatalogServer, call: Call, origin: CallOrigin) => Promise<UpstreamAnswer>

/** A client's request whose call is being served. */
export interface CallRequest {
  /** Record of the call; null before the call begins. */
  observation: Observation | null
}

/** Server and item that a request is for, in the server's own names. */
export interface CallTarget extends Pick<OutgoingRequest, 'members' | 'name' | 'headers'> {
  readonly server: CatalogServer
}

/** Differences between the calls of one kind over MCP and over REST. Created once, not per call. */
export interface CallSurface<R extends CallRequest, C extends CallTarget, T> {
  readonly kind: CallKind
  /** Describes the request for the call log. */
  describe(request: R): InboundCall
  /**
   * Finds the target and checks that the client may call it now; names it in the observation. Throws the error that the
   * client gets; returns undefined if it answered the client itself.
   */
  resolve(request: R, observation: Observation): C | undefined
  /** Sends the call with the functions of `ClientCalls` and answers the client. */
  exchange(request: R, target: C): Promise<T>
  /** Answers the client after a failed exchange, or throws. The failure is recorded already. */
  fail(request: R, target: C, error: unknown): T
}

/** A surface that leaves no request to be answered without a server. */
export interface AlwaysResolves<R, C> {
  resolve(request: R, observation: Observation): C
}

/**
 * Serves every call of a client to a server, over MCP and over REST. `CallSurface` holds the differences between the two.
 */
export class ClientCalls {
  readonly #observer: Observer
  readonly #send: SendCall

  constructor(observer: Observer, send: SendCall) {
    this.#observer = observer
    this.#send = send
  }

  /** Settings of tracing, for surfaces that read trace contexts from requests. */
  get tracing(): Pick<Observer, 'tracer' | 'traceContext'> {
    return this.#observer
  }

  /**
   * Serves one call: opens its observation, resolves the target, exchanges the messages and records a failure. Throws
   * what `resolve` throws; undefined if `resolve` answered the client.
   */
  run<R extends CallRequest, C extends CallTarget, T>(
    surface: CallSurface<R, C, T> & AlwaysResolves<R, C>,
    request: R
  ): Promise<T>
  run<R extends CallRequest, C extends CallTarget, T>(surface: CallSurface<R, C, T>, request: R): Promise<T> | undefined
  run<R extends CallRequest, C extends CallTarget, T>(
    surface: CallSurface<R, C, T>,
    request: R
  ): Promise<T> | undefined {
    const observation = new Observation(this.#observer, surface.kind, surface.describe(request))
    request.observation = observation
    let target: C | undefined
    try {
      target = surface.resolve(request, observation)
    } catch (error) {
      observation.fail(error)
      throw error
    }
    return target && exchange(surface, request, target)
  }

  /**
   * Returns the request to send to the server, and starts its span. `meta`: members of `_meta` to forward; `trace`: the
   * caller's trace context.
   */
  prepare(
    observation: Observation,
    method: string,
    { members, name, headers }: CallTarget,
    meta: string,
    callerTrace: TraceContext | undefined
  ): OutgoingRequest {
    const trace = observation.startSpan(callerTrace)
    observation.params = members
    const own = trace && this.#observer.tracer ? traceMembers(trace) : ''
    // no spread: it costs a tenth of a call's CPU time
    return { method, members, meta: meta === '' || own === '' ? meta + own : `${meta},${own}`, name, headers, trace }
  }

  /** Sends a call that `createCall` returned. Rejects with UpstreamFailure. */
  send(server: CatalogServer, call: Call, origin: CallOrigin): Promise<UpstreamAnswer> {
    return this.#send(server, call, origin)
  }
}

/** A single async function, since each additional promise is a measurable part of a call's cost. */
async function exchange<R extends CallRequest, C extends CallTarget, T>(
  surface: CallSurface<R, C, T>,
  request: R,
  target: C
): Promise<T> {
  try {
    return await surface.exchange(request, target)
  } catch (error) {
    // a resumed call has replaced the observation of its request
    request.observation!.fail(error)
    return surface.fail(request, target, error)
  }
}

/** Creates the call that carries a request; `bytes`: length that counts towards the principal's quota. */
export function createCall(request: OutgoingRequest, sink: Sink, observation: Observation | null, bytes: number): Call {
  const call = new Call(request, sink)
  call.countedBytes = countBytes(bytes)
  call.observation = observation
  return call
}

/**
 * Records an answer as the call's outcome. Returns a result in the era of the caller, and the body of an error unchanged.
 * Throws UpstreamFailure if the result is malformed.
 */
export function recordAnswer(observation: Observation, { answer }: UpstreamAnswer, adaptation: Adaptation): Payload {
  if (answer.kind === 'error') {
    observation.end('failed', errorMessage(answer))
    return answer.body
  }
  const result = adaptResult(answer.body, adaptation)
  observation.complete(answer.body, adaptation.acceptsTask === true)
  return result
}
