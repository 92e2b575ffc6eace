import type { IncomingHttpHeaders } from 'node:http'
import { isObject } from '../domain/is-object.ts'
import { cancelRequest } from './batch-dispatch.ts'
import { clientNameOf } from './messages/client-info.ts'
import { capabilitiesOf, instructionsOf } from './messages/initialize-result.ts'
import { LATEST_LEGACY_VERSION, LEGACY_VERSIONS } from '../domain/mcp-constants.ts'
import { checkLegacyVersion } from './messages/era.ts'
import type { RequestContext } from './request-context.ts'
import { ownerOf } from './session-callbacks.ts'
import { codes, idText, ProtocolError } from '../protocol/jsonrpc.ts'
import { methods, sendResult, type Method } from './methods.ts'
import { sessionMethods } from './session-methods.ts'
import { refuseOverQuota } from './quotas.ts'

/** Client capabilities that the gateway can relay; others are ignored (mcp-proxy.md#capabilities). */
const supportedCapabilities = ['sampling', 'elicitation', 'roots']

const declaredCapabilities = (given: unknown): Record<string, unknown> =>
  isObject(given)
    ? Object.fromEntries(
        supportedCapabilities.filter((name) => isObject(given[name])).map((name) => [name, given[name]])
      )
    : {}

/** Limit of capabilities stored in a session id, in characters; real clients stay far below. */
const MAX_CAPABILITIES = 1_024

/** Answers from the catalog without contacting an upstream (mcp-proxy.md#initialize-and-serverdiscover). */
const initialize: Method = (context) => {
  const { message, mcp, scope, caller, endpoint, session, reply } = context
  const { params, id } = message
  if (session && session.version !== '')
    throw new ProtocolError(codes.invalidRequest, 'Invalid Request: the session is already initialized', { id })
  const { protocolVersion: requested, capabilities: given, clientInfo } = params
  if (typeof requested !== 'string') {
    throw new ProtocolError(codes.invalidParams, 'Invalid params: "protocolVersion" must be a string', {
      id,
      status: 200
    })
  }
  const version = LEGACY_VERSIONS.includes(requested) ? requested : LATEST_LEGACY_VERSION
  const declared = declaredCapabilities(given)
  const capabilities = JSON.stringify(declared).length > MAX_CAPABILITIES ? {} : declared
  const opened = session
    ? Object.assign(session, { version, capabilities: JSON.stringify(capabilities) })
    : mcp.sessions.create(caller.key, endpoint, version, capabilities)
  if (typeof opened === 'string') return refuseOverQuota(mcp, context, reply, 'sessions', opened)
  opened.client = clientNameOf(clientInfo)
  opened.visitor = mcp.dataPlane.recordClient(endpoint, clientInfo)
  const result = {
    protocolVersion: version,
    capabilities: capabilitiesOf(scope),
    serverInfo: mcp.identity,
    instructions: instructionsOf(scope)
  }
  reply.sendResult(id, Buffer.from(JSON.stringify(result)), { 'mcp-session-id': opened.id })
}

const legacyMethods: ReadonlyMap<string, Method> = new Map<string, Method>([
  ['initialize', initialize],
  ['ping', (context) => sendResult(context, '')],
  ...sessionMethods,
  ...methods
])

const ROOTS_CHANGED = 'notifications/roots/list_changed'

/** Accepts a notification or response with 202 and an empty body (mcp-proxy.md#legacy-wire). */
export function legacyNotification({ message, session, reply, mcp }: RequestContext): void {
  if (message.kind === 'response') session?.serverRequests?.resolve(message)
  if (message.method === ROOTS_CHANGED && session) mcp.dataPlane.notifyOwner(ownerOf(session), ROOTS_CHANGED)
  const { requestId } = message.params as { requestId?: unknown }
  if (message.method === 'notifications/cancelled' && requestId !== undefined && session)
    cancelRequest(session, idText(message.text, message.paramMembers, 'requestId', requestId))
  reply.sendEmpty(202)
}

export function legacyRequest(context: RequestContext, headers: IncomingHttpHeaders): Promise<void> | void {
  const { message } = context
  if (message.method !== 'initialize') checkLegacyVersion(headers, message.id)
  const method = legacyMethods.get(message.method)
  if (!method) {
    throw new ProtocolError(codes.methodNotFound, 'Method not found', { status: 200, id: message.id })
  }
  return method(context)
}
