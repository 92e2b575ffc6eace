import { timingSafeEqual } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { parseCredentials } from '../domain/credentials.ts'
import { unauthorized } from '../lib/errors.ts'
import { hashToken } from '../lib/tokens.ts'

/** Throws AppError 401 unless the request carries `secret` as its bearer token. `name` appears in the message. */
export function checkSecret(secret: string, name: string, { raw }: FastifyRequest, reply: FastifyReply): void {
  const credentials = parseCredentials(raw.rawHeaders)
  // compares hashes, because `timingSafeEqual` needs equal lengths
  if (credentials.kind === 'token' && timingSafeEqual(hashToken(credentials.token), hashToken(secret))) return
  void reply.header('www-authenticate', 'Bearer')
  throw unauthorized(`this needs the ${name}: "Authorization: Bearer <secret>"`)
}
