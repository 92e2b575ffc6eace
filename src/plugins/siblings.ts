import fp from 'fastify-plugin'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { WorkerActivity } from '../gateway/shared-activity.ts'
import type { Siblings } from '../http/siblings.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** The other workers of this port; null if this process serves it alone. */
    readonly siblings: Siblings | null
    /** Learns of the activity in the other workers, before a page or record shows it; null if there are none. */
    readonly learnActivity: (() => Promise<void>) | null
  }
  interface FastifyContextConfig {
    /** Place of the session id in requests; they are served by the worker that has the session. */
    sessionIn?: 'header' | 'query'
  }
}

/** Lets another worker answer; `next` continues here if that worker is gone. */
export function forwardToOwner(
  siblings: Siblings,
  request: FastifyRequest,
  reply: FastifyReply,
  owned: { readonly id: string; readonly body?: Buffer; readonly next: () => void }
): void {
  const { next, ...rest } = owned
  const { raw, originalUrl } = request
  siblings.forward({ ...rest, request: raw, response: reply.raw, url: originalUrl, onUnreachable: next })
}

/** Activity that is not older is not asked for again. */
const MAX_AGE_MS = 500
const ACTIVITY = 'activity'

/** Creates the hook that learns the activity of the other workers before a page or record shows it. */
function createActivityHook(app: FastifyInstance, siblings: Siblings): () => Promise<void> {
  siblings.answer(ACTIVITY, () => JSON.stringify(app.gateway.activity.own()))
  let asked: Promise<void> = Promise.resolve()
  let askedAt = -Infinity
  const ask = async () => {
    const answers = await siblings.ask(ACTIVITY)
    app.gateway.activity.setOthers([...answers.values()].map((text) => JSON.parse(text) as WorkerActivity))
  }
  return () => {
    if (performance.now() - askedAt < MAX_AGE_MS) return asked
    askedAt = performance.now()
    asked = ask()
    return asked
  }
}

function sessionIdOf({ headers, query, routeOptions }: FastifyRequest): string | undefined {
  const { sessionIn } = routeOptions.config
  if (sessionIn === undefined) return undefined
  const id = sessionIn === 'header' ? headers['mcp-session-id'] : (query as { sessionId?: unknown }).sessionId
  return typeof id === 'string' ? id : undefined
}

/**
 * Forwards the requests of sessions to the workers that have them, before authentication: what a request counts for is
 * counted once, by the worker that serves it. Not installed in a process that serves its port alone.
 */
export default fp<{ siblings: Siblings | null }>(
  async (app, { siblings }) => {
    app.decorate('siblings', siblings)
    app.decorate('learnActivity', siblings && createActivityHook(app, siblings))
    if (!siblings) return
    app.addHook('onRequest', (request, reply, done) => {
      const id = sessionIdOf(request)
      if (id === undefined || siblings.owns(id) || siblings.isFromSibling(request.raw)) return done()
      forwardToOwner(siblings, request, reply, { id, next: done })
    })
    app.addHook('onReady', () => siblings.listen((request, response) => app.server.emit('request', request, response)))
    app.addHook('onClose', async () => siblings.close())
  },
  { name: 'siblings', dependencies: ['guard', 'pipelining'] }
)
