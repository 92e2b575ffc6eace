import { META, MODERN_VERSION } from '../../domain/protocol.ts'
import { capabilitiesOf, instructionsOf } from './describe.ts'
import { accepts, checkModernHeaders } from './era.ts'
import type { Exchange, HttpExchange } from './exchange.ts'
import { codes, ProtocolError } from './jsonrpc.ts'
import { methods, sendResult, uncached, type Method } from './methods.ts'
import { listKinds, type ListKind, type Watcher } from './watch.ts'

/** Cheap, for it is every client's probe (proxy page 3.2). */
const discover: Method = (exchange) => {
  const { scope } = exchange
  const instructions = instructionsOf(scope)
  const about = [
    `"supportedVersions":["${MODERN_VERSION}"]`,
    `"capabilities":${JSON.stringify(capabilitiesOf(scope))}`,
    ...(instructions === undefined ? [] : [`"instructions":${JSON.stringify(instructions)}`])
  ]
  sendResult(exchange, about.join(','), undefined, uncached)
}

const flags: Record<ListKind, string> = {
  tools: 'toolsListChanged',
  prompts: 'promptsListChanged',
  resources: 'resourcesListChanged'
}

/** Each frame names the subscription that it belongs to (proxy page 1.3). */
const frame = (method: string, id: string, members = '') =>
  `{"jsonrpc":"2.0","method":"${method}","params":{${members}"_meta":{"${META}subscriptionId":${id}}}}`

/**
 * A stream that tells of changed lists until the client closes it; answers what it will honour first. Its result is said
 * only when the endpoint is gone or the gateway stops (proxy page 1.3).
 */
const listen: Method = ({ message, reply, edge, caller, endpoint }) => {
  const { id, params } = message
  const wanted = (params['notifications'] ?? {}) as Record<string, unknown>
  const honoured = new Set(listKinds.filter((list) => wanted[flags[list]] === true))
  const acknowledged = Object.fromEntries([...honoured].map((list) => [flags[list], true]))
  const watcher: Watcher = {
    endpoint,
    scope: () => edge.core.scope(caller, endpoint),
    changed(list) {
      if (honoured.has(list)) reply.message(frame(`notifications/${list}/list_changed`, id))
    },
    end() {
      const meta = `"${META}serverInfo":${JSON.stringify(edge.identity)},"${META}subscriptionId":${id}`
      reply.result(id, [Buffer.from(`{"resultType":"complete","_meta":{${meta}}}`)])
    }
  }
  reply.onLeave = () => edge.watch.delete(watcher)
  const members = `"notifications":${JSON.stringify(acknowledged)},`
  reply.message(frame('notifications/subscriptions/acknowledged', id, members))
  edge.heartbeat.add(reply)
  edge.watch.add(watcher)
}

const modernMethods: ReadonlyMap<string, Method> = new Map<string, Method>([
  ['server/discover', discover],
  ['subscriptions/listen', listen],
  ...methods
])

export function modernRequest(exchange: Exchange, { headers }: HttpExchange): Promise<void> | void {
  const { message } = exchange
  const { id } = message
  checkModernHeaders(headers, message)
  const method = modernMethods.get(message.method)
  if (!method) throw new ProtocolError(codes.methodNotFound, 'Method not found', { status: 404, id })
  if (message.method === 'subscriptions/listen' && !accepts(headers, 'text/event-stream')) {
    throw new ProtocolError(codes.session, 'Not Acceptable: the client must accept text/event-stream', {
      status: 406,
      id
    })
  }
  return method(exchange)
}
