import type { FastifyReply } from 'fastify'
import type { Departure } from '../gateway/gateway.ts'

/** Sends JSON text as it is: nothing is parsed and written again, so nothing is lost. */
export const sendJson = (reply: FastifyReply, text: Buffer | string): FastifyReply =>
  reply.type('application/json; charset=utf-8').send(text)

/** Tells when the caller leaves before the answer. */
export function departureOf({ raw }: FastifyReply): Departure {
  const departure: { hasLeft: boolean } & Departure = { hasLeft: false, onLeave: null }
  raw.on('close', () => {
    if (raw.writableFinished) return
    departure.hasLeft = true
    departure.onLeave?.()
  })
  return departure
}
