import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/**
 * A client may send requests before it has the answers to those before (pipelining). An answer that still waits for its
 * turn when the connection ends is never told by Node, so that what is held until its `close` would be held for ever.
 */
export function closeQueued(server: Server): void {
  const queues = new WeakMap<Socket, Set<ServerResponse>>()

  const queueOf = (socket: Socket): Set<ServerResponse> => {
    const known = queues.get(socket)
    if (known) return known
    const queue = new Set<ServerResponse>()
    queues.set(socket, queue)
    socket.once('close', () => {
      for (const response of queue) {
        response.destroy()
        response.emit('close')
      }
    })
    return queue
  }
  server.on('request', ({ socket }, response) => {
    if (response.socket) return
    const queue = queueOf(socket)
    queue.add(response)
    // its turn has come
    response.once('socket', () => queue.delete(response))
  })
}
