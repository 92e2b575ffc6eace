import type { FastifyPluginAsync } from 'fastify'
import { ifThere } from './late.ts'

/**
 * Closing ends the streams that only listen, waits for the requests under way, at most `drainMs`, then ends the other
 * streams. Registered last, so that every other `preClose` has run by then; what is left is cut by Fastify
 * (`forceCloseConnections`).
 */
export const drain: FastifyPluginAsync<{ drainMs: number }> = async (app, { drainMs }) => {
  let underWay = 0
  let onIdle = () => {}
  app.server.on('request', ({ method }, response) => {
    // GET answers at once or only listens
    if (method === 'GET') return
    underWay++
    response.once('close', () => {
      if (--underWay === 0) onIdle()
    })
  })
  const idle = () =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, drainMs)
      onIdle = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  app.addHook('preClose', async () => {
    const mcp = ifThere(() => app.gateway.mcp)
    mcp?.endListening()
    if (underWay > 0) {
      app.log.info({ requests: underWay }, 'waiting for requests under way')
      await idle()
    }
    mcp?.close()
  })
}
