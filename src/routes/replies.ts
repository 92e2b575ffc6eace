import type { FastifyReply } from 'fastify'

/** Sends JSON text as it is: nothing is parsed and written again, so nothing is lost. */
export const sendJson = (reply: FastifyReply, text: Buffer | string): FastifyReply =>
  reply.type('application/json; charset=utf-8').send(text)

/** Aborts when the caller leaves before the answer. */
export function leaving({ raw }: FastifyReply): AbortSignal {
  const controller = new AbortController()
  raw.once('close', () => {
    if (!raw.writableFinished) controller.abort()
  })
  return controller.signal
}
