import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { createLimit } from '../../http/rate-limit.ts'
import { providerSessionHash } from '../../identity/browser-sessions.ts'
import { LOGOUT_TOKEN_S, type LogoutNotice } from '../../identity/logout-token.ts'
import { AppError } from '../../lib/errors.ts'
import { SESSION_S } from '../../plugins/identity.ts'
import { parseForms } from './form-body.ts'
import { recordRefusal } from './sign-in-page.ts'

const config = { access: 'public' } as const
const RATE = { perKey: 120, inAll: 1_200 } as const
/** Code of a 400 for a token that is not valid (OpenID Connect Back-Channel Logout 1.0, 2.8). */
const INVALID = 'invalid_request'

const LogoutBody = Type.Object({ logout_token: Type.String() }, { additionalProperties: true })

/** The provider says that a person has signed out there, or was signed out (OpenID Connect Back-Channel Logout 1.0). */
export const backChannelLogout: FastifyPluginAsyncTypebox = async (app) => {
  const { provider } = app.identity!
  if (!provider) return
  const limit = createLimit(RATE)
  parseForms(app)

  /** Ends the sessions that the notice names; rejects with a 400 AppError if the notice was used before. */
  const end = (notice: LogoutNotice, { address, id: requestId }: { address: string; id: string }) => {
    const { issuer, id, sid, subject } = notice
    const actor = { kind: 'system', name: 'identity provider' } as const
    const isOne = sid !== undefined
    const target = (subject ?? 'session').slice(0, 256)
    const change = { actor, action: isOne ? 'session.end' : 'session.end_all', target, address, requestId }
    const after = (seconds: number) => new Date(Date.now() + seconds * 1_000)
    return app.registry.write(change, async (tx) => {
      const expiresAt = Math.ceil(Date.now() / 1_000) + 2 * LOGOUT_TOKEN_S
      const isFirst = await tx.usedAssertions.use({ purpose: 'logout token', issuer, id, expiresAt })
      if (!isFirst) throw new AppError(400, 'the logout token was used before')
      if (isOne) await tx.tombstones.add('idp_sid', providerSessionHash(issuer, sid), after(SESSION_S))
      else await tx.identities.endSignInsOf({ issuer, subject: subject! })
    })
  }

  app.post('/auth/backchannel-logout', { config, schema: { body: LogoutBody } }, async (request, reply) => {
    limit(request)
    void reply.header('cache-control', 'no-store')
    try {
      await end(await provider.checkLogoutToken(request.body.logout_token), request)
      return reply.send()
    } catch (error) {
      // after any other failure the provider may try again
      if (!(error instanceof AppError) || error.statusCode !== 400) throw error
      recordRefusal(app, request, error.message)
      return reply.code(400).send({ error: INVALID, error_description: error.message })
    }
  })
}
