import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyPluginAsync } from 'fastify'
import { ifThere } from './late.ts'

const POLL_MS = 50

/**
 * Closing ends the streams that only listen and the sessions kept ready, waits for the requests under way, at most
 * `drainMs`, then ends the other streams. Registered last, so that every other `preClose` has run by then; what is left
 * is cut by Fastify (`forceCloseConnections`).
 */
export const drain: FastifyPluginAsync<{ drainMs: number }> = async (app, { drainMs }) => {
  let requests = 0
  app.server.on('request', ({ method }, response) => {
    // GET answers at once or only listens
    if (method === 'GET') return
    requests++
    response.once('close', () => requests--)
  })
  app.addHook('preClose', async () => {
    ifThere(() => app.gateway.closeWarmSessions())
    const mcp = ifThere(() => app.gateway.mcp)
    mcp?.endListening()
    // what was posted for an event stream was answered 202 at once
    const isBusy = () => requests > 0 || (mcp?.callsOfSessions() ?? 0) > 0
    if (isBusy()) app.log.info({ requests }, 'waiting for requests under way')
    const deadline = performance.now() + drainMs
    while (isBusy() && performance.now() < deadline) await delay(POLL_MS)
    mcp?.close()
  })
}
