import type { ServerBlock } from '../catalog.ts'
import { RateLimiter, parseUpdate } from '../notifications.ts'
import { Call, errorAnswer, methodNotFound, type Answer, type Sink } from '../upstream/call.ts'
import type { SessionCallbacks } from '../upstream/home.ts'
import { givesSessions } from '../upstream/sessions.ts'
import { mayAsk } from './capabilities.ts'
import { customMessage } from './custom-message.ts'
import type { Exchange } from './exchange.ts'
import type { TellUpstream } from './following.ts'
import { labelled, needsLabel } from './label.ts'
import { listenerOf } from './listen.ts'
import { logMessage } from './log-message.ts'
import { createPushes, type Push } from './push.ts'
import type { Responder } from './responder.ts'
import type { Session } from './session.ts'
import { CallSink } from './sink.ts'

/**
 * Questions that one client may have open besides one for each of its calls, and those of one server among them; more are
 * refused.
 */
const MAX_OPEN = 100
const MAX_OPEN_PER_SERVER = 25

const tooMany = errorAnswer(-32603, 'Too many requests at a time')

/** Whom the upstream sessions of an MCP session belong to. */
export const ownerOf = ({ id }: Session) => `session:${id}`

/** A client may have no other stream than those of its calls: of them the oldest that is open. */
function streamOf(underway: readonly Call[]): Responder | null {
  for (const { sink } of underway) {
    if (sink instanceof CallSink && !sink.stream.isEnded) return sink.stream
  }
  return null
}

/**
 * What belongs to no call goes on the session's newest stream (mcp-proxy.md#json-or-event-stream), of servers that its
 * client may see.
 */
function createHome({ edge, caller, endpoint }: Exchange, session: Session): SessionCallbacks {
  const open = new Map<Push, string>()
  const allowances = new Map<string, RateLimiter>()
  const allowanceOf = (server: string): RateLimiter => {
    const known = allowances.get(server) ?? new RateLimiter()
    allowances.set(server, known)
    return known
  }
  const scopeWith = (server: string) => {
    const scope = edge.core.scope(caller, endpoint)
    return scope.servers.some(({ name }) => name === server) ? scope : undefined
  }
  return {
    notify(server, method, params) {
      const scope = scopeWith(server)
      if (!scope) return
      if (method === 'notifications/resources/updated') {
        const update = parseUpdate(params)
        if (update) session.following?.heard(server, update.uri, update.extra)
      } else if (method === 'notifications/message') {
        const logged = logMessage(params, server, scope, session.logLevel)
        if (logged !== undefined) listenerOf(session)?.message(logged)
      } else {
        const custom = customMessage(method, params, server, scope, allowanceOf(server))
        if (custom !== undefined) listenerOf(session)?.message(custom)
      }
    },
    async request(server, method, params, asking, underway = []) {
      const scope = scopeWith(server)
      if (!scope || !mayAsk(session.capabilities, method, params)) return methodNotFound
      const ofServer = [...open.values()].filter((from) => from === server).length
      if (open.size >= MAX_OPEN + session.calls.size || ofServer >= MAX_OPEN_PER_SERVER + underway.length)
        return tooMany
      const stream = () => streamOf(underway)
      edge.elicitations.note(server, params, { session, reply: stream() })
      session.pushes ??= createPushes(session)
      const push = session.pushes.ask(stream, method, needsLabel(scope) ? labelled(method, params, server) : params)
      open.set(push, server)
      asking.onCancel = push.cancel
      try {
        return await push.answer
      } finally {
        open.delete(push)
      }
    },
    onOpen: (server) => session.following?.opened(server),
    onClose(server) {
      session.following?.closed(server)
      allowances.delete(server)
      for (const [push, from] of open) if (from === server) push.cancel()
    }
  }
}

export const homeOf = (exchange: Exchange, session: Session): SessionCallbacks =>
  (session.home ??= createHome(exchange, session))

/** Subscribes in the client's own session with a stateful upstream, which may tell no other session. */
export function ownSessions(exchange: Exchange, session: Session): TellUpstream {
  const { edge, caller, endpoint } = exchange
  return async (server, method, uri) => {
    const block = edge.core.scope(caller, endpoint).servers.find(({ name }) => name === server)
    if (!block || !givesSessions(block.stored)) return false
    return askFor(exchange, session, block, method, uri).then(
      ({ kind }) => kind === 'result',
      () => false
    )
  }
}

/** Asks a server about a resource in the name of a session, in its own session there if it has one. Rejects as calls do. */
export async function askFor(
  exchange: Exchange,
  session: Session,
  block: ServerBlock,
  method: 'resources/subscribe' | 'resources/unsubscribe',
  uri: string
): Promise<Answer> {
  const { edge, caller } = exchange
  const { name: server } = block
  const home = homeOf(exchange, session)
  const sink: Sink = {
    capabilities: session.capabilities,
    wantsProgress: false,
    logLevel: session.logLevel,
    notify: (said, params) => home.notify(server, said, params),
    request: (asked, params, asking = { onCancel: null }) => home.request(server, asked, params, asking)
  }
  const call = new Call({ method, members: `"uri":${JSON.stringify(uri)}`, meta: '' }, sink)
  const { answer } = await edge.core.forward(block, call, {
    era: 'legacy',
    principal: method === 'resources/unsubscribe' ? caller.key : null,
    holder: caller.key,
    owner: ownerOf(session),
    home
  })
  return answer
}
