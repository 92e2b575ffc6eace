import type { Item } from '../catalog/catalog.ts'
import { noop } from '../lib/noop.ts'
import { readTraceHeaders } from '../protocol/trace-context.ts'
import type { MemberChanges, Payload } from '../json/payload.ts'
import type { InboundCall } from '../observe/observation.ts'
import { paramsFragment } from '../protocol/jsonrpc.ts'
import { badResponse, callerDisconnected } from '../protocol/upstream-failure.ts'
import { createCall, type AlwaysResolves, type CallSurface, type ClientCalls } from '../upstream/client-calls.ts'
import { methodNotFound, type Call, type Sink, type UpstreamAnswer } from '../upstream/transport/call.ts'
import type { CallReplies, McpTarget } from './call-replies.ts'
import type { ClientInfoCache } from './messages/client-info.ts'
import { readRequestMeta } from './messages/request-meta.ts'
import type { ResourceLinks } from './messages/resource-links.ts'
import { refuse, stringParam, type Method, type Methods } from './method.ts'
import type { QuotaGuard } from './quota-guard.ts'
import type { Heartbeat } from './sessions/heartbeat.ts'
import type { RequestContext } from './sessions/request-context.ts'
import { requireTasks } from './tasks/declaration.ts'
import { handleKey, type Task, type TaskHandles } from './tasks/handles.ts'
import type { SharedPoll, SharedPolls } from './tasks/shared-polls.ts'
import type { TaskLog, TaskOfCaller } from './tasks/task-log.ts'
import { isTask, resultWithAddresses, taskChanges, taskIdOf } from './tasks/task-results.ts'
import { findTask } from './tasks/task-scope.ts'

/** Target of a request about a task. */
interface TaskTarget extends McpTarget {
  readonly known: TaskOfCaller
}

/** Tasks of the gateway itself (approvals.md). */
export interface OwnTasks {
  /** Serves a request about a task; undefined if the task is not one of the gateway. */
  serve(context: RequestContext, handle: string, task: Task): Promise<void> | undefined
}

export interface TaskMethodsOptions {
  readonly ownTasks: OwnTasks
  /** Sends requests that the call log does not list: it lists a task when it begins and when it ends. */
  readonly calls: ClientCalls
  readonly handles: TaskHandles
  readonly polls: SharedPolls
  readonly log: TaskLog
  readonly resourceLinks: Pick<ResourceLinks, 'record'>
  readonly replies: CallReplies
  readonly heartbeat: Pick<Heartbeat, 'add'>
  readonly quotaGuard: QuotaGuard
  readonly clientInfoCache: Pick<ClientInfoCache, 'client'>
}

/** Progress, log messages and requests do not exist for tasks. */
const taskSink = (capabilities: string): Sink => ({
  capabilities,
  wantsProgress: false,
  notify: noop,
  request: async () => methodNotFound
})

/**
 * Returns the function that puts a handle into a tool's result that names a task. `identifierBytes`: limit of a task id
 * in requests. The function throws UpstreamFailure `bad_response`.
 */
export const createNewTasks =
  (handles: TaskHandles, identifierBytes: number) =>
  (context: RequestContext, { name: tool, server }: Item) =>
  (result: Payload): MemberChanges | undefined => {
    if (!isTask(result)) return undefined
    const handle = handles.seal(context, { serverId: server.stored.id, tool, taskId: taskIdOf(result) })
    if (handle.length + 2 > identifierBytes) throw badResponse('the upstream answered with a task id that is too long')
    return taskChanges(result, { handle, server, scope: context.scope })
  }

/** Serves `tasks/get`, `tasks/update` and `tasks/cancel` of modern clients. */
class TaskRequests {
  readonly #options: TaskMethodsOptions

  constructor(options: TaskMethodsOptions) {
    this.#options = options
  }

  method(): Method {
    const surface: CallSurface<RequestContext, TaskTarget, void> & AlwaysResolves<RequestContext, TaskTarget> = {
      kind: 'tool',
      describe: (context) => this.#describe(context),
      resolve: (context, observation) => {
        const target = this.#resolve(context)
        const { server, known } = target
        const { tool } = known.task
        const item = server.find('tool', tool)
        // conditions on arguments were met when the task was started; here there are no arguments to meet them
        const isConditional = item !== undefined && context.scope.decide(item).verdict === 'residual'
        observation.setTarget(server.name, isConditional ? undefined : tool)
        return target
      },
      exchange: (context, target) => this.#exchange(context, target),
      fail: (context, target, error) => this.#options.replies.sendFailure(context, target, error)
    }
    return (context) => this.#serveOwn(context) ?? this.#options.calls.run(surface, context)
  }

  /** Serves a request about a task of the gateway itself; undefined for all others. */
  #serveOwn(context: RequestContext): Promise<void> | undefined {
    const { handles, ownTasks } = this.#options
    const handle = context.taskCapabilities === undefined ? undefined : context.message.param('taskId')
    const task = typeof handle === 'string' ? handles.open(context, handle) : undefined
    return task && ownTasks.serve(context, handle as string, task)
  }

  #describe({ caller, endpoint, requestId, message }: RequestContext): InboundCall {
    const { name: client } = this.#options.clientInfoCache.client(message)
    return { caller, endpoint, via: 'modern', requestId, client }
  }

  /** Finds the task that a request names. Throws ProtocolError, the same for every reason why it cannot be found. */
  #resolve(context: RequestContext): TaskTarget {
    requireTasks(context)
    const { caller, scope } = context
    const { handles, resourceLinks } = this.#options
    const handle = stringParam(context, 'taskId')
    const known = findTask(handles, context, scope, handle)
    if (!known) throw refuse(context, 'Task not found')
    const { server, task } = known
    return {
      server,
      known,
      name: task.taskId,
      members: paramsFragment(context.message, { taskId: JSON.stringify(task.taskId) }),
      replace(state) {
        const found = resultWithAddresses(state)
        if (found?.hasUris) resourceLinks.record(caller.key, server.name, found.result)
        return taskChanges(state, { handle, server, scope }, found)
      }
    }
  }

  async #exchange(context: RequestContext, target: TaskTarget): Promise<void> {
    const { replies, heartbeat, log, polls } = this.#options
    heartbeat.add(context.reply)
    if (context.message.method !== 'tasks/get') return this.#change(context, target)
    // a handle belongs to one caller and endpoint, so its requests differ in the rest only
    const key = handleKey(target.known.handle)
    const { fragment } = readRequestMeta(context.message, false, 'off')
    const text = `${target.members} ${context.taskCapabilities} ${fragment}`
    const joined = polls.join(key, text)
    if (joined) return this.#share(context, target, joined)
    const call = this.#createCall(context, target)
    const { answer, leave } = polls.start(key, text, call, () => this.#send(context, target, call))
    context.reply.onAbort = leave
    const given = await answer
    await replies.sendAnswer(context, target, given)
    if (given.answer.kind === 'result') log.record(target.known, given.answer.body, () => this.#describe(context))
  }

  /** Sends a request that may change the task. Whoever asks for its state later must not get a state from before. */
  async #change(context: RequestContext, target: TaskTarget): Promise<void> {
    const { replies, polls } = this.#options
    const key = handleKey(target.known.handle)
    const call = this.#createCall(context, target)
    context.reply.onAbort = () => call.stop(callerDisconnected())
    polls.close(key)
    const answer = await this.#send(context, target, call).finally(() => polls.close(key))
    await replies.sendAnswer(context, target, answer)
  }

  /** Waits for the answer to an equal request. It counts like a call, although it sends nothing. */
  async #share(context: RequestContext, target: TaskTarget, { answer, leave }: SharedPoll): Promise<void> {
    const { replies, quotaGuard } = this.#options
    context.reply.onAbort = leave
    const wait = async () => replies.sendAnswer(context, target, await answer)
    if (!(await quotaGuard.runAsCall(context, wait))) leave()
  }

  #createCall(context: RequestContext, target: TaskTarget): Call {
    const { message, headers, observation } = context
    const { calls } = this.#options
    const { tracer, traceContext } = calls.tracing
    const { fragment, trace } = readRequestMeta(message, tracer !== undefined, traceContext)
    const callerTrace = trace ?? readTraceHeaders(headers)
    const request = calls.prepare(observation!, message.method, target, fragment, callerTrace)
    return createCall(request, taskSink(requireTasks(context)), observation, message.text.length)
  }

  #send({ caller: { key } }: RequestContext, { server }: TaskTarget, call: Call): Promise<UpstreamAnswer> {
    return this.#options.calls.send(server, call, { era: 'modern', principal: key, owner: key })
  }
}

/** Creates the methods of the tasks extension (mcp-proxy.md#tasks). */
export function createTaskMethods(options: TaskMethodsOptions): Methods {
  const method = new TaskRequests(options).method()
  return new Map(['tasks/get', 'tasks/update', 'tasks/cancel'].map((name) => [name, method]))
}
