import type { CallObservation } from './observation.ts'
import type { TraceContext } from '../protocol/trace-context.ts'

/** The spans of one call. */
export interface Trace {
  /** Context of the upstream span, for the request to the server. */
  readonly context: TraceContext
  /** `ms`: milliseconds since the call began. */
  end(done: CallObservation, ms: number): void
}

/** Starts spans. Exists only if an exporter is configured. */
export interface Tracer {
  /** Starts the spans of a call whose server is known; `ms`: milliseconds since the call began. */
  start(call: CallObservation, ms: number, parent: TraceContext | undefined): Trace
}
