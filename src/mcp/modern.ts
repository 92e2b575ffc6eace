import { MODERN_VERSION } from '../domain/mcp-constants.ts'
import { capabilitiesOf, instructionsOf } from './messages/initialize-result.ts'
import { checkModernHeaders } from './messages/era.ts'
import type { RequestContext, HttpContext } from './request-context.ts'
import { codes, ProtocolError } from '../protocol/jsonrpc.ts'
import { checkAcceptsStream } from './get-stream.ts'
import { listen } from './subscriptions-listen.ts'
import { methods, sendResult, noCacheHints, type Method } from './methods.ts'
import { takeStreamPlace } from './quotas.ts'

/** Answers from memory, because every client sends it first (mcp-proxy.md#initialize-and-serverdiscover). */
const discover: Method = (context) => {
  const { scope } = context
  const instructions = instructionsOf(scope)
  const about = [
    `"supportedVersions":["${MODERN_VERSION}"]`,
    `"capabilities":${JSON.stringify(capabilitiesOf(scope))}`,
    ...(instructions === undefined ? [] : [`"instructions":${JSON.stringify(instructions)}`])
  ]
  sendResult(context, about.join(','), noCacheHints)
}

const modernMethods: ReadonlyMap<string, Method> = new Map<string, Method>([['server/discover', discover], ...methods])

export function modernRequest(context: RequestContext, http: HttpContext): Promise<void> | void {
  const { message, mcp, endpoint } = context
  const { headers } = http
  const { id } = message
  checkModernHeaders(headers, message)
  mcp.dataPlane.recordClient(endpoint, mcp.clientInfoCache.client(message).info)
  if (message.method === 'subscriptions/listen') {
    checkAcceptsStream(http, id)
    return takeStreamPlace(mcp, http, context.reply) ? listen(context) : undefined
  }
  const method = modernMethods.get(message.method)
  if (!method) throw new ProtocolError(codes.methodNotFound, 'Method not found', { status: 404, id })
  return method(context)
}
