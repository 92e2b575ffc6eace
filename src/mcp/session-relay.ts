import type { CatalogServer } from '../catalog/catalog.ts'
import { RateLimiter, parseUpdate } from '../protocol/notifications.ts'
import { Call, errorAnswer, methodNotFound, type Answer, type Sink } from '../upstream/transport/call.ts'
import type { SessionCallbacks } from '../upstream/transport/session-callbacks.ts'
import { hasClientSessions } from '../upstream/sessions/upstream-sessions.ts'
import { canRequest } from './messages/capabilities.ts'
import { customMessage } from './messages/custom-message.ts'
import type { RequestContext } from './sessions/request-context.ts'
import type { SubscribeUpstream } from './subscriptions/session-subscriptions.ts'
import { attributeRequest, needsAttribution } from './messages/server-attribution.ts'
import { logMessage } from './messages/log-message.ts'
import { createServerRequests, type ServerRequest } from './sessions/server-requests.ts'
import type { ResponseWriter } from './sessions/response-writer.ts'
import { type Session, currentStreamOf } from './sessions/client-sessions.ts'
import { CallSink } from './input/call-sink.ts'
import type { Elicitations } from './input/elicitations.ts'
import type { CurrentScopes } from '../catalog/scope.ts'
import type { ClientCalls } from '../upstream/client-calls.ts'

/**
 * Limits of open requests to one client that belong to no single call, in total and per server. Each active call raises
 * the limit by one.
 */
const MAX_OPEN_REQUESTS = 100
const MAX_OPEN_REQUESTS_PER_SERVER = 25

const tooMany = errorAnswer(-32603, 'Too many concurrent requests')

type SessionClient = Pick<RequestContext, 'caller' | 'endpoint'>

/** Returns the key under which the upstream sessions of an MCP session are kept. */
export const ownerOf = ({ id }: Session) => `session:${id}`

/** Returns the stream of the oldest call that still has an open one: the client may have no other stream. */
function firstOpenStream(activeCalls: readonly Call[]): ResponseWriter | null {
  for (const { sink } of activeCalls) {
    if (sink instanceof CallSink && !sink.stream.isEnded) return sink.stream
  }
  return null
}

export interface SessionRelayOptions {
  readonly scopes: Pick<CurrentScopes, 'scope'>
  readonly elicitations: Pick<Elicitations, 'record'>
  readonly calls: Pick<ClientCalls, 'send'>
}

/** Relays messages that belong to no call between the client of a session and its own upstream sessions. */
export class SessionRelay {
  readonly #options: SessionRelayOptions

  constructor(options: SessionRelayOptions) {
    this.#options = options
  }

  /** Returns the receiver of the messages of a session's upstream sessions. */
  callbacksOf(context: SessionClient, session: Session): SessionCallbacks {
    return (session.callbacks ??= createSessionCallbacks(this.#options, context, session))
  }

  /**
   * Subscribes in the client's own upstream session as well, because a stateful upstream may notify only that session.
   */
  subscribeInOwnSession({ caller, endpoint }: SessionClient, session: Session): SubscribeUpstream {
    const client = { caller, endpoint }
    return async (server, method, uri) => {
      const block = this.#options.scopes.scope(caller, endpoint).servers.find(({ name }) => name === server)
      if (!block || !hasClientSessions(block.stored)) return false
      return this.requestSubscription(client, session, block, method, uri).then(
        ({ kind }) => kind === 'result',
        () => false
      )
    }
  }

  /**
   * Sends a subscription request on behalf of a session, in its own upstream session if it has one. Rejects with
   * UpstreamFailure.
   */
  async requestSubscription(
    context: SessionClient,
    session: Session,
    block: CatalogServer,
    method: 'resources/subscribe' | 'resources/unsubscribe',
    uri: string
  ): Promise<Answer> {
    const { caller } = context
    const { name: server } = block
    const callbacks = this.callbacksOf(context, session)
    const sink: Sink = {
      capabilities: session.capabilities,
      wantsProgress: false,
      logLevel: session.logLevel,
      notify: (notified, params) => callbacks.notify(server, notified, params),
      request: (inboundMethod, params, inbound = { onCancel: null }) =>
        callbacks.request(server, inboundMethod, params, inbound)
    }
    const call = new Call({ method, members: `"uri":${JSON.stringify(uri)}`, meta: '' }, sink)
    const { answer } = await this.#options.calls.send(block, call, {
      era: 'legacy',
      principal: method === 'resources/unsubscribe' ? caller.key : null,
      holder: caller.key,
      owner: ownerOf(session),
      callbacks
    })
    return answer
  }
}

/**
 * Relays messages that belong to no call on the session's newest stream (mcp-proxy.md#json-or-event-stream), if the
 * client may use the server.
 */
function createSessionCallbacks(
  { scopes, elicitations }: SessionRelayOptions,
  { caller, endpoint }: SessionClient,
  session: Session
): SessionCallbacks {
  const open = new Map<ServerRequest, string>()
  const allowances = new Map<string, RateLimiter>()
  const allowanceOf = (server: string): RateLimiter => {
    const known = allowances.get(server) ?? new RateLimiter()
    allowances.set(server, known)
    return known
  }
  const scopeIncluding = (server: string) => {
    const scope = scopes.scope(caller, endpoint)
    return scope.servers.some(({ name }) => name === server) ? scope : undefined
  }
  return {
    notify(server, method, params) {
      const scope = scopeIncluding(server)
      if (!scope) return
      if (method === 'notifications/resources/updated') {
        const update = parseUpdate(params)
        if (update) session.subscriptions?.notifyUpdated(server, update.uri, update.extra)
      } else if (method === 'notifications/message') {
        const logged = logMessage(params, server, scope, session.logLevel)
        if (logged !== undefined) currentStreamOf(session)?.sendMessage(logged)
      } else {
        const custom = customMessage(method, params, server, scope, allowanceOf(server))
        if (custom !== undefined) currentStreamOf(session)?.sendMessage(custom)
      }
    },
    async request(server, method, params, inbound, activeCalls = []) {
      const scope = scopeIncluding(server)
      if (!scope || !canRequest(session.capabilities, method, params)) return methodNotFound
      const ofServer = [...open.values()].filter((from) => from === server).length
      if (
        open.size >= MAX_OPEN_REQUESTS + session.calls.size ||
        ofServer >= MAX_OPEN_REQUESTS_PER_SERVER + activeCalls.length
      )
        return tooMany
      const stream = () => firstOpenStream(activeCalls)
      elicitations.record(server, params, { session, reply: stream() })
      session.serverRequests ??= createServerRequests(session)
      const serverRequest = session.serverRequests.send(
        stream,
        method,
        needsAttribution(scope) ? attributeRequest(method, params, server) : params
      )
      open.set(serverRequest, server)
      inbound.onCancel = serverRequest.cancel
      try {
        return await serverRequest.answer
      } finally {
        open.delete(serverRequest)
      }
    },
    onOpen: (server) => session.subscriptions?.resubscribe(server),
    onClose(server) {
      session.subscriptions?.markSessionClosed(server)
      allowances.delete(server)
      for (const [serverRequest, from] of open) if (from === server) serverRequest.cancel()
    }
  }
}
