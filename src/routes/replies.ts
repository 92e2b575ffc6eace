import type { FastifyReply } from 'fastify'
import type { DisconnectSignal } from '../gateway/caller.ts'

/** Sends JSON text as it is: nothing is parsed and written again, so nothing is lost. */
export const sendJson = (reply: FastifyReply, text: Buffer | string): FastifyReply =>
  reply.type('application/json; charset=utf-8').send(text)

/** Tells when the caller leaves before the answer. */
export function disconnectSignalOf({ raw }: FastifyReply): DisconnectSignal {
  const signal: { isDisconnected: boolean } & DisconnectSignal = { isDisconnected: false, onDisconnect: null }
  raw.on('close', () => {
    if (raw.writableFinished) return
    signal.isDisconnected = true
    signal.onDisconnect?.()
  })
  return signal
}
