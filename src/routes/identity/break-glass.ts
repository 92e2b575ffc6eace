import type { FastifyInstance, FastifyRequest } from 'fastify'
import { hashToken } from '../../lib/tokens.ts'
import { userIdOf } from '../../control/own-account.ts'
import type { FailedLogins } from '../../http/failed-logins.ts'
import { AppError } from '../../lib/errors.ts'
import { recordRefusal } from './sign-in-page.ts'

/**
 * Checks the static token of a user, who signs in with it for an hour: it works while the OpenID provider does not. Returns the id of the user and the hash of the token; undefined if it is not such a token. Rejects with a 429 AppError after many wrong ones.
 */
export async function checkStaticToken(
  app: FastifyInstance,
  request: FastifyRequest,
  failedLogins: FailedLogins,
  token: string
): Promise<{ readonly userId: string; readonly staticToken: Uint8Array | undefined } | undefined> {
  const caller = app.gateway.principals.callerOf(hashToken(token))
  if (!caller || caller.kind === 'client' || caller.kind === 'development' || caller.scopes !== undefined) {
    const retryAfter = failedLogins.record(request.address)
    if (retryAfter !== undefined) {
      throw new AppError(429, 'Too many wrong access tokens came from this address.', { retryAfter })
    }
    recordRefusal(app, request, 'the access token is not the static one of a user')
    return undefined
  }
  const change = {
    actor: { kind: caller.kind, name: caller.name },
    action: 'session.break_glass',
    target: caller.name,
    address: request.address,
    requestId: request.id,
    tokenHash: caller.tokenHash
  }
  await app.registry.recordAction(change)
  app.log.warn({ user: caller.name, address: request.address }, 'a user signed in with a static access token')
  return { userId: userIdOf(caller), staticToken: caller.tokenHash }
}
