import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { callerOf } from '../../plugins/auth.ts'
import { RegisteredClient } from '../../schemas/oauth-client.ts'
import { errorResponses, ref, Text } from '../../schemas/shared.ts'

const tags = ['oauth clients']
const config = { access: 'admin' } as const
const params = Type.Object({ id: Text({ minLength: 1 }) })
const MAX_PAGE = 1_000

/** Routes of OAuth clients that registered themselves (identity and policies, section 5). */
export const registeredClients: FastifyPluginAsyncTypebox = async (app) => {
  app.get(
    '/oauth_clients',
    {
      config: { access: 'auditor' },
      schema: {
        tags,
        operationId: 'listOauthClients',
        summary: 'List the OAuth clients that registered themselves',
        description: 'The last registered first. Clients whose id is the URL of their metadata are not registered.',
        querystring: Type.Object({
          limit: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_PAGE, default: 100 })),
          offset: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000, default: 0 }))
        }),
        response: { 200: Type.Array(ref(RegisteredClient)) }
      }
    },
    ({ query }) => app.gateway.registeredClients.list({ limit: query.limit ?? 100, offset: query.offset ?? 0 })
  )

  app.post(
    '/oauth_clients/:id/approve',
    {
      config,
      schema: {
        tags,
        operationId: 'approveOauthClient',
        summary: 'Approve an OAuth client, so that people can let it in',
        description: 'Counts with `TOWPATH_OAUTH_DCR=approve`.',
        params,
        response: { 200: ref(RegisteredClient), ...errorResponses(404) }
      }
    },
    (request) => app.gateway.registeredClients.approve(callerOf(request), request.params.id)
  )

  app.delete(
    '/oauth_clients/:id',
    {
      config,
      schema: {
        tags,
        operationId: 'deleteOauthClient',
        summary: 'Remove an OAuth client',
        description: 'Ends what all people gave to it: tokens, sessions, streams and calls.',
        params,
        response: { 204: Type.Null(), ...errorResponses(404) }
      }
    },
    async (request, reply) => {
      await app.gateway.registeredClients.remove(callerOf(request), request.params.id)
      return reply.code(204).send(null)
    }
  )
}
