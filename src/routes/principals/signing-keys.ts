import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { auditChange } from '../../control/audit-change.ts'
import { AppError } from '../../lib/errors.ts'
import { callerOf } from '../../plugins/auth.ts'
import { NewSigningKey, SigningKeyRotation } from '../../schemas/keys.ts'
import { errorResponses, ref } from '../../schemas/shared.ts'

/** Rotation of the key that signs access tokens, enterprise mode only. */
export const signingKeys: FastifyPluginAsyncTypebox = async (app) => {
  app.post(
    '/signing_keys/rotate',
    {
      config: { access: 'admin' },
      schema: {
        tags: ['keys'],
        operationId: 'rotateSigningKey',
        summary: 'Sign access tokens with a new key',
        description:
          'Keys are replaced every 90 days without it. Tokens of the older keys stay valid until they expire, unless `revoke` is true: for a key that may have leaked.',
        body: ref(SigningKeyRotation),
        response: { 200: ref(NewSigningKey), ...errorResponses(409) }
      }
    },
    async (request) => {
      if (!app.identity)
        throw new AppError(409, 'no access tokens are signed here: people do not sign in (TOWPATH_AUTH)')
      const change = auditChange(callerOf(request), 'signing_key.rotate', 'ES256')
      const { revoke = false } = request.body
      return { kid: await app.registry.write(change, (tx) => tx.signingKeys.rotate(revoke)) }
    }
  )
}
