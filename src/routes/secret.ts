import { timingSafeEqual } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { parseCredentials } from '../domain/credentials.ts'
import { unauthorized } from '../errors.ts'
import { hashToken } from '../gateway/principals.ts'

/** Throws a 401 AppError unless a request carries this secret as its bearer token. `name` stands in the message. */
export function checkSecret(secret: string, name: string, { raw }: FastifyRequest, reply: FastifyReply): void {
  const credentials = parseCredentials(raw.rawHeaders)
  // hashes are of one length, whatever was given
  if (credentials.kind === 'token' && timingSafeEqual(hashToken(credentials.token), hashToken(secret))) return
  void reply.header('www-authenticate', 'Bearer')
  throw unauthorized(`this needs the ${name}: "Authorization: Bearer <secret>"`)
}
