import type { FastifyRequest } from 'fastify'

/** Returns the base URL under which the caller reaches the gateway. The Host header was checked before. */
export const baseUrlOf = ({ protocol, host }: FastifyRequest, publicUrl: string | undefined): string =>
  publicUrl ?? `${protocol}://${host}`
