import type { CurrentScopes } from '../../catalog/scope.ts'
import { META } from '../../domain/mcp-constants.ts'
import { JsonError, checkUnique, members, stringOf, withMembers } from '../../json/json.ts'
import { Payload } from '../../json/payload.ts'
import type { Quota } from '../../lib/quota.ts'
import type { InboundCall } from '../../observe/observation.ts'
import { hopKeys } from '../../protocol/jsonrpc.ts'
import { notificationText } from '../../protocol/jsonrpc-text.ts'
import { UpstreamFailure } from '../../protocol/upstream-failure.ts'
import type { TaskStream, TaskStreams } from '../../upstream/task-streams.ts'
import type { ClientInfoCache } from '../messages/client-info.ts'
import type { ResourceLinks } from '../messages/resource-links.ts'
import type { RequestContext } from '../sessions/request-context.ts'
import type { TaskHandles } from './handles.ts'
import type { TaskLog, TaskOfCaller } from './task-log.ts'
import { TaskNotifications } from './task-notifications.ts'
import { finalStatusOf, resultWithAddresses, taskChanges } from './task-results.ts'
import { findTask, serverOfTask } from './task-scope.ts'

/** Tasks that one stream can listen to. */
export const MAX_TASKS = 100
/** Time in which a server must acknowledge; the client gets its acknowledgement then at the latest. */
const ACKNOWLEDGE_MS = 5_000

/** Tasks that a client listens to on one stream. */
export interface TaskSubscription {
  /** Handles of the tasks that their servers report, and of which no state was lost, in the order of the request. */
  readonly acknowledged: readonly string[]
  /** Sends the notifications that arrived so far, and all later ones; called after the acknowledgement. */
  start(): void
  close(): void
}

export interface TaskSubscriptionsOptions {
  readonly handles: TaskHandles
  readonly streams: Pick<TaskStreams, 'open'>
  readonly scopes: Pick<CurrentScopes, 'scope'>
  readonly log: TaskLog
  readonly resourceLinks: Pick<ResourceLinks, 'record'>
  /** Subscriptions per principal. */
  readonly countQuota: Quota
  readonly clientInfoCache: Pick<ClientInfoCache, 'client'>
}

/** Returns `params` of a notification with other members; the `_meta` keys of the server's own connection are removed. */
function rewritten(params: string, changes: Readonly<Record<string, string | null>>, subscriptionId: string): string {
  const found = members(params)
  checkUnique(found)
  const metaMember = found.find(({ key }) => key === '_meta')
  const given = metaMember ? params.slice(metaMember.start, metaMember.end) : ''
  const kept = given.startsWith('{') ? withMembers(given, Object.fromEntries(hopKeys.map((key) => [key, null]))) : '{}'
  const rest = withMembers(params, changes, found).slice(1, -1)
  const meta = kept.slice(1, -1)
  return `{${rest},"_meta":{${meta}${meta === '' ? '' : ','}"${META}subscriptionId":${subscriptionId}}}`
}

/** Creates the subscriptions of `subscriptions/listen` streams to tasks (mcp-proxy.md#tasks). */
export class TaskSubscriptions {
  readonly #options: TaskSubscriptionsOptions

  constructor(options: TaskSubscriptionsOptions) {
    this.#options = options
  }

  /**
   * Listens to the tasks with these handles; handles that are not valid here are not acknowledged. Resolves with
   * undefined if the quota of the client is exceeded.
   */
  async open(
    context: RequestContext,
    requested: readonly string[],
    capabilities: string
  ): Promise<TaskSubscription | undefined> {
    const { handles, streams, countQuota } = this.#options
    const { caller, scope } = context
    const found = [...new Set(requested)]
      .slice(0, MAX_TASKS)
      .flatMap((handle) => findTask(handles, context, scope, handle) ?? [])
    if (found.length > 0 && !countQuota.acquire(caller.key, found.length)) return undefined
    const notifications = new TaskNotifications()
    const opened = [...new Set(found.map(({ server }) => server))].map((server) => {
      const known = found.filter((each) => each.server === server)
      const send = this.#sender(context)
      const receive = notifications.receiver()
      const notify = createNotify(known, (each, state, params) => {
        const isFinal = finalStatusOf(state) !== undefined
        const { length: characters } = params
        receive({ handle: each.handle, characters, isFinal, send: () => ignoreMalformed(() => send(each, params)) })
      })
      const taskIds = known.map(({ task }) => task.taskId)
      return { stream: streams.open(server.stored, { caller: caller.key, capabilities, taskIds, notify }), known }
    })
    const acknowledged = await Promise.all(opened.map(({ stream, known }) => handlesOf(stream, known)))
    const all = new Set(acknowledged.flat())
    let isClosed = false
    return {
      // read as late as possible: what is lost until then is seen with a poll
      get acknowledged() {
        return found.flatMap(({ handle }) => (all.has(handle) && !notifications.hasLost(handle) ? [handle] : []))
      },
      start: () => notifications.start(),
      close() {
        if (isClosed) return
        isClosed = true
        notifications.close()
        countQuota.release(caller.key, found.length)
        for (const { stream } of opened) stream.close()
      }
    }
  }

  /** Returns the function that sends a notification under the handle of its task, while the caller may use it. */
  #sender(context: RequestContext) {
    const { caller, endpoint, reply, message, requestId } = context
    const { scopes, log, clientInfoCache, resourceLinks } = this.#options
    const { name } = clientInfoCache.client(message)
    const owner: InboundCall = { caller, endpoint, via: 'modern', requestId, client: name }
    return (known: TaskOfCaller, params: string) => {
      const scope = scopes.scope(caller, endpoint)
      const server = serverOfTask(scope, known.task.serverId, known.task.tool)
      if (!server || reply.isEnded) return
      const state = Payload.of(params)
      const found = resultWithAddresses(state)
      if (found?.hasUris) resourceLinks.record(caller.key, server.name, found.result)
      const changes = Object.entries(taskChanges(state, { handle: known.handle, server, scope }, found)).map(
        ([key, value]) => [key, value && Buffer.from(value, 'latin1').toString()]
      )
      reply.sendMessage(
        notificationText('notifications/tasks', rewritten(params, Object.fromEntries(changes), message.id))
      )
      log.record(known, state, () => owner)
    }
  }
}

/** Runs `work`, which drops a malformed notification: the next poll shows the state of the task. */
function ignoreMalformed(work: () => void): void {
  try {
    work()
  } catch (error) {
    if (!(error instanceof JsonError || error instanceof UpstreamFailure)) throw error
  }
}

/** Returns the receiver of one server's notifications, which finds the tasks that they are about. */
function createNotify(
  known: readonly TaskOfCaller[],
  pass: (known: TaskOfCaller, state: Payload, params: string) => void
) {
  return (params: string) =>
    ignoreMalformed(() => {
      const taskId = stringOf(params, members(params), 'taskId')
      for (const each of known) if (each.task.taskId === taskId) pass(each, Payload.of(params), params)
    })
}

/** Returns the handles that a server acknowledges in time. */
async function handlesOf({ acknowledged }: TaskStream, known: readonly TaskOfCaller[]): Promise<string[]> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<readonly string[]>((resolve) => {
    timer = setTimeout(resolve, ACKNOWLEDGE_MS, [])
  })
  const ids = new Set(await Promise.race([acknowledged, late]))
  clearTimeout(timer)
  return known.flatMap(({ task, handle }) => (ids.has(task.taskId) ? [handle] : []))
}
