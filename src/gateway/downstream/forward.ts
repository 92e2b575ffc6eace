import { INPUT_REQUIRED, META } from '../../domain/protocol.ts'
import { adaptError, adaptResult, errorMessage, readAnswer } from '../bridge.ts'
import type { ServerBlock } from '../catalog.ts'
import { valueOf } from '../json.ts'
import type { Payload } from '../payload.ts'
import {
  contextToForward,
  isBaggage,
  isTraceKey,
  parseTraceContext,
  readTraceHeaders,
  traceMembers,
  type TraceContext,
  type TracePolicy
} from '../tracing.ts'
import { Call, countBytes, type Answer, type OutgoingRequest } from '../upstream/call.ts'
import { UpstreamFailure, type FailureReason } from '../upstream/failure.ts'
import { withdrawn } from '../withdrawal.ts'
import type { Exchange, Forwarded } from './exchange.ts'
import { homeOf, ownerOf } from './home.ts'
import { codes, hopKeys, type Message } from './jsonrpc.ts'
import { asksForInput, labelledResult, needsLabel } from './label.ts'
import { callerLeft, Flow } from './flow.ts'
import { inputRequests, readResponses, type Parked } from './park.ts'
import { answerRounds, InputRefused, MAX_ROUNDS } from './rounds.ts'
import { CallSink } from './sink.ts'
import { answerUrlElicitation, labelledRequired } from './url-elicitation.ts'

const ofOneHop = new Set(hopKeys)

interface Meta {
  /** Members that are passed on, without braces. */
  readonly fragment: string
  /** JSON text of the caller's progress token. */
  readonly progressToken: string | undefined
  /** The caller's place in a trace, where that is to be known: then it is not passed on. */
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
    if (ofOneHop.has(key) || ((isTraced || policy !== 'all') && isTraceKey(key))) continue
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
 * A transport failure as an MCP client sees it (mcp-proxy.md#upstream-errors): never `isError`, which is the tool's own
 * word.
 */
function replyFailure(exchange: Exchange, server: ServerBlock, failure: UpstreamFailure): void {
  const { edge, reply, message } = exchange
  edge.core.refusals.auditFailure(exchange, server, failure)
  if (failure.reason === 'cancelled' && failure !== withdrawn) {
    reply.openStream()
    return reply.close()
  }
  const { reason, status, retryAfter } = failure
  // HTTP's own word, where HTTP can still say one (mcp-proxy.md#error-bodies)
  if (reason === 'limited' && !reply.isStream) {
    return reply.plain(429, failure.message, { 'retry-after': String(retryAfter) })
  }
  reply.error(message.id, codes.internal, failure.message, {
    data: {
      server: server.name,
      reason,
      ...(status === undefined ? {} : { status }),
      ...(retryAfter === undefined ? {} : { retryAfter })
    }
  })
}

/** Methods whose results may link to resources. */
const linking = new Set(['tools/call', 'prompts/get'])

function replyAnswer(exchange: Exchange, server: ServerBlock, forwarded: Forwarded, ending?: Ending): void {
  const { reply, message, era, edge, scope, caller, session } = exchange
  const { answer } = forwarded
  if (answer.kind === 'error') {
    exchange.observation?.end('failed', errorMessage(answer))
    if (ending?.onError?.(answer)) return
    if (era === 'modern' && forwarded.era === 'legacy' && answerUrlElicitation(exchange, server.name, answer)) return
    if (session) edge.elicitations.noteRequired(server.name, answer, { session, reply })
    const shown = needsLabel(scope) ? labelledRequired(answer, server.name) : answer.body
    const { body, status } = adaptError(shown, era)
    return reply.answer(message.id, { kind: 'error', body }, status)
  }
  const { method } = message
  const adaptation = { method, from: forwarded.era, to: era, server: server.name, serverInfo: edge.serverInfo }
  const result = adaptResult(answer.body, adaptation)
  exchange.observation?.complete(answer.body)
  if (linking.has(method)) edge.links.note(caller.key, server.name, answer.body)
  // asked of the answer as it came, which has been read: the adapted one would be read anew
  const isAsked = era === 'modern' && needsLabel(scope) && asksForInput(answer.body)
  const asked = isAsked ? readAnswer(() => labelledResult(result, server.name)) : result
  const rewrite = ending?.rewrite
  reply.answer(message.id, { kind: 'result', body: rewrite ? readAnswer(() => rewrite(asked)) : asked })
}

/** What a method makes of the upstream's answer. */
export interface Ending {
  /** Last change to a result before it goes out. */
  readonly rewrite?: (result: Payload) => Payload
  /** Answers in place of an error; false: the error goes out. */
  readonly onError?: (answer: Answer) => boolean
}

/** JSON text of the caller's progress token, where it gave one. */
type Token = string | undefined

/** Methods whose result may ask the caller for more (mcp-proxy.md#modern-wire). */
const askable = new Set(['tools/call', 'prompts/get', 'resources/read'])

/** A call with what it can take before its answer. */
function createCall(exchange: Exchange, server: ServerBlock, request: OutgoingRequest, token: string | undefined) {
  const sink = new CallSink(exchange, server, token)
  const call = new Call(request, sink)
  call.countedBytes = countBytes(exchange.message.text.length)
  call.observation = exchange.observation
  sink.call = call
  return { call, sink }
}

function send(exchange: Exchange, server: ServerBlock, call: Call): Promise<Forwarded> {
  const { session, era, caller, edge } = exchange
  const principal = caller.key
  const origin = session
    ? { era, principal, owner: ownerOf(session), home: homeOf(exchange, session) }
    : { era, principal, owner: principal, home: undefined }
  return edge.core.forward(server, call, origin)
}

/** Asks the caller in its result, and keeps the call for when it comes back (mcp-proxy.md#parked-calls). */
function ask(exchange: Exchange, parked: Parked<Flow>): void {
  const { edge, reply, message } = exchange
  if (parked.round === MAX_ROUNDS) return refuseToAsk(parked, 'bad_response', 'the upstream asked for input too often')
  const state = edge.parks.park(exchange, parked)
  if (state === undefined) return refuseToAsk(parked, 'overloaded', 'too many calls wait for their callers')
  const result =
    `{"resultType":"${INPUT_REQUIRED}","inputRequests":${inputRequests(parked.questions)},` +
    `"requestState":${JSON.stringify(state)},"_meta":{"${META}serverInfo":${edge.serverInfo}}}`
  parked.flow.sink.detach()
  reply.result(message.id, Buffer.from(result))
}

function refuseToAsk({ flow }: Parked<Flow>, reason: FailureReason, message: string): never {
  const failure = new UpstreamFailure(reason, message)
  flow.observation?.fail(failure)
  flow.abandon()
  throw failure
}

/** Waits for the answer of a modern caller's call, or for the first question of its upstream. */
async function converse(exchange: Exchange, server: ServerBlock, flow: Flow, round: number, ending?: Ending) {
  const { reply, edge } = exchange
  edge.heartbeat.add(reply)
  reply.onLeave = () => flow.call.stop(callerLeft())
  const { forwarded, questions } = await flow.next()
  if (forwarded) replyAnswer(exchange, server, forwarded, ending)
  else if (questions) ask(exchange, { flow, server: server.name, round, questions })
}

/** The caller is back with answers; where some are missing it is asked the same again. */
function resume(exchange: Exchange, server: ServerBlock, state: string, ending?: Ending): Promise<void> | void {
  const parked = exchange.edge.parks.take(exchange, state)
  const answers = readResponses(exchange.message, parked.questions)
  if (!answers) return ask(exchange, parked)
  const { flow, questions, round } = parked
  exchange.observation = flow.observation
  flow.sink.attach(exchange, readMeta(exchange.message).progressToken)
  questions.forEach(({ answer }, i) => answer(answers[i]!))
  return converse(exchange, server, flow, round + 1, ending)
}

/** A legacy caller's call goes on when its stream is dropped, for as long as there is a session to ask again. */
async function forwardLegacy(
  exchange: Exchange,
  server: ServerBlock,
  request: OutgoingRequest,
  token: Token,
  ending?: Ending
) {
  const { message, reply, session, edge } = exchange
  const { call, sink } = createCall(exchange, server, request, token)
  const active = session && { id: message.id, call, slot: -1 }
  if (active) session.calls.add(active)
  else reply.onLeave = () => call.stop(callerLeft())
  edge.heartbeat.add(reply)
  const again = (next: OutgoingRequest): Promise<Forwarded> => {
    active!.call = new Call(next, sink)
    active!.call.observation = exchange.observation
    active!.call.countedBytes = countBytes(next.members.length)
    sink.call = active!.call
    return send(exchange, server, active!.call)
  }
  try {
    const first = await send(exchange, server, call)
    const last = active && first.era === 'modern' ? await answerRounds(first, sink, request, again) : first
    sink.close()
    replyAnswer(exchange, server, last, ending)
  } finally {
    if (active) session.calls.delete(active)
    sink.close()
  }
}

/** The modern form: what its upstream asks, the caller is asked in a result. */
function forwardModern(
  exchange: Exchange,
  server: ServerBlock,
  request: OutgoingRequest,
  token: Token,
  ending?: Ending
) {
  const requestState = exchange.message.param('requestState')
  if (exchange.edge.parks.isOurs(requestState)) return resume(exchange, server, requestState, ending)
  const { call, sink } = createCall(exchange, server, request, token)
  const flow = new Flow(call, sink, exchange.observation)
  if (askable.has(request.method)) sink.asker = flow
  flow.start(send(exchange, server, call))
  return converse(exchange, server, flow, 0, ending)
}

/**
 * Sends a client's request upstream and its answer back. `members` are those of the request as text, names rewritten.
 * A caller who leaves cancels, unless a legacy session could still ask for the result
 * (mcp-proxy.md#cancellation-and-disconnect).
 */
export async function forward(
  exchange: Exchange,
  server: ServerBlock,
  { members, name, headers }: Pick<OutgoingRequest, 'members' | 'name' | 'headers'>,
  ending?: Ending
): Promise<void> {
  const { message, era } = exchange
  const { tracer, traceContext: policy } = exchange.edge.observer
  const meta = readMeta(message, tracer !== undefined, policy)
  const { progressToken } = meta
  const given = meta.trace ?? readTraceHeaders(exchange.headers)
  const trace = exchange.observation
    ? exchange.observation.startSpan(given)
    : contextToForward(policy, undefined, given)
  const fragment = tracer && trace ? joinMembers(meta.fragment, traceMembers(trace)) : meta.fragment
  // not spread: that is a tenth of the CPU of a call
  const request: OutgoingRequest = { method: message.method, members, meta: fragment, name, headers, trace }
  if (exchange.observation) exchange.observation.params = members
  try {
    await (era === 'legacy' ? forwardLegacy : forwardModern)(exchange, server, request, progressToken, ending)
  } catch (error) {
    exchange.observation?.fail(error)
    if (error instanceof InputRefused) return exchange.reply.error(message.id, error.code, error.message)
    if (!(error instanceof UpstreamFailure)) throw error
    replyFailure(exchange, server, error)
  }
}
