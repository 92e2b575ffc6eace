import { MODERN_VERSION } from '../../domain/protocol.ts'
import { capabilitiesOf, instructionsOf } from './describe.ts'
import { checkModernHeaders } from './era.ts'
import type { Exchange, HttpExchange } from './exchange.ts'
import { codes, ProtocolError } from './jsonrpc.ts'
import { checkStream } from './listen.ts'
import { listen } from './modern-listen.ts'
import { methods, sendResult, uncached, type Method } from './methods.ts'
import { takeStream } from './shares.ts'

/** Cheap, for it is every client's probe (mcp-proxy.md#initialize-and-serverdiscover). */
const discover: Method = (exchange) => {
  const { scope } = exchange
  const instructions = instructionsOf(scope)
  const about = [
    `"supportedVersions":["${MODERN_VERSION}"]`,
    `"capabilities":${JSON.stringify(capabilitiesOf(scope))}`,
    ...(instructions === undefined ? [] : [`"instructions":${JSON.stringify(instructions)}`])
  ]
  sendResult(exchange, about.join(','), uncached)
}

const modernMethods: ReadonlyMap<string, Method> = new Map<string, Method>([['server/discover', discover], ...methods])

export function modernRequest(exchange: Exchange, http: HttpExchange): Promise<void> | void {
  const { message, edge, endpoint } = exchange
  const { headers } = http
  const { id } = message
  checkModernHeaders(headers, message)
  edge.core.met(endpoint, edge.introductions.client(message).info)
  if (message.method === 'subscriptions/listen') {
    checkStream(http, id)
    return takeStream(edge, http, exchange.reply) ? listen(exchange) : undefined
  }
  const method = modernMethods.get(message.method)
  if (!method) throw new ProtocolError(codes.methodNotFound, 'Method not found', { status: 404, id })
  return method(exchange)
}
