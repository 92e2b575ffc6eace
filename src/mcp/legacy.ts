import { cancelRequest } from './batches/batch-dispatch.ts'
import { sessionCapabilities } from './messages/capabilities.ts'
import { clientNameOf } from './messages/client-info.ts'
import { capabilitiesOf, instructionsOf } from './messages/initialize-result.ts'
import { LATEST_LEGACY_VERSION, LEGACY_VERSIONS } from '../domain/mcp-constants.ts'
import { checkLegacyVersion } from './messages/era.ts'
import type { RecordClient } from '../observe/client-activity.ts'
import type { ClientSessions } from './sessions/client-sessions.ts'
import type { Implementation, RequestContext } from './sessions/request-context.ts'
import { ownerOf } from './session-relay.ts'
import { codes, idText, ProtocolError } from '../protocol/jsonrpc.ts'
import type { Method, Methods, ResultSender } from './method.ts'
import type { QuotaGuard } from './quota-guard.ts'

/** Limit of capabilities stored in a session id, in characters; real clients stay far below. */
const MAX_CAPABILITIES = 1_024

const ROOTS_CHANGED = 'notifications/roots/list_changed'

export interface LegacyOptions {
  readonly sessions: Pick<ClientSessions, 'create'>
  readonly quotaGuard: QuotaGuard
  readonly identity: Implementation
  readonly recordClient: RecordClient
  /** Sends a notification on all upstream sessions of an owner. */
  readonly notifyOwner: (owner: string, method: string) => void
  /** Further methods of legacy clients. */
  readonly methods: Methods
  readonly results: ResultSender
}

/** Serves the messages of legacy clients. */
export class LegacyMessages {
  readonly #options: LegacyOptions
  readonly #methods: Methods

  constructor(options: LegacyOptions) {
    this.#options = options
    this.#methods = new Map<string, Method>([
      ['initialize', (context) => this.#initialize(context)],
      ['ping', (context) => options.results.send(context, '')],
      ...options.methods
    ])
  }

  request(context: RequestContext): Promise<void> | void {
    const { message, headers } = context
    if (message.method !== 'initialize') checkLegacyVersion(headers, message.id)
    const method = this.#methods.get(message.method)
    if (!method) {
      throw new ProtocolError(codes.methodNotFound, 'Method not found', { status: 200, id: message.id })
    }
    return method(context)
  }

  /** Accepts a notification or response with 202 and an empty body (mcp-proxy.md#legacy-wire). */
  notification({ message, session, reply }: RequestContext): void {
    if (message.kind === 'response') session?.serverRequests?.resolve(message)
    if (message.method === ROOTS_CHANGED && session) this.#options.notifyOwner(ownerOf(session), ROOTS_CHANGED)
    const { requestId } = message.params as { requestId?: unknown }
    if (message.method === 'notifications/cancelled' && requestId !== undefined && session)
      cancelRequest(session, idText(message.text, message.paramMembers, 'requestId', requestId))
    reply.sendEmpty(202)
  }

  /** Answers from the catalog without contacting an upstream (mcp-proxy.md#initialize-and-serverdiscover). */
  #initialize(context: RequestContext): void {
    const { message, scope, caller, endpoint, session, reply } = context
    const { sessions, quotaGuard, identity, recordClient } = this.#options
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
    const declared = sessionCapabilities(given)
    const capabilities = JSON.stringify(declared).length > MAX_CAPABILITIES ? {} : declared
    const opened = session
      ? Object.assign(session, { version, capabilities: JSON.stringify(capabilities) })
      : sessions.create(caller.key, endpoint, version, capabilities)
    if (typeof opened === 'string') return quotaGuard.refuse(context, reply, 'sessions', opened)
    opened.client = clientNameOf(clientInfo)
    opened.visitor = recordClient(endpoint, clientInfo)
    const result = {
      protocolVersion: version,
      capabilities: capabilitiesOf(scope, 'legacy'),
      serverInfo: identity,
      instructions: instructionsOf(scope)
    }
    reply.sendResult(id, Buffer.from(JSON.stringify(result)), { 'mcp-session-id': opened.id })
  }
}
