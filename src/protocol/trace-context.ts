import type { IncomingHttpHeaders } from 'node:http'

/** Position of a request in a distributed trace (W3C Trace Context). */
export interface TraceContext {
  readonly traceparent: string
  readonly tracestate: string | undefined
}
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/
const TRACESTATE = /^[ !#-[\]-~]{1,512}$/

/** Parses a trace context; undefined if `traceparent` is malformed. A malformed `tracestate` is dropped. */
export function parseTraceContext(traceparent: unknown, tracestate: unknown): TraceContext | undefined {
  if (typeof traceparent !== 'string' || !TRACEPARENT.test(traceparent)) return undefined
  const isState = typeof tracestate === 'string' && TRACESTATE.test(tracestate)
  return { traceparent, tracestate: isState ? tracestate : undefined }
}

/** Reads the trace context from the headers of a request. */
export const readTraceHeaders = ({ traceparent, tracestate }: IncomingHttpHeaders): TraceContext | undefined =>
  traceparent === undefined ? undefined : parseTraceContext(traceparent, tracestate)

/** Setting TOWPATH_TRACE_CONTEXT: forward no context, that of the gateway's span, or also all that the caller sent. */
export type TracePolicy = 'off' | 'own' | 'all'

/**
 * Returns the context to forward to a server under `policy`. `own`: context of the gateway's span, which includes the
 * caller's `tracestate`; `given`: the caller's context.
 */
export function contextToForward(
  policy: TracePolicy,
  own: TraceContext | undefined,
  given: TraceContext | undefined
): TraceContext | undefined {
  if (policy === 'all') return own ?? given
  return policy === 'own' && own ? { traceparent: own.traceparent, tracestate: undefined } : undefined
}

/** Returns true for W3C Baggage, which may describe the caller's systems: only policy `all` forwards it. */
export const isBaggage = (key: string) => key === 'baggage'

/** Returns true for the members of `_meta` that carry the trace context. */
export const isTraceKey = (key: string) => key === 'traceparent' || key === 'tracestate'

/** Serializes the context as members of `_meta`, without braces. Neither value can contain a character to escape. */
export const traceMembers = ({ traceparent, tracestate }: TraceContext): string =>
  `"traceparent":"${traceparent}"${tracestate === undefined ? '' : `,"tracestate":"${tracestate}"`}`

/** Returns the context as a flat list of header names and values. */
export const traceHeaders = ({ traceparent, tracestate }: TraceContext): string[] =>
  tracestate === undefined ? ['traceparent', traceparent] : ['traceparent', traceparent, 'tracestate', tracestate]
