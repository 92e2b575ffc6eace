import type { ServerResponse } from 'node:http'
import type { FastifyPluginAsync } from 'fastify'
import { unavailable } from '../../lib/errors.ts'
import type { Caller } from '../../catalog/caller.ts'
import { callerOf } from '../../plugins/auth.ts'
import type { ChangeEvent } from '../../schemas/dashboard/events.ts'

const MAX_STREAMS = 1_000
/** One person's pages must not take the streams of all others. */
const MAX_STREAMS_PER_CALLER = 100
/** Proxies close idle connections. */
const HEARTBEAT_MS = 15_000
/** Streams of pages that do not read are closed; the page reconnects and reloads everything. */
const MAX_UNREAD_BYTES = 65_536
/**
 * Interval for reading the number of active calls while a page is connected: an event per call would slow down every
 * call.
 */
const POLL_MS = 1_000

const headers = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'x-accel-buffering': 'no'
}

/** `GET /events`: a stream of the kinds of data that changed, without the data itself. */
export const events: FastifyPluginAsync = async (app) => {
  const streams = new Map<ServerResponse, Caller>()

  const write = (stream: ServerResponse, text: string) => {
    if (stream.writableLength > MAX_UNREAD_BYTES) stream.destroy()
    else stream.write(text)
  }
  const heartbeat = setInterval(() => {
    for (const stream of streams.keys()) write(stream, ':\n\n')
  }, HEARTBEAT_MS).unref()
  let before = 0
  const poll = setInterval(() => {
    if (streams.size === 0) return
    for (const [stream, caller] of streams) {
      // the page asks to sign in again when it reconnects
      if (caller.kind !== 'development' && !app.gateway.principals.hasValidToken(caller)) stream.end()
    }
    const { activeCalls } = app.gateway.stats()
    if (activeCalls !== before) app.gateway.dashboard.events.publish('in_flight')
    before = activeCalls
  }, POLL_MS).unref()
  app.addHook('preClose', async () => {
    clearInterval(heartbeat)
    clearInterval(poll)
    for (const stream of streams.keys()) stream.end()
  })

  app.get('/events', { config: { access: 'user', sameOriginOnly: true }, exposeHeadRoute: false }, (request, reply) => {
    const caller = callerOf(request)
    const own = [...streams.values()].filter(({ key }) => key === caller.key).length
    if (streams.size >= MAX_STREAMS || own >= MAX_STREAMS_PER_CALLER)
      throw unavailable('too many dashboard pages are open')
    // read before the reply is hijacked, because it throws if the registry is not available yet
    const { events } = app.gateway.dashboard
    reply.hijack()
    const { raw } = reply
    streams.set(raw, caller)
    const unsubscribe = events.subscribe((kinds) => {
      const event: ChangeEvent = { kinds: [...kinds] }
      write(raw, `event: change\ndata: ${JSON.stringify(event)}\n\n`)
    })
    raw.once('close', () => {
      unsubscribe()
      streams.delete(raw)
    })
    raw.writeHead(200, headers)
    raw.write('retry: 2000\n\n')
  })
}
