import { META, listKinds, type ListKind } from '../../domain/protocol.ts'
import { joinParams } from '../notifications.ts'
import type { ResourceTarget } from '../scope.ts'
import { Call, silentSink } from '../upstream/call.ts'
import type { RequestContext } from './exchange.ts'
import { isSubscribable, createSessionSubscriptions, MAX_SUBSCRIPTIONS, withSubscribeTimeout } from './following.ts'
import { isLonger } from './jsonrpc.ts'
import { tooLong } from './lengths.ts'
import { notification } from './log-message.ts'
import type { Method } from './methods.ts'
import { runAsCall, refuseOverQuota } from './shares.ts'
import { mayTrySubscribing, recordSubscribeAnswer } from './tried-subscription.ts'
import type { ListChangeSubscriber } from './watch.ts'
import type { SessionSubscriptions } from './session.ts'

const filterMembers: Record<ListKind, string> = {
  tools: 'toolsListChanged',
  prompts: 'promptsListChanged',
  resources: 'resourcesListChanged'
}

/** Each frame names the subscription that it belongs to (mcp-proxy.md#modern-wire). */
const frame = (method: string, id: string, members = '', meta = '') =>
  notification(method, joinParams([members], [meta, `"${META}subscriptionId":${id}`]))

interface Resource {
  readonly uri: string
  readonly target: ResourceTarget
}

/** The resources of those asked for that may be followed, each by the URI that the caller used. */
function resourcesOf({ scope, mcp, message }: RequestContext, requested: unknown): Resource[] {
  const asked = Array.isArray(requested) ? requested.filter((uri): uri is string => typeof uri === 'string') : []
  const { identifierBytes } = mcp.limits
  if (asked.some((uri) => isLonger(uri, 0, uri.length, identifierBytes)))
    throw tooLong(message, 'a URI', identifierBytes)
  return [...new Set(asked)].slice(0, MAX_SUBSCRIPTIONS).flatMap((uri) => {
    const target = scope.resolve(uri)
    const mayFollow = target && (mayTrySubscribing(target.server.stored.verdict) || isSubscribable(target))
    return mayFollow ? [{ uri, target }] : []
  })
}

/** Finds out by subscribing where the server does not say; false: it does not take it, or not in time. */
async function trySubscribing({ mcp, caller }: RequestContext, { server, uri }: ResourceTarget): Promise<boolean> {
  const { verdict } = server.stored
  if (!mayTrySubscribing(verdict)) return false
  const call = new Call(
    { method: 'resources/subscribe', members: `"uri":${JSON.stringify(uri)}`, meta: '' },
    silentSink
  )
  const origin = { era: 'legacy' as const, principal: null, holder: caller.key, owner: caller.key }
  const isSubscribed = mcp.dataPlane.forward(server, call, origin).then(
    ({ answer }) => recordSubscribeAnswer(verdict, answer) && answer.kind === 'result',
    () => false
  )
  return withSubscribeTimeout(isSubscribed, false)
}

/** Those that can be followed. What came of one of a server's resources goes for the others. */
async function findSubscribable(context: RequestContext, resources: readonly Resource[]): Promise<Resource[]> {
  const found: Resource[] = []
  for (const resource of resources)
    if (isSubscribable(resource.target) || (await trySubscribing(context, resource.target))) found.push(resource)
  return found
}

/** The URIs that are followed; undefined where it is refused: more than its client's share. */
async function subscribeAll(
  context: RequestContext,
  subscriptions: SessionSubscriptions,
  resources: readonly Resource[]
): Promise<string[] | undefined> {
  let subscribed: readonly Resource[] = []
  let isWithin = true
  const isTaken = await runAsCall(context, async () => {
    subscribed = await findSubscribable(context, resources)
    // what is added to a closed stream would stay
    if (context.reply.isEnded) subscribed = []
    const added = await Promise.all(subscribed.map(({ uri, target }) => subscriptions.add(uri, target)))
    isWithin = !added.includes(false)
  })
  if (isTaken && !isWithin) refuseOverQuota(context.mcp, context, context.reply, 'subscriptions')
  return isTaken && isWithin ? subscribed.map(({ uri }) => uri) : undefined
}

/**
 * A stream that tells of changed lists and resources until the client closes it; answers what it will honour first. Its
 * result is said only when the endpoint is gone or the gateway stops (mcp-proxy.md#modern-wire).
 */
export const listen: Method = async (context) => {
  const { message, reply, mcp, caller, endpoint } = context
  const { id, params } = message
  const requested = (params['notifications'] ?? {}) as Record<string, unknown>
  const honoured = new Set(listKinds.filter((list) => requested[filterMembers[list]] === true))
  const resources = resourcesOf(context, requested['resourceSubscriptions'])
  let isAcknowledged = false
  const watcher: ListChangeSubscriber = {
    principal: caller.key,
    endpoint,
    scope: () => mcp.dataPlane.scope(caller, endpoint),
    notifyListChanged(list) {
      if (isAcknowledged && honoured.has(list)) reply.sendMessage(frame(`notifications/${list}/list_changed`, id))
    },
    end() {
      subscriptions.close()
      const meta = `"${META}serverInfo":${mcp.serverInfo},"${META}subscriptionId":${id}`
      reply.sendResult(id, Buffer.from(`{"resultType":"complete","_meta":{${meta}}}`))
    }
  }
  const subscriptions = createSessionSubscriptions(context, (uri, said) => {
    const members = `"uri":${JSON.stringify(uri)}${said.members && `,${said.members}`}`
    if (isAcknowledged) reply.sendMessage(frame('notifications/resources/updated', id, members, said.meta))
  })
  reply.onAbort = () => {
    mcp.listChanges.delete(watcher)
    subscriptions.close()
  }
  mcp.heartbeat.add(reply)
  // from here on, so that the end of its group or principal ends it while upstreams are still asked
  mcp.listChanges.add(watcher)
  if (reply.isEnded) return
  // what is acknowledged is in place
  const subscribed = resources.length > 0 ? await subscribeAll(context, subscriptions, resources) : []
  if (!subscribed) {
    mcp.listChanges.delete(watcher)
    return subscriptions.close()
  }
  if (reply.isEnded) return
  const acknowledged = {
    ...Object.fromEntries([...honoured].map((list) => [filterMembers[list], true])),
    ...(subscribed.length > 0 ? { resourceSubscriptions: subscribed } : {})
  }
  const members = `"notifications":${JSON.stringify(acknowledged)}`
  reply.sendMessage(frame('notifications/subscriptions/acknowledged', id, members))
  isAcknowledged = true
}
