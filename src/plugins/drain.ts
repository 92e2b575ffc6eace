import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyPluginAsync } from 'fastify'
import { ifAvailable } from '../http/wait-for-database.ts'

/** Polled, because an event for the end of each session call would slow down every call. */
const POLL_MS = 50

/**
 * Drains on close: ends listen-only streams and spare sessions, waits at most `drainMs` for requests in progress, then
 * ends the remaining streams. Registered last, so that every other `preClose` hook has run; Fastify then cuts the
 * remaining connections (`forceCloseConnections`).
 */
export const drain: FastifyPluginAsync<{ drainMs: number }> = async (app, { drainMs }) => {
  let requests = 0
  app.server.on('request', ({ method }, response) => {
    // a GET either answers at once or only listens
    if (method === 'GET') return
    requests++
    response.once('close', () => requests--)
  })
  app.addHook('preClose', async () => {
    ifAvailable(() => app.gateway.closeSpareSessions())
    const mcp = ifAvailable(() => app.gateway.mcp)
    mcp?.endIdleStreams()
    // calls posted over the HTTP+SSE transport were answered 202 at once
    const isBusy = () => requests > 0 || (mcp?.countSessionCalls() ?? 0) > 0
    if (isBusy()) app.log.info({ requests }, 'waiting for requests in progress')
    const deadline = performance.now() + drainMs
    while (isBusy() && performance.now() < deadline) await delay(POLL_MS)
    mcp?.close()
  })
}
