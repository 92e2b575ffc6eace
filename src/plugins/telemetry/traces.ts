import { qualifiedName } from '../../domain/names.ts'
import type { Attributes, Span, SpanContext, SpanOptions } from '@opentelemetry/api'
import { PRODUCT } from '../../domain/product.ts'
import type { CallKind, CallObservation } from '../../observe/observation.ts'
import type { Tracer } from '../../observe/tracing.ts'
import type { TraceContext } from '../../protocol/trace-context.ts'

export interface Traces {
  readonly tracer: Tracer
  /** Exports the remaining spans, for at most `limitMs`. */
  close(limitMs: number): Promise<void>
}

const methods: Record<CallKind, string> = {
  tool: 'tools/call',
  prompt: 'prompts/get',
  resource: 'resources/read',
  completion: 'completion/complete'
}

const hex = (value: number) => value.toString(16).padStart(2, '0')

/** Span name with the names of servers, tools and prompts only: URIs and completions may contain the caller's data. */
function nameOf({ kind, server, item }: CallObservation): string {
  const isNamed = kind === 'tool' || kind === 'prompt'
  return `${methods[kind]} ${isNamed && server !== undefined && item !== undefined ? qualifiedName(server, item) : server}`
}

/** Attributes of OpenTelemetry's conventions for MCP, and the gateway's own. */
function attributesOf({ kind, server, item }: CallObservation): Attributes {
  const common: Attributes = { 'mcp.method.name': methods[kind], 'towpath.server': server ?? '' }
  if (kind === 'tool') return { ...common, 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': item ?? '' }
  return kind === 'prompt' ? { ...common, 'gen_ai.prompt.name': item ?? '' } : common
}

/** Parses a traceparent to the members that the SDK uses. */
function parentOf({ traceparent }: TraceContext): Pick<SpanContext, 'traceId' | 'spanId' | 'traceFlags'> {
  const [, traceId = '', spanId = '', flags = '00'] = traceparent.split('-')
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1 }
}

/** Loads OpenTelemetry and starts its SDK, which reads the endpoint and its options from the environment. */
export async function createTraces(version: string): Promise<Traces> {
  const [api, { NodeSDK, resources }] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/sdk-node')
  ])
  const { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace, createTraceState } = api
  const sdk = new NodeSDK({
    resource: resources.resourceFromAttributes({ 'service.name': PRODUCT, 'service.version': version }),
    // host name, user name and command line stay private unless an operator adds them
    resourceDetectors: [resources.envDetector],
    metricReaders: [],
    logRecordProcessors: [],
    contextManager: null as never,
    textMapPropagator: null
  })
  sdk.start()
  const tracer = trace.getTracer(PRODUCT, version)

  const contextOf = (span: Span): TraceContext => {
    const { traceId, spanId, traceFlags, traceState } = span.spanContext()
    return { traceparent: `00-${traceId}-${spanId}-${hex(traceFlags)}`, tracestate: traceState?.serialize() }
  }
  const contextIn = (given: TraceContext | undefined) => {
    if (!given) return ROOT_CONTEXT
    const { tracestate } = given
    const traceState = tracestate === undefined ? {} : { traceState: createTraceState(tracestate) }
    return trace.setSpanContext(ROOT_CONTEXT, { ...parentOf(given), ...traceState, isRemote: true })
  }
  const open = (name: string, options: SpanOptions, within = ROOT_CONTEXT) => {
    const span = tracer.startSpan(name, options, within)
    return { span, within: trace.setSpan(within, span) }
  }
  const fail = (span: Span, { outcome }: CallObservation) => {
    if (outcome === 'ok') return
    span.setAttribute('error.type', outcome)
    span.setStatus({ code: SpanStatusCode.ERROR })
  }

  return {
    tracer: {
      start(call, ms, parent) {
        const name = nameOf(call)
        const attributes = attributesOf(call)
        const { startedAt } = call
        const serverSpan = open(name, { kind: SpanKind.SERVER, attributes, startTime: startedAt }, contextIn(parent))
        const sentAt = startedAt + ms
        const clientSpan = open(name, { kind: SpanKind.CLIENT, attributes, startTime: sentAt }, serverSpan.within)
        return {
          context: contextOf(clientSpan.span),
          end(done, endMs) {
            fail(clientSpan.span, done)
            clientSpan.span.end(Math.min(sentAt + done.upstreamMs, startedAt + endMs))
            fail(serverSpan.span, done)
            serverSpan.span.end(startedAt + endMs)
          }
        }
      }
    },
    async close(limitMs) {
      let timer: NodeJS.Timeout | undefined
      const timeout = new Promise<void>((resolve) => (timer = setTimeout(resolve, limitMs)))
      // an unreachable collector loses its spans and nothing else
      await Promise.race([sdk.shutdown().catch(() => {}), timeout]).finally(() => clearTimeout(timer))
      trace.disable()
    }
  }
}
