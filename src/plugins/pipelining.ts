import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import fp from 'fastify-plugin'
import type { Config } from '../config/config.ts'
import { limitArrival } from './errors.ts'

/** Ignored requests of one connection, each of which takes some kB until the connection closes */
const MAX_IGNORED = 256

/** Pipelined requests of one connection. */
interface Queue {
  readonly responses: Set<ServerResponse>
  /** Responses to ignored requests */
  readonly ignored: Set<ServerResponse>
  /** Response to the last queued request; null before the first. */
  last: ServerResponse | null
}

/**
 * Handles the requests of one connection one after another. A client may pipeline requests (RFC 9112 9.3.2); if they
 * started at once, each would hold an unread response. Beyond `pipelinedRequests` queued requests, further ones are
 * ignored and the connection closes after the last accepted one, or at once if too many follow: Node reads on, and keeps
 * each. The body time limit of a queued request starts with its turn.
 */
export default fp<Pick<Config['limits'], 'pipelinedRequests'> & Pick<Config['timeouts'], 'requestBodyMs'>>(
  async (app, { pipelinedRequests, requestBodyMs }) => {
    const queues = new WeakMap<Socket, Queue>()

    const queueOf = (socket: Socket): Queue => {
      const known = queues.get(socket)
      if (known) return known
      const queue: Queue = { responses: new Set(), ignored: new Set(), last: null }
      queues.set(socket, queue)
      socket.once('close', () => {
        // on close Node notifies only the response that is being written
        for (const waiting of [...queue.responses, ...queue.ignored]) {
          waiting.destroy()
          waiting.emit('close')
        }
        queue.responses.clear()
        queue.ignored.clear()
      })
      return queue
    }

    const ignore = ({ ignored }: Queue, socket: Socket, response: ServerResponse) => {
      ignored.add(response)
      if (ignored.size > MAX_IGNORED) socket.destroy()
    }

    app.addHook('onRequest', ({ raw }, { raw: response }, done) => {
      // set from the start without pipelining, the usual case
      if (response.socket) return done()
      const queue = queueOf(raw.socket)
      const { responses } = queue
      if (queue.last?.shouldKeepAlive === false) return ignore(queue, raw.socket, response)
      if (queue.last && responses.size >= pipelinedRequests) {
        queue.last.shouldKeepAlive = false
        return ignore(queue, raw.socket, response)
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
  { name: 'pipelining' }
)
