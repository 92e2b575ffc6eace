import type { CatalogServer, Item } from '../../catalog/catalog.ts'
import { isObject } from '../../domain/is-object.ts'
import { INPUT_REQUIRED, META } from '../../domain/mcp-constants.ts'
import { valueOf, withMembers } from '../../json/json.ts'
import { Payload } from '../../json/payload.ts'
import { AppError } from '../../lib/errors.ts'
import { canRequest } from '../messages/capabilities.ts'
import { isInputRequired } from '../messages/server-attribution.ts'
import { HttpReply } from '../sessions/reply.ts'
import { taskFactsOf } from './task-facts.ts'
import { approvalMeta } from './approval-meta.ts'
import { createServerRequests } from '../sessions/server-requests.ts'
import { digestOf } from './call-digest.ts'
import { CONFIRM_KEY, isYes, questionOf } from './question.ts'
import type { YesState, YesStates } from './yes-states.ts'
import type { CurrentScopes } from '../../catalog/scope.ts'
import { callerDisconnected } from '../../protocol/upstream-failure.ts'
import { notificationText } from '../../protocol/jsonrpc-text.ts'
import type { StoredApproval } from '../../registry/approvals.ts'
import { Call, silentSink } from '../../upstream/transport/call.ts'
import { invalidState, type InputRequiredStore } from '../input/input-required-store.ts'
import type { PendingCall } from '../input/pending-call.ts'
import { readRequestMeta } from '../messages/request-meta.ts'
import type { Heartbeat } from '../sessions/heartbeat.ts'
import type { RequestContext } from '../sessions/request-context.ts'
import { areTooLong, settingsOf, TOO_LONG, type ApprovalGate, type Ask } from './approval-gate.ts'
import type { ApprovalWaits } from './approval-waits.ts'

/** Target of a call. */
interface Target {
  /** JSON text of the members of the parameters. */
  readonly members: string
  readonly rewrite?: ((result: Payload) => Payload) | undefined
  /** Absent if the call may run at once. */
  readonly ask?: Ask
}

export interface AskedCallsOptions<T extends Target> {
  /** Answers a call with the task that stands for it. */
  readonly tasks: { create(context: RequestContext, item: Item, approval: StoredApproval): void }
  readonly gate: ApprovalGate
  readonly waits: ApprovalWaits
  readonly forwarder: { forward(context: RequestContext, target: T): Promise<void> }
  readonly scopes: Pick<CurrentScopes, 'scope'>
  /** Resolves the target of a request again; undefined after the answer that a policy refuses it. */
  readonly resolve: (context: RequestContext) => T | undefined
  readonly yesStates: YesStates
  /** Returns a function that removes a server's secrets from a text. */
  readonly redactorOf: (server: CatalogServer) => (text: string) => string
  readonly serverInfo: string
  readonly results: { send(context: RequestContext, members: string, extra: string, ownMeta: string): void }
  readonly inputRequiredStore: Pick<InputRequiredStore<PendingCall>, 'isOwnState'>
  readonly heartbeat: Pick<Heartbeat, 'add'>
}

const PROGRESS_MS = 10_000

/** Serves the calls of MCP clients that may run only after a yes (approvals.md). */
export class AskedCalls<T extends Target> {
  readonly #options: AskedCallsOptions<T>

  constructor(options: AskedCallsOptions<T>) {
    this.#options = options
  }

  /** Refuses a call without a question that comes with the answer to one: the policy has changed meanwhile. */
  checkUnasked({ message }: RequestContext): void {
    if (message.has('requestState') && this.#options.yesStates.isOwn(message.param('requestState')))
      throw invalidState(message)
  }

  /** Forwards the call once somebody has said yes to it; otherwise tells the caller what is waited for. */
  async exchange(context: RequestContext, target: T, ask: Ask): Promise<void> {
    const { forwarder, inputRequiredStore, yesStates } = this.#options
    const { message, era } = context
    // only the stateless protocol has states; for a session they are members like any other
    const state = era === 'modern' ? message.param('requestState') : undefined
    // the call itself began after a yes, and is only continued
    if (inputRequiredStore.isOwnState(state)) return forwarder.forward(context, target)
    const isOwn = yesStates.isOwn(state)
    // a server's own state would reach it without the proof that the call had a yes
    if (state !== undefined && !isOwn) throw invalidState(message)
    if (!isOwn && (ask.rule.rule.effect !== 'confirm' || !canConfirm(context)))
      return this.#approve(context, target, ask)
    if (areTooLong(ask)) return this.#tell(context, TOO_LONG, undefined)
    if (isOwn) return this.#continue(context, target, ask, state)
    return era === 'modern' ? this.#askModern(context, ask) : this.#askLegacy(context, ask)
  }

  /** Waits for the yes of somebody else. */
  async #approve(context: RequestContext, target: T, ask: Ask): Promise<void> {
    const { gate, forwarder, scopes, resolve, tasks } = this.#options
    const end = performance.now() + settingsOf(ask.rule).holdMs
    const report = progressOf(context)
    let [current, asked, wanted] = [context, target, ask]
    for (;;) {
      const answer = await gate.admit(current, wanted, taskFactsOf(current))
      if (context.reply.isEnded) throw callerDisconnected()
      if (answer.kind === 'run') return forwarder.forward(current, this.#proven(current, asked, wanted))
      if (answer.kind === 'refused') return this.#tell(current, answer.text, answer.approval)
      const { approval } = answer
      if (approval.isTask) return tasks.create(current, wanted.item, approval)
      const decided = await this.#hold(context, approval, end - performance.now(), report)
      if (decided === undefined) return this.#tell(current, waitingText(approval), approval)
      if (decided.status === 'expired') return this.#tell(current, EXPIRED, decided)
      // policies, tools and servers may have changed meanwhile
      current = { ...context, scope: scopes.scope(context.caller, context.endpoint) }
      const next = resolve(current)
      if (!next) return undefined
      if (!next.ask) return forwarder.forward(current, next)
      asked = next
      wanted = next.ask
    }
  }

  /**
   * Returns the target with a rewrite that wraps the state of an upstream that asks for input: the repeated call then
   * needs no second yes.
   */
  #proven(context: RequestContext, target: T, ask: Ask): T {
    if (context.era === 'legacy') return target
    const rewrite = (result: Payload) => {
      const own = target.rewrite ? target.rewrite(result) : result
      if (!isInputRequired(own)) return own
      const { requestState: inner } = JSON.parse(own.toString()) as { requestState?: string }
      // a parked call is continued, and not made again
      if (this.#options.inputRequiredStore.isOwnState(inner)) return own
      const sealed = this.#options.yesStates.seal({ ...callOf(context, ask), isGiven: true, inner })
      return Payload.of(withMembers(own.toString(), { requestState: JSON.stringify(sealed) }))
    }
    return { ...target, rewrite }
  }

  /** Continues a call with the state that its client got: the answer of the person, or input for the upstream. */
  async #continue(context: RequestContext, target: T, ask: Ask, sealed: string): Promise<void> {
    const { yesStates, forwarder } = this.#options
    const { message } = context
    const state = await useState(yesStates, sealed, callOf(context, ask))
    if (state === null) return this.#tell(context, 'not run: the call cannot be confirmed now', undefined)
    if (!state) throw invalidState(message)
    if (state.isGiven) {
      const answers = valueOf(message.text, message.paramMembers, 'inputResponses')
      const round = [
        ...(answers === undefined ? [] : [`"inputResponses":${answers}`]),
        ...(state.inner === undefined ? [] : [`"requestState":${JSON.stringify(state.inner)}`])
      ]
      const members = [target.members, ...round].join(',')
      return forwarder.forward(context, this.#proven(context, { ...target, members }, ask))
    }
    const responses = message.param('inputResponses')
    if (!isYes(isObject(responses) ? responses[CONFIRM_KEY] : undefined))
      return this.#tell(context, DECLINED, undefined)
    return forwarder.forward(context, this.#proven(context, target, ask))
  }

  /** Answers with the question; the state holds all that is needed when the client returns. */
  #askModern(context: RequestContext, ask: Ask): void {
    const { yesStates, serverInfo, redactorOf } = this.#options
    const { reply, message, observation } = context
    const sealed = yesStates.seal({ ...callOf(context, ask), isGiven: false })
    const params = questionOf(ask, redactorOf(ask.item.server))
    const requests = `{"${CONFIRM_KEY}":{"method":"elicitation/create","params":${params}}}`
    const result =
      `{"resultType":"${INPUT_REQUIRED}","inputRequests":${requests},` +
      `"requestState":${JSON.stringify(sealed)},"_meta":{"${META}serverInfo":${serverInfo}}}`
    observation!.end('refused', 'the call waits for a confirmation')
    reply.sendResult(message.id, Buffer.from(result))
  }

  /** Asks the person on the stream of the call. */
  async #askLegacy(context: RequestContext, ask: Ask): Promise<void> {
    const { forwarder, redactorOf, heartbeat, scopes, resolve } = this.#options
    const { reply, message, observation } = context
    const session = context.session!
    session.serverRequests ??= createServerRequests(session)
    const params = questionOf(ask, redactorOf(ask.item.server))
    heartbeat.add(reply)
    reply.openStream()
    const question = session.serverRequests.send(() => reply, 'elicitation/create', params)
    const call = new Call({ method: message.method, members: '', meta: '' }, silentSink)
    call.onStop = question.cancel
    const active = { id: message.id, call, slot: -1 }
    session.calls.add(active)
    const leave = () => call.stop(callerDisconnected())
    reply.onAbort = leave
    // a person who has closed the stream does not see what the answer would start
    if (reply instanceof HttpReply) reply.setConnectionCallbacks(leave, null)
    observation?.hold(performance.now())
    try {
      const { kind, body } = await question.answer
      if (call.stopped) throw call.stopped
      if (kind === 'error' || !isYes(JSON.parse(body.toString()))) return this.#tell(context, DECLINED, undefined)
    } finally {
      observation?.resume(performance.now())
      reply.onAbort = null
      if (reply instanceof HttpReply) reply.setConnectionCallbacks(null, null)
      session.calls.delete(active)
    }
    const current = { ...context, scope: scopes.scope(context.caller, context.endpoint) }
    const next = resolve(current)
    if (!next) return undefined
    const isSame = !next.ask || isEqual(callOf(current, next.ask), callOf(context, ask))
    if (!isSame)
      return this.#tell(current, 'not run: the tool or the policy has changed; send the call again', undefined)
    return forwarder.forward(current, next)
  }

  /** Waits for a decision; undefined if none came in time. Rejects with UpstreamFailure if the caller is gone. */
  async #hold(
    context: RequestContext,
    approval: StoredApproval,
    ms: number,
    report: (() => void) | undefined
  ): Promise<StoredApproval | undefined> {
    const { waits, heartbeat } = this.#options
    const { reply, message, session, observation, caller } = context
    const wait = ms > 0 && waits.wait(approval.id, ms, { holder: caller.key, bytes: message.text.length })
    if (!wait) return undefined
    const call = new Call({ method: message.method, members: '', meta: '' }, silentSink)
    call.onStop = wait.cancel
    const active = session && { id: message.id, call, slot: -1 }
    if (active) session.calls.add(active)
    reply.onAbort = () => call.stop(callerDisconnected())
    heartbeat.add(reply)
    observation?.hold(performance.now())
    report?.()
    const progress = report && setInterval(report, PROGRESS_MS).unref()
    try {
      const decided = await wait.decided
      if (call.stopped) throw call.stopped
      return decided
    } finally {
      clearInterval(progress)
      observation?.resume(performance.now())
      reply.onAbort = null
      if (active) session.calls.delete(active)
    }
  }

  /** Answers that the call was not run. */
  #tell(context: RequestContext, text: string, approval: StoredApproval | undefined): void {
    context.observation!.end('refused', text)
    const meta = approval ? approvalMeta(approval) : ''
    const body = `"content":[{"type":"text","text":${JSON.stringify(text)}}],"isError":true`
    this.#options.results.send(context, body, '', meta)
  }
}

const DECLINED = 'not run: declined'
const EXPIRED = 'not run: the request for approval has expired, or its policy has changed; send the call again'

/** Returns a function that tells the client that its call waits; undefined unless the client wants to know. */
function progressOf({ message, reply }: RequestContext): (() => void) | undefined {
  const { progressToken } = readRequestMeta(message)
  if (progressToken === undefined) return undefined
  let progress = 0
  return () => {
    const params = `{"progressToken":${progressToken},"progress":${++progress},"message":"waiting for approval"}`
    reply.sendMessage(notificationText('notifications/progress', params))
  }
}

/** Returns true if the person at the client can be asked with a form. */
const canConfirm = ({ era, session, capabilities }: RequestContext) =>
  (era === 'modern' || session !== undefined) &&
  canRequest(session ? session.capabilities : capabilities, 'elicitation/create', '{}')

type AskedCall = Pick<YesState, 'ruleHash' | 'digest'>

/** Returns the parts of a state that stand for exactly this call. */
const callOf = ({ caller, endpoint }: RequestContext, { rule, item, args = '{}' }: Ask): AskedCall => ({
  ruleHash: rule.contentHash,
  digest: digestOf({ caller, endpoint, item, args }).toString('hex')
})

const isEqual = (a: AskedCall, b: AskedCall) => a.ruleHash === b.ruleHash && a.digest === b.digest

/** Uses a state; null if the database cannot tell whether it was used. */
async function useState(states: YesStates, sealed: string, call: AskedCall): Promise<YesState | undefined | null> {
  try {
    return await states.use(sealed, call)
  } catch (error) {
    if (error instanceof AppError) return null
    throw error
  }
}

const waitingText = ({ expiresAt }: StoredApproval) =>
  `not run: the call waits for an approval, until ${expiresAt.toISOString()}. Once it is approved, send the same call again.`
