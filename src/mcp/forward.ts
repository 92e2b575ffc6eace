import { INPUT_REQUIRED, META } from '../domain/mcp-constants.ts'
import type { CatalogServer } from '../catalog/catalog.ts'
import { createCall, type ClientCalls } from '../upstream/client-calls.ts'
import { methodsWithInput } from '../upstream/era-bridge.ts'
import type { Call, OutgoingRequest, UpstreamAnswer } from '../upstream/transport/call.ts'
import { callerDisconnected, UpstreamFailure, type FailureReason } from '../protocol/upstream-failure.ts'
import { readTraceHeaders } from '../protocol/trace-context.ts'
import type { CallReplies, McpTarget } from './call-replies.ts'
import { CallSink } from './input/call-sink.ts'
import type { Elicitations } from './input/elicitations.ts'
import {
  inputRequestsText,
  readInputResponses,
  type InputRequiredStore,
  type ParkedCall
} from './input/input-required-store.ts'
import { runInputRounds, MAX_INPUT_ROUNDS } from './input/input-rounds.ts'
import { PendingCall } from './input/pending-call.ts'
import { readRequestMeta, traceFragment } from './messages/request-meta.ts'
import { ownerOf, type SessionRelay } from './session-relay.ts'
import type { Heartbeat } from './sessions/heartbeat.ts'
import type { Implementation, RequestContext } from './sessions/request-context.ts'

/** JSON text of the caller's progress token, if any. */
type Token = string | undefined

export interface CallForwarderOptions {
  readonly calls: ClientCalls
  readonly replies: CallReplies
  readonly relay: SessionRelay
  readonly elicitations: Elicitations
  readonly inputRequiredStore: InputRequiredStore<PendingCall>
  readonly heartbeat: Heartbeat
  readonly identity: Implementation
}

/** Forwards calls of MCP clients to servers, including the questions that servers ask meanwhile. */
export class CallForwarder {
  readonly #options: CallForwarderOptions
  readonly #serverInfo: string

  constructor(options: CallForwarderOptions) {
    this.#options = options
    this.#serverInfo = JSON.stringify(options.identity)
  }

  /**
   * Sends a client's call to its server, and the server's response to the client. A disconnect cancels the call, unless
   * it belongs to a legacy session, which can still fetch the result (mcp-proxy.md#cancellation-and-disconnect). Rejects
   * or throws if there is no response.
   */
  forward(context: RequestContext, target: McpTarget): Promise<void> {
    const { message, era, headers } = context
    const { calls } = this.#options
    const { tracer, traceContext: policy } = calls.tracing
    const { fragment, progressToken, trace } = readRequestMeta(message, tracer !== undefined, policy)
    const callerTrace = trace ?? readTraceHeaders(headers)
    // whoever said yes was shown the arguments, and not what else a server may act upon
    const meta = target.ask ? traceFragment(message, tracer !== undefined, policy) : fragment
    const request = calls.prepare(context.observation!, message.method, target, meta, callerTrace)
    return era === 'legacy'
      ? this.#forwardLegacy(context, target, request, progressToken)
      : this.#forwardModern(context, target, request, progressToken)
  }

  /**
   * Forwards a legacy caller's call. With a session the call survives a dropped stream, because the client can
   * reconnect.
   */
  async #forwardLegacy(
    context: RequestContext,
    target: McpTarget,
    request: OutgoingRequest,
    token: Token
  ): Promise<void> {
    const { message, reply, session } = context
    const { server } = target
    const { heartbeat, replies } = this.#options
    const call = this.#openCall(context, server, request, token)
    const sink = call.sink as CallSink
    const active = session && { id: message.id, call, slot: -1 }
    if (active) session.calls.add(active)
    else reply.onAbort = () => call.stop(callerDisconnected())
    heartbeat.add(reply)
    const sendRound = (next: OutgoingRequest): Promise<UpstreamAnswer> => {
      active!.call = createCall(next, sink, context.observation, next.members.length)
      sink.call = active!.call
      return this.#send(context, server, active!.call)
    }
    try {
      const first = await this.#send(context, server, call)
      const last = active && first.era === 'modern' ? await runInputRounds(first, sink, request, sendRound) : first
      sink.close()
      const sending = replies.sendAnswer(context, target, last)
      if (sending) await sending
    } finally {
      if (active) session.calls.delete(active)
      sink.close()
    }
  }

  /** Forwards a modern caller's call, or resumes it; the upstream's requests become `input_required` results. */
  #forwardModern(context: RequestContext, target: McpTarget, request: OutgoingRequest, token: Token): Promise<void> {
    const requestState = context.message.param('requestState')
    if (this.#options.inputRequiredStore.isOwnState(requestState))
      return this.#resumeParked(context, target, requestState)
    const call = this.#openCall(context, target.server, request, token)
    const sink = call.sink as CallSink
    const pendingCall = new PendingCall(call, sink, context.observation)
    if (methodsWithInput.has(request.method)) sink.inputRequester = pendingCall
    pendingCall.start(this.#send(context, target.server, call))
    return this.#awaitProgress(context, target, pendingCall, 0)
  }

  /** Creates a call, whose `CallSink` receives the messages that arrive before its response. */
  #openCall(context: RequestContext, server: CatalogServer, request: OutgoingRequest, token: Token): Call {
    const sink = new CallSink(context, server, token, this.#options.elicitations)
    const call = createCall(request, sink, context.observation, context.message.text.length)
    sink.call = call
    return call
  }

  #send(context: RequestContext, server: CatalogServer, call: Call): Promise<UpstreamAnswer> {
    const { session, era, caller } = context
    const { calls, relay } = this.#options
    const principal = caller.key
    const origin = session
      ? { era, principal, owner: ownerOf(session), callbacks: relay.callbacksOf(context, session) }
      : { era, principal, owner: principal, callbacks: undefined }
    return calls.send(server, call, origin)
  }

  /** Waits for the response of a modern caller's call, or for the upstream's first questions. */
  async #awaitProgress(
    context: RequestContext,
    target: McpTarget,
    pendingCall: PendingCall,
    round: number
  ): Promise<void> {
    const { reply } = context
    this.#options.heartbeat.add(reply)
    reply.onAbort = () => pendingCall.call.stop(callerDisconnected())
    const { forwarded, questions } = await pendingCall.next()
    if (forwarded) return this.#options.replies.sendAnswer(context, target, forwarded)
    if (questions) this.#askCaller(context, { pendingCall, server: target.server.name, round, questions })
  }

  /** Sends an `input_required` result and parks the call until the caller returns (mcp-proxy.md#parked-calls). */
  #askCaller(context: RequestContext, parked: ParkedCall<PendingCall>): void {
    const { reply, message } = context
    if (parked.round === MAX_INPUT_ROUNDS)
      return failParkedCall(parked, 'bad_response', 'the upstream asked for input too often')
    const state = this.#options.inputRequiredStore.add(context, parked)
    if (state === undefined)
      return failParkedCall(parked, 'overloaded', 'too many calls are waiting for input from their clients')
    const result =
      `{"resultType":"${INPUT_REQUIRED}","inputRequests":${inputRequestsText(parked.questions)},` +
      `"requestState":${JSON.stringify(state)},"_meta":{"${META}serverInfo":${this.#serverInfo}}}`
    parked.pendingCall.sink.detach()
    reply.sendResult(message.id, Buffer.from(result))
  }

  /** Resumes a parked call with the caller's answers; if answers are missing, the same questions are sent again. */
  async #resumeParked(context: RequestContext, target: McpTarget, state: string): Promise<void> {
    const parked = this.#options.inputRequiredStore.take(context, state)
    const answers = readInputResponses(context.message, parked.questions)
    if (!answers) return this.#askCaller(context, parked)
    const { pendingCall, questions, round } = parked
    context.observation = pendingCall.observation
    pendingCall.sink.attach(context, readRequestMeta(context.message).progressToken)
    questions.forEach(({ answer }, i) => answer(answers[i]!))
    return this.#awaitProgress(context, target, pendingCall, round + 1)
  }
}

function failParkedCall({ pendingCall }: ParkedCall<PendingCall>, reason: FailureReason, message: string): never {
  const failure = new UpstreamFailure(reason, message)
  pendingCall.observation?.fail(failure)
  pendingCall.abandon()
  throw failure
}
