import { INPUT_REQUIRED, META } from '../domain/mcp-constants.ts'
import { adaptError, readAnswer } from '../upstream/era-bridge.ts'
import type { CatalogServer } from '../catalog/catalog.ts'
import { valueOf } from '../json/json.ts'
import type { Payload } from '../json/payload.ts'
import { createCall, recordAnswer, type CallTarget } from '../upstream/client-calls.ts'
import type { Answer, Call, OutgoingRequest, UpstreamAnswer } from '../upstream/transport/call.ts'
import { callerDisconnected, UpstreamFailure, type FailureReason } from '../protocol/upstream-failure.ts'
import { permissionWithdrawn } from './withdrawal.ts'
import type { RequestContext } from './request-context.ts'
import { sessionCallbacksOf, ownerOf } from './session-callbacks.ts'
import { codes, hopKeys, type Message } from '../protocol/jsonrpc.ts'
import { isInputRequired, attributeResult, needsAttribution } from './messages/server-attribution.ts'
import { PendingCall } from './input/pending-call.ts'
import { inputRequestsText, readInputResponses, type ParkedCall } from './input/input-required-store.ts'
import { runInputRounds, InputRefusedError, MAX_INPUT_ROUNDS } from './input/input-rounds.ts'
import { CallSink } from './input/call-sink.ts'
import { answerUrlElicitation, attributeUrlElicitations } from './input/url-elicitation.ts'
import {
  isBaggage,
  isTraceKey,
  parseTraceContext,
  readTraceHeaders,
  type TraceContext,
  type TracePolicy
} from '../protocol/trace-context.ts'

const hopByHopKeys = new Set(hopKeys)

interface Meta {
  /** Members to forward, as JSON text without braces. */
  readonly fragment: string
  /** JSON text of the caller's progress token. */
  readonly progressToken: string | undefined
  /** Trace context of the caller, if tracing is on; it is then replaced upstream by the gateway's own span. */
  readonly trace: TraceContext | undefined
}

const joinMembers = (first: string, second: string) => (first === '' ? second : `${first},${second}`)

const noMeta: Meta = { fragment: '', progressToken: undefined, trace: undefined }

function readMeta(message: Message, isTraced = false, policy: TracePolicy = 'all'): Meta {
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

/**
 * Reports a transport failure to the client as a JSON-RPC error (mcp-proxy.md#upstream-errors), never as `isError`,
 * which belongs to the tool.
 */
function replyFailure(context: RequestContext, server: CatalogServer, failure: UpstreamFailure): void {
  const { mcp, reply, message } = context
  mcp.dataPlane.refusals.auditFailure(context, server, failure)
  if (failure.reason === 'cancelled' && failure !== permissionWithdrawn) {
    reply.openStream()
    return reply.close()
  }
  const { reason, status, retryAfter } = failure
  // a plain HTTP 429, as long as no stream has begun (mcp-proxy.md#error-bodies)
  if (reason === 'limited' && !reply.isStream) {
    return reply.sendHttpError(429, failure.message, { 'retry-after': String(retryAfter) })
  }
  reply.sendError(message.id, codes.internal, failure.message, {
    data: {
      server: server.name,
      reason,
      ...(status === undefined ? {} : { status }),
      ...(retryAfter === undefined ? {} : { retryAfter })
    }
  })
}

/** Methods whose results may contain resource links. */
const methodsWithLinks = new Set(['tools/call', 'prompts/get'])

function replyAnswer(context: RequestContext, target: McpTarget, forwarded: UpstreamAnswer): void {
  const { reply, message, era, mcp, scope, caller, session } = context
  const { method } = message
  const { answer } = forwarded
  const { server, rewrite } = target
  const adaptation = { method, from: forwarded.era, to: era, server: server.name, serverInfo: mcp.serverInfo }
  const result = recordAnswer(context.observation!, forwarded, adaptation)
  if (answer.kind === 'error') {
    if (target.onError?.(answer)) return
    if (era === 'modern' && forwarded.era === 'legacy' && answerUrlElicitation(context, server.name, answer)) return
    if (session) mcp.elicitations.recordRequired(server.name, answer, { session, reply })
    const shown = needsAttribution(scope) ? attributeUrlElicitations(answer, server.name) : answer.body
    const { body, status } = adaptError(shown, era)
    return reply.sendAnswer(message.id, { kind: 'error', body }, status)
  }
  if (methodsWithLinks.has(method)) mcp.resourceLinks.record(caller.key, server.name, answer.body)
  // checked on the original result, which is already parsed: the adapted one would be parsed again
  const needsNames = era === 'modern' && needsAttribution(scope) && isInputRequired(answer.body)
  const attributed = needsNames ? readAnswer(() => attributeResult(result, server.name)) : result
  reply.sendAnswer(message.id, { kind: 'result', body: rewrite ? readAnswer(() => rewrite(attributed)) : attributed })
}

/** Target of an MCP request, with hooks for the server's response. */
export interface McpTarget extends CallTarget {
  /** Applied to a result last, before it is sent. */
  readonly rewrite?: ((result: Payload) => Payload) | undefined
  /** Handles an error response; returns false to let the error be sent. */
  readonly onError?: (answer: Answer) => boolean
}

/** JSON text of the caller's progress token, if any. */
type Token = string | undefined

/** Methods whose result may be `input_required` (mcp-proxy.md#modern-wire). */
const methodsWithInput = new Set(['tools/call', 'prompts/get', 'resources/read'])

/** Creates a call, whose sink receives the messages that arrive before its response. */
function openCall(context: RequestContext, request: OutgoingRequest, sink: CallSink): Call {
  const call = createCall(request, sink, context.observation, context.message.text.length)
  sink.call = call
  return call
}

function sendCall(context: RequestContext, server: CatalogServer, call: Call): Promise<UpstreamAnswer> {
  const { session, era, caller, mcp } = context
  const principal = caller.key
  const origin = session
    ? { era, principal, owner: ownerOf(session), callbacks: sessionCallbacksOf(context, session) }
    : { era, principal, owner: principal, callbacks: undefined }
  return mcp.calls.send(server, call, origin)
}

/** Sends an `input_required` result and parks the call until the caller returns (mcp-proxy.md#parked-calls). */
function askCaller(context: RequestContext, parked: ParkedCall<PendingCall>): void {
  const { mcp, reply, message } = context
  if (parked.round === MAX_INPUT_ROUNDS)
    return failParkedCall(parked, 'bad_response', 'the upstream asked for input too often')
  const state = mcp.inputRequiredStore.add(context, parked)
  if (state === undefined)
    return failParkedCall(parked, 'overloaded', 'too many calls are waiting for input from their clients')
  const result =
    `{"resultType":"${INPUT_REQUIRED}","inputRequests":${inputRequestsText(parked.questions)},` +
    `"requestState":${JSON.stringify(state)},"_meta":{"${META}serverInfo":${mcp.serverInfo}}}`
  parked.pendingCall.sink.detach()
  reply.sendResult(message.id, Buffer.from(result))
}

function failParkedCall({ pendingCall }: ParkedCall<PendingCall>, reason: FailureReason, message: string): never {
  const failure = new UpstreamFailure(reason, message)
  pendingCall.observation?.fail(failure)
  pendingCall.abandon()
  throw failure
}

/** Waits for the response of a modern caller's call, or for the upstream's first questions. */
async function awaitProgress(context: RequestContext, target: McpTarget, pendingCall: PendingCall, round: number) {
  const { reply, mcp } = context
  mcp.heartbeat.add(reply)
  reply.onAbort = () => pendingCall.call.stop(callerDisconnected())
  const { forwarded, questions } = await pendingCall.next()
  if (forwarded) replyAnswer(context, target, forwarded)
  else if (questions) askCaller(context, { pendingCall, server: target.server.name, round, questions })
}

/** Resumes a parked call with the caller's answers; if answers are missing, the same questions are sent again. */
async function resumeParked(context: RequestContext, target: McpTarget, state: string): Promise<void> {
  const parked = context.mcp.inputRequiredStore.take(context, state)
  const answers = readInputResponses(context.message, parked.questions)
  if (!answers) return askCaller(context, parked)
  const { pendingCall, questions, round } = parked
  context.observation = pendingCall.observation
  pendingCall.sink.attach(context, readMeta(context.message).progressToken)
  questions.forEach(({ answer }, i) => answer(answers[i]!))
  return awaitProgress(context, target, pendingCall, round + 1)
}

/**
 * Forwards a legacy caller's call. With a session the call survives a dropped stream, because the client can reconnect.
 */
async function forwardLegacy(context: RequestContext, target: McpTarget, request: OutgoingRequest, token: Token) {
  const { message, reply, session, mcp } = context
  const { server } = target
  const sink = new CallSink(context, server, token)
  const call = openCall(context, request, sink)
  const active = session && { id: message.id, call, slot: -1 }
  if (active) session.calls.add(active)
  else reply.onAbort = () => call.stop(callerDisconnected())
  mcp.heartbeat.add(reply)
  const sendRound = (next: OutgoingRequest): Promise<UpstreamAnswer> => {
    active!.call = createCall(next, sink, context.observation, next.members.length)
    sink.call = active!.call
    return sendCall(context, server, active!.call)
  }
  try {
    const first = await sendCall(context, server, call)
    const last = active && first.era === 'modern' ? await runInputRounds(first, sink, request, sendRound) : first
    sink.close()
    replyAnswer(context, target, last)
  } finally {
    if (active) session.calls.delete(active)
    sink.close()
  }
}

/** Forwards a modern caller's call, or resumes it; the upstream's requests become `input_required` results. */
function forwardModern(context: RequestContext, target: McpTarget, request: OutgoingRequest, token: Token) {
  const requestState = context.message.param('requestState')
  if (context.mcp.inputRequiredStore.isOwnState(requestState)) return resumeParked(context, target, requestState)
  const sink = new CallSink(context, target.server, token)
  const call = openCall(context, request, sink)
  const pendingCall = new PendingCall(call, sink, context.observation)
  if (methodsWithInput.has(request.method)) sink.inputRequester = pendingCall
  pendingCall.start(sendCall(context, target.server, call))
  return awaitProgress(context, target, pendingCall, 0)
}

/**
 * Sends a client's call to its server, and the server's response to the client. A disconnect cancels the call, unless it
 * belongs to a legacy session, which can still fetch the result (mcp-proxy.md#cancellation-and-disconnect).
 */
export function forward(context: RequestContext, target: McpTarget): Promise<void> {
  const { message, era, headers, mcp } = context
  const { tracer, traceContext: policy } = mcp.calls.tracing
  const { fragment, progressToken, trace } = readMeta(message, tracer !== undefined, policy)
  const callerTrace = trace ?? readTraceHeaders(headers)
  const request = mcp.calls.prepare(context.observation!, message.method, target, fragment, callerTrace)
  return (era === 'legacy' ? forwardLegacy : forwardModern)(context, target, request, progressToken)
}

/** Reports the failure of a call to the client. Throws what is neither a server's failure nor the client's refusal. */
export function sendFailure(context: RequestContext, { server }: McpTarget, error: unknown): void {
  if (error instanceof InputRefusedError) return context.reply.sendError(context.message.id, error.code, error.message)
  if (!(error instanceof UpstreamFailure)) throw error
  replyFailure(context, server, error)
}
