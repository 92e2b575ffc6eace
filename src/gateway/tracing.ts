import type { IncomingHttpHeaders } from 'node:http'
import type { CallObservation } from './observation.ts'

/** Where a request stands in a trace that others began (W3C Trace Context). */
export interface TraceContext {
  readonly traceparent: string
  readonly tracestate: string | undefined
}

/** The spans of one call. */
export interface Trace {
  /** What the server is told: its part of the call is a span of its own. */
  readonly context: TraceContext
  /** `ms`: since the call began. */
  end(done: CallObservation, ms: number): void
}

/** Opens spans. There is one only where somebody exports them. */
export interface Tracer {
  /** Of a call whose server is known; `ms`: since the call began. */
  start(call: CallObservation, ms: number, parent: TraceContext | undefined): Trace
}

const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/
const TRACESTATE = /^[ !#-[\]-~]{1,512}$/

/** Undefined where it is none: what is malformed is not passed on. A state without a parent means nothing. */
export function traceContext(traceparent: unknown, tracestate: unknown): TraceContext | undefined {
  if (typeof traceparent !== 'string' || !TRACEPARENT.test(traceparent)) return undefined
  const isState = typeof tracestate === 'string' && TRACESTATE.test(tracestate)
  return { traceparent, tracestate: isState ? tracestate : undefined }
}

/** The context in the headers of a request. */
export const traceOfHeaders = ({ traceparent, tracestate }: IncomingHttpHeaders): TraceContext | undefined =>
  traceparent === undefined ? undefined : traceContext(traceparent, tracestate)

/** Setting TOWPATH_TRACE_CONTEXT: none, that of our own span, or besides everything that the caller sent. */
export type TracePolicy = 'off' | 'own' | 'all'

/** What a server is sent, by policy. `own` is the context of our span, which carries the caller's `tracestate` along. */
export function sentContext(
  policy: TracePolicy,
  own: TraceContext | undefined,
  given: TraceContext | undefined
): TraceContext | undefined {
  if (policy === 'all') return own ?? given
  return policy === 'own' && own ? { traceparent: own.traceparent, tracestate: undefined } : undefined
}

/** A member of `_meta` that tells a server about the caller's systems, beside its place in a trace. */
export const isBaggage = (key: string) => key === 'baggage'

/** Members of `_meta` that carry it. */
export const isTraceKey = (key: string) => key === 'traceparent' || key === 'tracestate'

/** As members of `_meta`, without braces: neither value holds a character that JSON escapes. */
export const traceMembers = ({ traceparent, tracestate }: TraceContext): string =>
  `"traceparent":"${traceparent}"${tracestate === undefined ? '' : `,"tracestate":"${tracestate}"`}`

/** As headers in pairs. */
export const traceHeaders = ({ traceparent, tracestate }: TraceContext): string[] =>
  tracestate === undefined ? ['traceparent', traceparent] : ['traceparent', traceparent, 'tracestate', tracestate]
