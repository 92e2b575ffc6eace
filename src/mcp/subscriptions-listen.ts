import { META, listKinds, type ListKind } from '../domain/mcp-constants.ts'
import { joinParams } from '../protocol/notifications.ts'
import type { ResourceTarget } from '../catalog/resource-resolution.ts'
import type { CurrentScopes } from '../catalog/scope.ts'
import type { ClientCalls } from '../upstream/client-calls.ts'
import { Call, silentSink } from '../upstream/transport/call.ts'
import type { Heartbeat } from './sessions/heartbeat.ts'
import type { Implementation, RequestContext } from './sessions/request-context.ts'
import {
  isSubscribable,
  createSessionSubscriptions,
  MAX_SUBSCRIPTIONS,
  type SubscriptionParts,
  withSubscribeTimeout
} from './subscriptions/session-subscriptions.ts'
import { isLonger } from '../protocol/jsonrpc.ts'
import { tooLong } from './messages/lengths.ts'
import { notificationText } from '../protocol/jsonrpc-text.ts'
import type { PolicyGate } from './policy-gate.ts'
import { isAllowed } from './policy-refusals.ts'
import type { QuotaGuard } from './quota-guard.ts'
import { mayTrySubscribing, recordSubscribeAnswer } from './subscriptions/undeclared-subscriptions.ts'
import type { ListChangeNotifier, ListChangeSubscriber } from './list-change-notifier.ts'
import type { SessionSubscriptions } from './sessions/client-sessions.ts'
import { requireTasks } from './tasks/declaration.ts'
import type { TaskSubscription, TaskSubscriptions } from './tasks/task-subscriptions.ts'

const filterMembers: Record<ListKind, string> = {
  tools: 'toolsListChanged',
  prompts: 'promptsListChanged',
  resources: 'resourcesListChanged'
}

/** Returns a notification with the id of its subscription (mcp-proxy.md#modern-wire). */
const subscriptionNotification = (method: string, id: string, members = '', meta = '') =>
  notificationText(method, joinParams([members], [meta, `"${META}subscriptionId":${id}`]))

interface Resource {
  readonly uri: string
  readonly target: ResourceTarget
}

/** Returns the requested resources that can be subscribed to, each under the URI that the caller used. */
function resourcesOf(
  context: RequestContext,
  policies: PolicyGate,
  requested: unknown,
  identifierBytes: number
): Resource[] {
  const { scope, message } = context
  const uris = Array.isArray(requested) ? requested.filter((uri): uri is string => typeof uri === 'string') : []
  if (uris.some((uri) => isLonger(uri, 0, uri.length, identifierBytes)))
    throw tooLong(message, 'a URI', identifierBytes)
  return [...new Set(uris)].slice(0, MAX_SUBSCRIPTIONS).flatMap((uri) => {
    const target = scope.resolve(uri)
    const isSupported =
      target &&
      isAllowed(context, policies, target) &&
      (mayTrySubscribing(target.server.stored.negotiation) || isSubscribable(target))
    return isSupported ? [{ uri, target }] : []
  })
}

interface RequestedTasks {
  readonly handles: readonly string[]
  /** JSON text of the capabilities to declare to the servers. */
  readonly capabilities: string
}

/** Returns the requested tasks; undefined if there are none. Throws ProtocolError -32021 if tasks are not declared. */
function tasksOf(context: RequestContext, requested: unknown, identifierBytes: number): RequestedTasks | undefined {
  if (!Array.isArray(requested)) return undefined
  const capabilities = requireTasks(context)
  const handles = requested.filter((handle): handle is string => typeof handle === 'string')
  if (handles.some((handle) => isLonger(handle, 0, handle.length, identifierBytes)))
    throw tooLong(context.message, 'a task id', identifierBytes)
  return handles.length === 0 ? undefined : { handles, capabilities }
}

/**
 * Tries to subscribe at a server that does not declare subscriptions; false if it refuses or does not answer in time.
 */
async function trySubscribing(
  calls: Pick<ClientCalls, 'send'>,
  { caller }: RequestContext,
  { server, uri }: ResourceTarget
): Promise<boolean> {
  const { negotiation } = server.stored
  if (!mayTrySubscribing(negotiation)) return false
  const call = new Call(
    { method: 'resources/subscribe', members: `"uri":${JSON.stringify(uri)}`, meta: '' },
    silentSink
  )
  const origin = { era: 'legacy' as const, principal: null, holder: caller.key, owner: caller.key }
  const isSubscribed = calls.send(server, call, origin).then(
    ({ answer }) => recordSubscribeAnswer(negotiation, answer) && answer.kind === 'result',
    () => false
  )
  return (await withSubscribeTimeout(isSubscribed)) ?? false
}

/** Returns the resources that accept a subscription. The first answer of a server decides for its other resources. */
async function findSubscribable(
  calls: Pick<ClientCalls, 'send'>,
  context: RequestContext,
  resources: readonly Resource[]
): Promise<Resource[]> {
  const found: Resource[] = []
  for (const resource of resources)
    if (isSubscribable(resource.target) || (await trySubscribing(calls, context, resource.target))) found.push(resource)
  return found
}

export interface SubscriptionsListenOptions {
  readonly calls: Pick<ClientCalls, 'send'>
  readonly scopes: Pick<CurrentScopes, 'scope'>
  readonly policies: PolicyGate
  readonly subscriptionParts: SubscriptionParts
  readonly listChanges: Pick<ListChangeNotifier, 'add' | 'delete'>
  readonly heartbeat: Pick<Heartbeat, 'add'>
  readonly quotaGuard: QuotaGuard
  readonly tasks: TaskSubscriptions
  readonly identity: Implementation
  /** Limit of the length of a URI or task id. */
  readonly identifierBytes: number
}

/** Serves `subscriptions/listen`: streams of list and resource changes for modern clients. */
export class SubscriptionsListen {
  readonly #options: SubscriptionsListenOptions
  readonly #serverInfo: string

  constructor(options: SubscriptionsListenOptions) {
    this.#options = options
    this.#serverInfo = JSON.stringify(options.identity)
  }

  /**
   * Opens a stream, which starts with an acknowledgement of the accepted filters. The result is sent only when the
   * endpoint is removed or the gateway stops (mcp-proxy.md#modern-wire).
   */
  async open(context: RequestContext): Promise<void> {
    const { message, reply } = context
    const { policies, subscriptionParts, listChanges, heartbeat, identifierBytes } = this.#options
    const { id, params } = message
    const requested = (params['notifications'] ?? {}) as Record<string, unknown>
    const honoured = new Set(listKinds.filter((list) => requested[filterMembers[list]] === true))
    const resources = resourcesOf(context, policies, requested['resourceSubscriptions'], identifierBytes)
    const tasks = tasksOf(context, requested['taskIds'], identifierBytes)
    const state = { isAcknowledged: false }
    const subscriptions = createSessionSubscriptions(subscriptionParts, context, (uri, extraParams) => {
      const members = `"uri":${JSON.stringify(uri)}${extraParams.members && `,${extraParams.members}`}`
      if (state.isAcknowledged)
        reply.sendMessage(subscriptionNotification('notifications/resources/updated', id, members, extraParams.meta))
    })
    const open = { subscriptions, tasks: undefined as TaskSubscription | undefined }
    const close = () => {
      subscriptions.close()
      open.tasks?.close()
    }
    const subscriber = this.#createSubscriber(context, close, (list) => state.isAcknowledged && honoured.has(list))
    reply.onAbort = () => {
      listChanges.delete(subscriber)
      close()
    }
    heartbeat.add(reply)
    // added before the upstreams are contacted, so that removing the group or principal ends the stream at once
    listChanges.add(subscriber)
    if (reply.isEnded) return
    // the subscriptions are active before they are acknowledged
    const subscribed = resources.length > 0 ? await this.#subscribeAll(context, subscriptions, resources) : []
    const isWithinQuota = subscribed && (!tasks || (await this.#subscribeToTasks(context, open, tasks)))
    if (!isWithinQuota) {
      listChanges.delete(subscriber)
      return close()
    }
    // streams of servers that were opened for a client that has gone would never be closed
    if (reply.isEnded) return close()
    const taskIds = open.tasks?.acknowledged ?? []
    const acknowledged = {
      ...Object.fromEntries([...honoured].map((list) => [filterMembers[list], true])),
      ...(subscribed.length > 0 ? { resourceSubscriptions: subscribed } : {}),
      ...(taskIds.length > 0 ? { taskIds } : {})
    }
    const members = `"notifications":${JSON.stringify(acknowledged)}`
    reply.sendMessage(subscriptionNotification('notifications/subscriptions/acknowledged', id, members))
    state.isAcknowledged = true
    open.tasks?.start()
  }

  #createSubscriber(
    { message: { id }, reply, caller, endpoint }: RequestContext,
    close: () => void,
    isWanted: (list: ListKind) => boolean
  ): ListChangeSubscriber {
    const meta = `"${META}serverInfo":${this.#serverInfo},"${META}subscriptionId":${id}`
    return {
      principal: caller.key,
      endpoint,
      scope: () => this.#options.scopes.scope(caller, endpoint),
      notifyListChanged(list) {
        if (isWanted(list)) reply.sendMessage(subscriptionNotification(`notifications/${list}/list_changed`, id))
      },
      end() {
        close()
        reply.sendResult(id, Buffer.from(`{"resultType":"complete","_meta":{${meta}}}`))
      }
    }
  }

  /** Listens to tasks; returns false if the client's quota is exceeded. */
  async #subscribeToTasks(
    context: RequestContext,
    open: { tasks: TaskSubscription | undefined },
    { handles, capabilities }: RequestedTasks
  ): Promise<boolean> {
    const { tasks, quotaGuard } = this.#options
    const hasCallQuota = await quotaGuard.runAsCall(context, async () => {
      open.tasks = await tasks.open(context, handles, capabilities)
    })
    if (hasCallQuota && !open.tasks) quotaGuard.refuse(context, context.reply, 'subscriptions')
    return open.tasks !== undefined
  }

  /** Subscribes to the resources and returns their URIs; undefined if the client's quota is exceeded. */
  async #subscribeAll(
    context: RequestContext,
    subscriptions: SessionSubscriptions,
    resources: readonly Resource[]
  ): Promise<string[] | undefined> {
    const { calls, quotaGuard } = this.#options
    let subscribed: readonly Resource[] = []
    let isWithinQuota = true
    const hasCallQuota = await quotaGuard.runAsCall(context, async () => {
      subscribed = await findSubscribable(calls, context, resources)
      // a subscription added to a closed stream would never be removed
      if (context.reply.isEnded) subscribed = []
      const added = await Promise.all(subscribed.map(({ uri, target }) => subscriptions.add(uri, target)))
      isWithinQuota = !added.includes(false)
    })
    if (hasCallQuota && !isWithinQuota) quotaGuard.refuse(context, context.reply, 'subscriptions')
    return hasCallQuota && isWithinQuota ? subscribed.map(({ uri }) => uri) : undefined
  }
}
