import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { auditChange } from '../control/audit-change.ts'
import { callerOf } from '../plugins/auth.ts'
import { KeyRotation } from '../schemas/keys.ts'
import { ref } from '../schemas/shared.ts'

/** Rotation of the encryption key (security-model.md#secrets-at-rest). */
export const keys: FastifyPluginAsyncTypebox = async (app) => {
  app.post(
    '/keys/rotate',
    {
      config: { access: 'admin' },
      schema: {
        tags: ['keys'],
        operationId: 'rotateKeys',
        summary: 'Re-encrypt the stored secrets with the current key',
        description: 'For a gateway started with a new key and the previous one. Can be repeated at any time.',
        response: { 200: ref(KeyRotation) }
      }
    },
    (request) => app.registry.rotateKeys(auditChange(callerOf(request), 'keys.rotate', '*'))
  )
}
