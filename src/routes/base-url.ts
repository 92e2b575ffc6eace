import type { FastifyRequest } from 'fastify'

/** Address of the gateway as this caller reaches it; the Host has passed its check by now. */
export const baseOf = ({ protocol, host }: FastifyRequest, publicUrl: string | undefined): string =>
  publicUrl ?? `${protocol}://${host}`
