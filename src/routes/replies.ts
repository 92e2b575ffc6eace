import type { FastifyReply } from 'fastify'
import type { DisconnectSignal } from '../catalog/caller.ts'

/** Sends JSON text unchanged: parsing and serializing again could lose precision. */
export const sendJson = (reply: FastifyReply, text: Buffer | string): FastifyReply =>
  reply.type('application/json; charset=utf-8').send(text)

/** Returns a signal that is set when the client disconnects before the response is sent. */
export function disconnectSignalOf({ raw }: FastifyReply): DisconnectSignal {
  const signal: { isDisconnected: boolean } & DisconnectSignal = { isDisconnected: false, onDisconnect: null }
  raw.on('close', () => {
    if (raw.writableFinished) return
    signal.isDisconnected = true
    signal.onDisconnect?.()
  })
  return signal
}
