import { META } from '../../domain/protocol.ts'
import { joinParams } from '../notifications.ts'
import type { ResourceTarget } from '../scope.ts'
import { Call, silentSink } from '../upstream/call.ts'
import type { Exchange } from './exchange.ts'
import { canBeFollowed, createFollowing, MAX_FOLLOWED, withinToldTime, type Following } from './following.ts'
import { isLonger } from './jsonrpc.ts'
import { tooLong } from './lengths.ts'
import { notification } from './log-message.ts'
import type { Method } from './methods.ts'
import { asCall, refuseMore } from './shares.ts'
import { mayTryToFollow, noteSubscribing } from './tried-subscription.ts'
import { listKinds, type ListKind, type Watcher } from './watch.ts'

const flags: Record<ListKind, string> = {
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
function resourcesOf({ scope, edge, message }: Exchange, wanted: unknown): Resource[] {
  const asked = Array.isArray(wanted) ? wanted.filter((uri): uri is string => typeof uri === 'string') : []
  const { identifierBytes } = edge.limits
  if (asked.some((uri) => isLonger(uri, 0, uri.length, identifierBytes)))
    throw tooLong(message, 'a URI', identifierBytes)
  return [...new Set(asked)].slice(0, MAX_FOLLOWED).flatMap((uri) => {
    const target = scope.resolve(uri)
    const mayFollow = target && (mayTryToFollow(target.server.stored.verdict) || canBeFollowed(target))
    return mayFollow ? [{ uri, target }] : []
  })
}

/** Finds out by subscribing where the server does not say; false: it does not take it, or not in time. */
async function takesSubscription({ edge, caller }: Exchange, { server, uri }: ResourceTarget): Promise<boolean> {
  const { verdict } = server.stored
  if (!mayTryToFollow(verdict)) return false
  const call = new Call(
    { method: 'resources/subscribe', members: `"uri":${JSON.stringify(uri)}`, meta: '' },
    silentSink
  )
  const origin = { era: 'legacy' as const, principal: null, holder: caller.key, owner: caller.key }
  const told = edge.core.forward(server, call, origin).then(
    ({ answer }) => noteSubscribing(verdict, answer) && answer.kind === 'result',
    () => false
  )
  return withinToldTime(told, false)
}

/** Those that can be followed. What came of one of a server's resources goes for the others. */
async function followable(exchange: Exchange, resources: readonly Resource[]): Promise<Resource[]> {
  const found: Resource[] = []
  for (const resource of resources)
    if (canBeFollowed(resource.target) || (await takesSubscription(exchange, resource.target))) found.push(resource)
  return found
}

/** The URIs that are followed; undefined where it is refused: more than its client's share. */
async function followAll(
  exchange: Exchange,
  following: Following,
  resources: readonly Resource[]
): Promise<string[] | undefined> {
  let followed: readonly Resource[] = []
  let isWithin = true
  const isTaken = await asCall(exchange, async () => {
    followed = await followable(exchange, resources)
    // what is added to a closed stream would stay
    if (exchange.reply.isEnded) followed = []
    const added = await Promise.all(followed.map(({ uri, target }) => following.add(uri, target)))
    isWithin = !added.includes(false)
  })
  if (isTaken && !isWithin) refuseMore(exchange.edge, exchange, exchange.reply, 'subscriptions')
  return isTaken && isWithin ? followed.map(({ uri }) => uri) : undefined
}

/**
 * A stream that tells of changed lists and resources until the client closes it; answers what it will honour first. Its
 * result is said only when the endpoint is gone or the gateway stops (mcp-proxy.md#modern-wire).
 */
export const listen: Method = async (exchange) => {
  const { message, reply, edge, caller, endpoint } = exchange
  const { id, params } = message
  const wanted = (params['notifications'] ?? {}) as Record<string, unknown>
  const honoured = new Set(listKinds.filter((list) => wanted[flags[list]] === true))
  const resources = resourcesOf(exchange, wanted['resourceSubscriptions'])
  let isAcknowledged = false
  const watcher: Watcher = {
    principal: caller.key,
    endpoint,
    scope: () => edge.core.scope(caller, endpoint),
    changed(list) {
      if (isAcknowledged && honoured.has(list)) reply.message(frame(`notifications/${list}/list_changed`, id))
    },
    end() {
      following.close()
      const meta = `"${META}serverInfo":${edge.serverInfo},"${META}subscriptionId":${id}`
      reply.result(id, Buffer.from(`{"resultType":"complete","_meta":{${meta}}}`))
    }
  }
  const following = createFollowing(exchange, (uri, said) => {
    const members = `"uri":${JSON.stringify(uri)}${said.members && `,${said.members}`}`
    if (isAcknowledged) reply.message(frame('notifications/resources/updated', id, members, said.meta))
  })
  reply.onLeave = () => {
    edge.watch.delete(watcher)
    following.close()
  }
  edge.heartbeat.add(reply)
  // from here on, so that the end of its group or principal ends it while upstreams are still asked
  edge.watch.add(watcher)
  if (reply.isEnded) return
  // what is acknowledged is in place
  const followed = resources.length > 0 ? await followAll(exchange, following, resources) : []
  if (!followed) {
    edge.watch.delete(watcher)
    return following.close()
  }
  if (reply.isEnded) return
  const acknowledged = {
    ...Object.fromEntries([...honoured].map((list) => [flags[list], true])),
    ...(followed.length > 0 ? { resourceSubscriptions: followed } : {})
  }
  const members = `"notifications":${JSON.stringify(acknowledged)}`
  reply.message(frame('notifications/subscriptions/acknowledged', id, members))
  isAcknowledged = true
}
