import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Caller } from '../../catalog/caller.ts'
import type { CurrentScopes } from '../../catalog/scope.ts'
import { members, valueOf } from '../../json/json.ts'
import type { Observation } from '../../observe/observation.ts'
import { codes, ProtocolError, readMessage } from '../../protocol/jsonrpc.ts'
import { requestText } from '../../protocol/jsonrpc-text.ts'
import type { ApprovalTasks, ClaimedTask, TaskEnd } from '../../registry/approval-tasks.ts'
import type { CallSurface, CallTarget, ClientCalls } from '../../upstream/client-calls.ts'
import type { RequestContext } from '../sessions/request-context.ts'
import { ChannelWriter, type ChannelAnswer } from '../sessions/response-writer.ts'
import type { Ask } from './approval-gate.ts'
import { digestOf } from './call-digest.ts'
import { callerOfFacts, type TaskFacts } from './task-facts.ts'

/** Target of a call. */
interface Target extends CallTarget {
  /** Absent if no policy asks for a yes. */
  readonly ask?: Ask
}

export interface TaskRunnerOptions<T extends Target = Target> {
  readonly store: ApprovalTasks
  readonly calls: ClientCalls
  readonly forwarder: { forward(context: RequestContext, target: T): Promise<void> }
  readonly replies: { sendFailure(context: RequestContext, target: T, error: unknown): void }
  readonly results: { send(context: RequestContext, members: string): void }
  readonly scopes: Pick<CurrentScopes, 'scope'>
  /** Resolves the target of a call; undefined after the answer that a policy refuses it. */
  readonly resolve: (context: RequestContext) => T | undefined
  /** Returns the caller with its present rights; undefined if its token or sign-in has ended. */
  readonly currentCaller: (given: Caller) => Caller | undefined
  /** Returns true if some policy asks for a yes; nothing is looked for otherwise. */
  readonly isWanted: () => boolean
  readonly log: { warn(details: object, text: string): void }
}

/** Makes the calls of tasks after their yes, each once and on one replica (approvals.md). */
export interface TaskRunner {
  /** Number of calls that this replica makes now. */
  readonly size: number
  start(): void
  /** Looks at a task, because a change was announced. */
  announce(id: string): void
  /** Stops the calls; resolves once their tasks are ended. */
  close(): Promise<void>
}

const POLL_MS = 1_000
/** The runner tells that it is alive at each of these polls. */
const ALIVE_POLLS = 3
const MAX_RUNNING = 100
/** Bytes of an answer that is kept. */
const MAX_ANSWER_BYTES = 4_194_304
const FINISH_TRIES = 60

const noLimits = { depth: Infinity, elements: Infinity }
const failed = (message: string): TaskEnd => ({
  status: 'failed',
  error: JSON.stringify({ code: codes.internal, message })
})
const interrupted = failed('interrupted; it may have run')

/** Takes the answer to a call that no client waits for. */
class TaskReply extends ChannelWriter {
  end: TaskEnd | undefined
  readonly #principal: string

  constructor(id: string, principal: string) {
    super({ sendMessage() {}, finish: (_writer, answer) => void (this.end ??= endOf(answer)) }, JSON.stringify(id))
    this.#principal = principal
  }

  override endIfRevoked(isRevoked: (principal: string) => boolean): void {
    if (isRevoked(this.#principal)) this.stop(failed('the access token is no longer valid'))
  }

  /** Ends the task, and cancels its call. */
  stop(end: TaskEnd): void {
    this.end ??= end
    this.abort()
  }
}

/** Returns the end of a task from the response to its call. */
function endOf(answer: ChannelAnswer | undefined): TaskEnd {
  if (!answer) return interrupted
  const text = Buffer.concat([...answer.pieces]).toString()
  if (Buffer.byteLength(text) > MAX_ANSWER_BYTES)
    return failed('the call has run, but its answer is too large to be kept')
  const found = members(text)
  const result = valueOf(text, found, 'result')
  if (result !== undefined) return { status: 'completed', result }
  return { status: 'failed', error: valueOf(text, found, 'error') }
}

/** Returns the request for the call of a task, as its caller would send it now. */
function contextOf(
  options: Pick<TaskRunnerOptions, 'currentCaller' | 'scopes'>,
  { approval, task }: ClaimedTask
): RequestContext | undefined {
  const { name, args, caller: given } = task as TaskFacts
  const caller = options.currentCaller(callerOfFacts(task as TaskFacts))
  if (!caller || given.key !== approval.callerKey) return undefined
  const { id, endpoint } = approval
  const text = requestText(JSON.stringify(id), 'tools/call', `{"name":${JSON.stringify(name)},"arguments":${args}}`)
  return {
    // without a session nobody can be asked, and an answer can be nothing but a result
    era: 'legacy',
    message: readMessage(text, noLimits),
    headers: {},
    reply: new TaskReply(id, caller.key),
    ...{ caller, endpoint, requestId: id, address: undefined, session: undefined },
    scope: options.scopes.scope(caller, endpoint),
    capabilities: '{}',
    taskCapabilities: undefined,
    observation: null
  }
}

/** Creates the surface of calls that the gateway makes itself. */
function surfaceOf<T extends Target>(
  { forwarder, replies, resolve, results }: TaskRunnerOptions<T>,
  { approval }: ClaimedTask
): CallSurface<RequestContext, T, void> {
  const refuse = (context: RequestContext, observation: Observation) => {
    const text = 'not run: the tool or the policy has changed; send the call again'
    observation.end('refused', text)
    return results.send(context, `"content":[{"type":"text","text":${JSON.stringify(text)}}],"isError":true`)
  }
  return {
    kind: 'tool',
    describe: ({ caller, endpoint, requestId }) => ({ caller, endpoint, via: 'modern', requestId }),
    resolve(context, observation) {
      const target = resolve(context)
      if (!target) return undefined
      const { caller, endpoint } = context
      const { ask } = target
      const isSame =
        ask?.rule.contentHash === approval.ruleHash &&
        digestOf({ caller, endpoint, item: ask.item, args: ask.args ?? '{}' }).equals(approval.digest)
      return isSame ? target : (refuse(context, observation) as undefined)
    },
    exchange: (context, target) => forwarder.forward(context, target),
    fail: (context, target, error) => replies.sendFailure(context, target, error)
  }
}

export function createTaskRunner<T extends Target>(options: TaskRunnerOptions<T>): TaskRunner {
  const { store, calls, isWanted, log } = options
  const runner = randomUUID()
  const running = new Map<string, TaskReply>()
  /** Tasks from before they are claimed until their ends are kept. */
  const taken = new Set<string>()
  const ends = new Set<Promise<void>>()
  let timer: NodeJS.Timeout | undefined
  let polls = 0
  let isPolling = false
  let isClosed = false

  /** Makes the call; never rejects. */
  const call = async (claimed: ClaimedTask): Promise<TaskEnd> => {
    const { id } = claimed.approval
    try {
      const context = contextOf(options, claimed)
      if (!context) return failed('not run: the access token is no longer valid')
      const reply = context.reply as TaskReply
      running.set(id, reply)
      if (isClosed) return interrupted
      await calls.run(surfaceOf(options, claimed), context)
      return reply.end ?? interrupted
    } catch (error) {
      if (error instanceof ProtocolError) {
        const { code, message } = error
        return { status: 'failed', error: JSON.stringify({ code, message }) }
      }
      log.warn({ err: error, approval: id }, 'the call of a task failed')
      return failed('Internal error')
    }
  }
  /** Keeps the end of a task: the database may be away for a while. */
  const keep = async (id: string, end: TaskEnd) => {
    for (let tries = 1; ; tries++) {
      try {
        return void (await store.finish(id, end, runner))
      } catch (err) {
        if (isClosed || tries === FINISH_TRIES) return log.warn({ err, approval: id }, 'the end of a task is lost')
        await delay(POLL_MS, undefined, { ref: false })
      }
    }
  }
  const run = async (id: string) => {
    if (isClosed || taken.has(id) || taken.size >= MAX_RUNNING) return
    taken.add(id)
    try {
      const claimed = await store.claim(id, runner)
      if (claimed) await keep(id, await call(claimed))
    } finally {
      taken.delete(id)
      running.delete(id)
    }
  }
  const begin = (id: string) => {
    // without the database nothing is run; the next poll may succeed
    const end: Promise<void> = run(id)
      .catch(() => {})
      .finally(() => ends.delete(end))
    ends.add(end)
  }
  const checkRunning = async (ids: readonly string[]) => {
    if (ids.length === 0) return
    for (const id of await store.keepAlive(runner, ids)) running.get(id)?.stop({ status: 'cancelled' })
  }
  const poll = async () => {
    if (isPolling || (!isWanted() && running.size === 0)) return
    isPolling = true
    try {
      if (polls++ % ALIVE_POLLS === 0) {
        await checkRunning([...running.keys()])
        await store.endInterrupted()
      }
      for (const id of await store.ready()) begin(id)
    } catch {
      // the next poll may reach the database
    } finally {
      isPolling = false
    }
  }
  return {
    get size() {
      return running.size
    },
    start() {
      timer ??= setInterval(() => void poll(), POLL_MS).unref()
    },
    announce(id) {
      if (running.has(id)) void checkRunning([id]).catch(() => {})
      else if (isWanted()) begin(id)
    },
    async close() {
      isClosed = true
      clearInterval(timer)
      for (const reply of running.values()) reply.stop(interrupted)
      await Promise.all(ends)
    }
  }
}
