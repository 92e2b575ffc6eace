import { valueOf } from '../../json/json.ts'
import { hopKeys, type Message } from '../../protocol/jsonrpc.ts'
import {
  isBaggage,
  isTraceKey,
  parseTraceContext,
  type TraceContext,
  type TracePolicy
} from '../../protocol/trace-context.ts'

const hopByHopKeys = new Set(hopKeys)

/** The used parts of a request's `_meta`. */
export interface RequestMeta {
  /** Members to forward, as JSON text without braces. */
  readonly fragment: string
  /** JSON text of the caller's progress token. */
  readonly progressToken: string | undefined
  /** Trace context of the caller, if tracing is on; it is then replaced upstream by the gateway's own span. */
  readonly trace: TraceContext | undefined
}

const joinMembers = (first: string, second: string) => (first === '' ? second : `${first},${second}`)

const noMeta: RequestMeta = { fragment: '', progressToken: undefined, trace: undefined }

/** Returns the members of `fragment` (see `readRequestMeta`) that are the caller's trace context. */
export function traceFragment({ text, metaMembers }: Message, isTraced: boolean, policy: TracePolicy): string {
  if (isTraced || policy !== 'all') return ''
  const kept = metaMembers.filter(({ key }) => isTraceKey(key))
  return kept.map(({ keyStart, end }) => text.slice(keyStart, end)).join(',')
}

/** Reads the `_meta` of a request. `isTraced`: spans are exported; `policy`: trace context that servers get. */
export function readRequestMeta(message: Message, isTraced = false, policy: TracePolicy = 'all'): RequestMeta {
  const { text, paramMembers } = message
  const found = paramMembers.find(({ key }) => key === '_meta')?.members
  if (!found) return noMeta
  let fragment = ''
  for (const { key, keyStart, end } of found) {
    if (hopByHopKeys.has(key) || ((isTraced || policy !== 'all') && isTraceKey(key))) continue
    if (policy !== 'all' && isBaggage(key)) continue
    fragment = joinMembers(fragment, text.slice(keyStart, end))
  }
  const token = valueOf(text, found, 'progressToken')
  return {
    fragment,
    progressToken: token === 'null' ? undefined : token,
    trace: isTraced ? parseTraceContext(message.meta('traceparent'), message.meta('tracestate')) : undefined
  }
}
