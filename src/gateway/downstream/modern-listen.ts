import { META } from '../../domain/protocol.ts'
import type { ResourceTarget } from '../scope.ts'
import type { Exchange } from './exchange.ts'
import { canBeFollowed, createFollowing, MAX_FOLLOWED, type Following } from './following.ts'
import { isLonger } from './jsonrpc.ts'
import { tooLong } from './lengths.ts'
import type { Method } from './methods.ts'
import { asCall, refuseMore } from './shares.ts'
import { listKinds, type ListKind, type Watcher } from './watch.ts'

const flags: Record<ListKind, string> = {
  tools: 'toolsListChanged',
  prompts: 'promptsListChanged',
  resources: 'resourcesListChanged'
}

/** Each frame names the subscription that it belongs to (proxy page 1.3). */
const frame = (method: string, id: string, members = '') =>
  `{"jsonrpc":"2.0","method":"${method}","params":{${members}"_meta":{"${META}subscriptionId":${id}}}}`

interface Resource {
  readonly uri: string
  readonly target: ResourceTarget
}

/** The resources of those asked for that can be followed, each by the URI that the caller used. */
function resourcesOf({ scope, edge, message }: Exchange, wanted: unknown): Resource[] {
  const asked = Array.isArray(wanted) ? wanted.filter((uri): uri is string => typeof uri === 'string') : []
  const { identifierBytes } = edge.limits
  if (asked.some((uri) => isLonger(uri, 0, uri.length, identifierBytes)))
    throw tooLong(message, 'a URI', identifierBytes)
  return [...new Set(asked)].slice(0, MAX_FOLLOWED).flatMap((uri) => {
    const target = scope.resolve(uri)
    return canBeFollowed(target) ? [{ uri, target }] : []
  })
}

/** False where it is refused: more than its client's share. */
async function followAll(exchange: Exchange, following: Following, resources: readonly Resource[]): Promise<boolean> {
  let isWithin = true
  const isTaken = await asCall(exchange, async () => {
    const added = await Promise.all(resources.map(({ uri, target }) => following.add(uri, target)))
    isWithin = !added.includes(false)
  })
  if (isTaken && !isWithin) refuseMore(exchange.edge, exchange, exchange.reply, 'subscriptions')
  return isTaken && isWithin
}

/**
 * A stream that tells of changed lists and resources until the client closes it; answers what it will honour first. Its
 * result is said only when the endpoint is gone or the gateway stops (proxy page 1.3).
 */
export const listen: Method = async (exchange) => {
  const { message, reply, edge, caller, endpoint } = exchange
  const { id, params } = message
  const wanted = (params['notifications'] ?? {}) as Record<string, unknown>
  const honoured = new Set(listKinds.filter((list) => wanted[flags[list]] === true))
  const resources = resourcesOf(exchange, wanted['resourceSubscriptions'])
  const acknowledged = {
    ...Object.fromEntries([...honoured].map((list) => [flags[list], true])),
    ...(resources.length > 0 ? { resourceSubscriptions: resources.map(({ uri }) => uri) } : {})
  }
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
  const following = createFollowing(exchange, (uri) => {
    const members = `"uri":${JSON.stringify(uri)},`
    if (isAcknowledged) reply.message(frame('notifications/resources/updated', id, members))
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
  if (resources.length > 0 && !(await followAll(exchange, following, resources))) {
    edge.watch.delete(watcher)
    return following.close()
  }
  if (reply.isEnded) return
  const members = `"notifications":${JSON.stringify(acknowledged)},`
  reply.message(frame('notifications/subscriptions/acknowledged', id, members))
  isAcknowledged = true
}
