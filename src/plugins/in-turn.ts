import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import fp from 'fastify-plugin'
import type { Config } from '../config.ts'
import { limitArrival } from './errors.ts'

/** Requests that wait for their turn on one connection. */
interface Queue {
  readonly responses: Set<ServerResponse>
  /** The answer to the last request that waits, or waited; null before the first. */
  last: ServerResponse | null
}

/**
 * Takes requests of one connection one after the other. A client may send requests before it has read the answers to
 * those before (pipelining, RFC 9112 9.3.2); begun at once, each of them would hold an answer that nobody reads. Past
 * `pipelinedRequests` that wait, further ones are not taken, and the connection ends behind the last that was. A body that
 * is not read while its request waits has its whole time from its turn on.
 */
export default fp<Pick<Config['limits'], 'pipelinedRequests'> & Pick<Config['timeouts'], 'requestBodyMs'>>(
  async (app, { pipelinedRequests, requestBodyMs }) => {
    const queues = new WeakMap<Socket, Queue>()

    const queueOf = (socket: Socket): Queue => {
      const known = queues.get(socket)
      if (known) return known
      const queue: Queue = { responses: new Set(), last: null }
      queues.set(socket, queue)
      socket.once('close', () => {
        // Node tells the end of a connection only to the response whose turn it is
        for (const waiting of queue.responses) {
          waiting.destroy()
          waiting.emit('close')
        }
        queue.responses.clear()
      })
      return queue
    }

    app.addHook('onRequest', ({ raw }, { raw: response }, done) => {
      // set from the start where nothing is before it: the way of every call
      if (response.socket) return done()
      const queue = queueOf(raw.socket)
      const { responses } = queue
      if (queue.last?.shouldKeepAlive === false) return
      if (queue.last && responses.size >= pipelinedRequests) {
        queue.last.shouldKeepAlive = false
        return
      }
      queue.last = response
      responses.add(response)
      response.once('socket', () => {
        responses.delete(response)
        limitArrival(raw, requestBodyMs)
        process.nextTick(done)
      })
    })
  },
  { name: 'in-turn' }
)
