import { MODERN_VERSION } from '../../domain/protocol.ts'
import { capabilitiesOf, instructionsOf } from './describe.ts'
import { accepts, checkModernHeaders } from './era.ts'
import type { Exchange, HttpExchange } from './exchange.ts'
import { codes, ProtocolError } from './jsonrpc.ts'
import { listen } from './modern-listen.ts'
import { methods, sendResult, uncached, type Method } from './methods.ts'

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
