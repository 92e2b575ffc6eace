import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { IdentityProviderChecks } from '../../schemas/check.ts'
import { ref } from '../../schemas/shared.ts'

/** Checks of the OpenID provider at which people sign in, enterprise mode only. */
export const identityProvider: FastifyPluginAsyncTypebox = async (app) => {
  app.get(
    '/identity_provider/checks',
    {
      config: { access: 'auditor' },
      schema: {
        tags: ['users'],
        operationId: 'checkIdentityProvider',
        summary: 'Check the identity provider',
        description:
          'Reads the discovery document and the keys of the provider, and compares them with the settings. Signs nobody in.',
        response: { 200: ref(IdentityProviderChecks) }
      }
    },
    async () => ({ checks: [...((await (app.identity ?? app.external)?.checkProvider()) ?? [])] })
  )
}
