import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { AppError } from '../lib/errors.ts'
import { Initialized } from '../schemas/principal.ts'
import { errorResponses, ref } from '../schemas/shared.ts'
import { checkSecret } from './secret.ts'

export interface InitOptions {
  readonly mode: 'development' | 'enterprise'
  readonly initSecret: string | undefined
}

/** Creates the first administrator of an enterprise gateway; works once (http-contract.md#authentication). */
export const init: FastifyPluginAsyncTypebox<InitOptions> = async (app, { mode, initSecret }) => {
  app.post(
    '/init',
    {
      config: { access: 'public' },
      schema: {
        tags: ['system'],
        operationId: 'initializeGateway',
        summary: 'Initialise enterprise mode',
        security: [{}, { token: [] }],
        description:
          'Creates the first administrator; works once. Requires TOWPATH_INIT_SECRET as the Bearer token if it is set.',
        response: { 200: ref(Initialized), ...errorResponses(401, 409) }
      }
    },
    async (request, reply) => {
      if (mode === 'development') throw new AppError(409, 'development mode needs no initialisation')
      if (initSecret !== undefined) checkSecret(initSecret, 'init secret', request, reply)
      const { address, id: requestId } = request
      const { access_token } = await app.gateway.principals.initialize({ address, requestId })
      request.log.info({ request_id: requestId, address }, 'initialized')
      void reply.header('cache-control', 'no-store')
      return { status: 'initialized' as const, admin_access_token: access_token }
    }
  )
}
