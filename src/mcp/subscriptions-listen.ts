import { META, listKinds, type ListKind } from '../domain/mcp-constants.ts'
import { joinParams } from '../protocol/notifications.ts'
import type { ResourceTarget } from '../catalog/scope.ts'
import { Call, silentSink } from '../upstream/transport/call.ts'
import type { RequestContext } from './request-context.ts'
import {
  isSubscribable,
  createSessionSubscriptions,
  MAX_SUBSCRIPTIONS,
  withSubscribeTimeout
} from './session-subscriptions.ts'
import { isLonger } from '../protocol/jsonrpc.ts'
import { tooLong } from './messages/lengths.ts'
import { notificationText } from '../protocol/jsonrpc-text.ts'
import type { Method } from './methods.ts'
import { runAsCall, refuseOverQuota } from './quotas.ts'
import { mayTrySubscribing, recordSubscribeAnswer } from './undeclared-subscriptions.ts'
import type { ListChangeSubscriber } from './list-change-notifier.ts'
import type { SessionSubscriptions } from './sessions/client-sessions.ts'

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
function resourcesOf({ scope, mcp, message }: RequestContext, requested: unknown): Resource[] {
  const uris = Array.isArray(requested) ? requested.filter((uri): uri is string => typeof uri === 'string') : []
  const { identifierBytes } = mcp.limits
  if (uris.some((uri) => isLonger(uri, 0, uri.length, identifierBytes)))
    throw tooLong(message, 'a URI', identifierBytes)
  return [...new Set(uris)].slice(0, MAX_SUBSCRIPTIONS).flatMap((uri) => {
    const target = scope.resolve(uri)
    const isSupported = target && (mayTrySubscribing(target.server.stored.negotiation) || isSubscribable(target))
    return isSupported ? [{ uri, target }] : []
  })
}

/**
 * Tries to subscribe at a server that does not declare subscriptions; false if it refuses or does not answer in time.
 */
async function trySubscribing({ mcp, caller }: RequestContext, { server, uri }: ResourceTarget): Promise<boolean> {
  const { negotiation } = server.stored
  if (!mayTrySubscribing(negotiation)) return false
  const call = new Call(
    { method: 'resources/subscribe', members: `"uri":${JSON.stringify(uri)}`, meta: '' },
    silentSink
  )
  const origin = { era: 'legacy' as const, principal: null, holder: caller.key, owner: caller.key }
  const isSubscribed = mcp.calls.send(server, call, origin).then(
    ({ answer }) => recordSubscribeAnswer(negotiation, answer) && answer.kind === 'result',
    () => false
  )
  return withSubscribeTimeout(isSubscribed, false)
}

/** Returns the resources that accept a subscription. The first answer of a server decides for its other resources. */
async function findSubscribable(context: RequestContext, resources: readonly Resource[]): Promise<Resource[]> {
  const found: Resource[] = []
  for (const resource of resources)
    if (isSubscribable(resource.target) || (await trySubscribing(context, resource.target))) found.push(resource)
  return found
}

/** Subscribes to the resources and returns their URIs; undefined if the client's quota is exceeded. */
async function subscribeAll(
  context: RequestContext,
  subscriptions: SessionSubscriptions,
  resources: readonly Resource[]
): Promise<string[] | undefined> {
  let subscribed: readonly Resource[] = []
  let isWithinQuota = true
  const hasCallQuota = await runAsCall(context, async () => {
    subscribed = await findSubscribable(context, resources)
    // a subscription added to a closed stream would never be removed
    if (context.reply.isEnded) subscribed = []
    const added = await Promise.all(subscribed.map(({ uri, target }) => subscriptions.add(uri, target)))
    isWithinQuota = !added.includes(false)
  })
  if (hasCallQuota && !isWithinQuota) refuseOverQuota(context.mcp, context, context.reply, 'subscriptions')
  return hasCallQuota && isWithinQuota ? subscribed.map(({ uri }) => uri) : undefined
}

/**
 * Opens a stream of list and resource changes, which starts with an acknowledgement of the accepted filters. The result
 * is sent only when the endpoint is removed or the gateway stops (mcp-proxy.md#modern-wire).
 */
export const listen: Method = async (context) => {
  const { message, reply, mcp, caller, endpoint } = context
  const { id, params } = message
  const requested = (params['notifications'] ?? {}) as Record<string, unknown>
  const honoured = new Set(listKinds.filter((list) => requested[filterMembers[list]] === true))
  const resources = resourcesOf(context, requested['resourceSubscriptions'])
  let isAcknowledged = false
  const subscriber: ListChangeSubscriber = {
    principal: caller.key,
    endpoint,
    scope: () => mcp.dataPlane.scope(caller, endpoint),
    notifyListChanged(list) {
      if (isAcknowledged && honoured.has(list))
        reply.sendMessage(subscriptionNotification(`notifications/${list}/list_changed`, id))
    },
    end() {
      subscriptions.close()
      const meta = `"${META}serverInfo":${mcp.serverInfo},"${META}subscriptionId":${id}`
      reply.sendResult(id, Buffer.from(`{"resultType":"complete","_meta":{${meta}}}`))
    }
  }
  const subscriptions = createSessionSubscriptions(context, (uri, extraParams) => {
    const members = `"uri":${JSON.stringify(uri)}${extraParams.members && `,${extraParams.members}`}`
    if (isAcknowledged)
      reply.sendMessage(subscriptionNotification('notifications/resources/updated', id, members, extraParams.meta))
  })
  reply.onAbort = () => {
    mcp.listChanges.delete(subscriber)
    subscriptions.close()
  }
  mcp.heartbeat.add(reply)
  // added before the upstreams are contacted, so that removing the group or principal ends the stream at once
  mcp.listChanges.add(subscriber)
  if (reply.isEnded) return
  // the subscriptions are active before they are acknowledged
  const subscribed = resources.length > 0 ? await subscribeAll(context, subscriptions, resources) : []
  if (!subscribed) {
    mcp.listChanges.delete(subscriber)
    return subscriptions.close()
  }
  if (reply.isEnded) return
  const acknowledged = {
    ...Object.fromEntries([...honoured].map((list) => [filterMembers[list], true])),
    ...(subscribed.length > 0 ? { resourceSubscriptions: subscribed } : {})
  }
  const members = `"notifications":${JSON.stringify(acknowledged)}`
  reply.sendMessage(subscriptionNotification('notifications/subscriptions/acknowledged', id, members))
  isAcknowledged = true
}
