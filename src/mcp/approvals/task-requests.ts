import type { Item } from '../../catalog/catalog.ts'
import { META, TASK } from '../../domain/mcp-constants.ts'
import { Payload } from '../../json/payload.ts'
import { AppError } from '../../lib/errors.ts'
import { codes, ProtocolError } from '../../protocol/jsonrpc.ts'
import type { StoredApproval } from '../../registry/approvals.ts'
import { TASK_KEPT_MS, type ApprovalTask, type ApprovalTasks, type TaskEnd } from '../../registry/approval-tasks.ts'
import type { RequestContext } from '../sessions/request-context.ts'
import type { Task, TaskHandles } from '../tasks/handles.ts'
import { serverOfTool } from '../tasks/task-scope.ts'
import { denialText } from './approval-gate.ts'
import { approvalMeta } from './approval-meta.ts'

export interface TaskRequestsOptions {
  readonly store: Pick<ApprovalTasks, 'read' | 'cancel'>
  readonly handles: TaskHandles
  readonly results: { send(context: RequestContext, members: string, extra?: string, ownMeta?: string): void }
  /** Counts a request as a call of its caller. */
  readonly quotaGuard: { runAsCall(context: RequestContext, work: () => Promise<unknown>): Promise<boolean> }
  readonly serverInfo: string
}

/** Tasks for calls that the gateway makes itself after a yes (approvals.md). */
export interface ApprovalTaskRequests {
  /** Serves a request about a task; undefined if the task is not one of the gateway. */
  serve(context: RequestContext, handle: string, task: Task): Promise<void> | undefined
  /** Answers a call with the task that stands for it. */
  create(context: RequestContext, item: Item, approval: StoredApproval): void
}

/** In handles, no id of a server begins like this. */
const PREFIX = 'approval:'
const POLL_MS = 2_000
const WAITING = 'waiting for approval'

/** State of a task as its caller sees it. */
interface TaskState {
  readonly status: 'working' | TaskEnd['status']
  readonly message?: string
  readonly createdAt: Date
  readonly updatedAt: Date
  /** End of the time for which the task is kept. */
  readonly keptUntil: number
  /** Last member, as JSON text. */
  readonly end?: string
}

const refuse = ({ message: { id } }: RequestContext, text: string, code: number = codes.invalidParams) =>
  new ProtocolError(code, text, { status: 200, id })

/** Returns the end of a call that was not run, as the call itself would be answered. */
const notRun = (text: string): TaskEnd => ({
  status: 'completed',
  result: JSON.stringify({ content: [{ type: 'text', text }], isError: true })
})

/** Returns how a task ended; undefined while it goes on. */
function endOf({ approval, isRunning, end, now }: ApprovalTask): TaskEnd | undefined {
  if (end) return end
  if (isRunning) return undefined
  if (approval.status === 'denied') return notRun(denialText(approval))
  const isOver = approval.status === 'expired' || approval.expiresAt <= now
  return isOver ? notRun('not run: the request for approval has expired; send the call again') : undefined
}

function endMember({ result, error }: TaskEnd): string | undefined {
  if (result !== undefined) return `"result":${result}`
  return error === undefined ? undefined : `"error":${error}`
}

function stateOf(task: ApprovalTask): TaskState {
  const { approval, isRunning, endedAt, now } = task
  const end = endOf(task)
  const endTime = endedAt ?? (isRunning ? now : approval.expiresAt)
  const member = end && endMember(end)
  const times = {
    createdAt: approval.at,
    updatedAt: endedAt ?? approval.decidedAt ?? approval.at,
    keptUntil: endTime.getTime() + TASK_KEPT_MS
  }
  if (end) return { status: end.status, ...times, ...(member !== undefined && { end: member }) }
  return { status: 'working', message: approval.status === 'pending' ? WAITING : 'running', ...times }
}

/** Returns the members of a `Task` as JSON text without braces. */
function membersOf(handle: string, { status, message, createdAt, updatedAt, keptUntil, end }: TaskState): string {
  return [
    `"taskId":${JSON.stringify(handle)},"status":"${status}"`,
    ...(message === undefined ? [] : [`"statusMessage":${JSON.stringify(message)}`]),
    `"createdAt":"${createdAt.toISOString()}","lastUpdatedAt":"${updatedAt.toISOString()}"`,
    `"ttlMs":${Math.max(0, keptUntil - createdAt.getTime())},"pollIntervalMs":${POLL_MS}`,
    ...(end === undefined ? [] : [end])
  ].join(',')
}

export function createApprovalTaskRequests(options: TaskRequestsOptions): ApprovalTaskRequests {
  const { store, handles, results, quotaGuard, serverInfo } = options
  const read = async (context: RequestContext, id: string): Promise<ApprovalTask> => {
    const task = await store.read(id)
    if (!task) throw refuse(context, 'Task not found')
    return task
  }
  const answer = async (context: RequestContext, handle: string, id: string): Promise<void> => {
    const { method } = context.message
    const task = await read(context, id)
    if (method === 'tasks/get')
      return results.send(context, membersOf(handle, stateOf(task)), '', approvalMeta(task.approval))
    if (method === 'tasks/cancel') await store.cancel(id)
    return results.send(context, '')
  }
  const answerOrFail = async (context: RequestContext, handle: string, id: string): Promise<void> => {
    try {
      await answer(context, handle, id)
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      throw refuse(context, 'the task cannot be read now', codes.internal)
    }
  }
  return {
    create(context, { name: tool, server }, approval) {
      const handle = handles.seal(context, { serverId: PREFIX + server.stored.id, tool, taskId: approval.id })
      const { at: now } = approval
      const state = stateOf({ approval, isRunning: false, end: undefined, endedAt: undefined, now })
      const meta = `"_meta":{"${META}serverInfo":${serverInfo},${approvalMeta(approval)}}`
      const result = Payload.of(`{"resultType":"${TASK}",${membersOf(handle, state)},${meta}}`)
      context.observation!.complete(result, true)
      context.reply.sendAnswer(context.message.id, { kind: 'result', body: result })
    },
    serve(context, handle, { serverId, tool, taskId }) {
      if (!serverId.startsWith(PREFIX)) return undefined
      if (!serverOfTool(context.scope, serverId.slice(PREFIX.length), tool)) throw refuse(context, 'Task not found')
      return quotaGuard.runAsCall(context, () => answerOrFail(context, handle, taskId)).then(() => {})
    }
  }
}
