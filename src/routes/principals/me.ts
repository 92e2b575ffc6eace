import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { callerOf } from '../../plugins/auth.ts'
import { AccessToken, AccessTokenInput, Account, IssuedAccessToken } from '../../schemas/access-token.ts'
import { errorResponses, ref, Text } from '../../schemas/shared.ts'

const tags = ['me']
const config = { access: 'self' } as const

/** Routes of the own account, for every user in enterprise mode (http-contract.md#personal-access-tokens). */
export const me: FastifyPluginAsyncTypebox = async (app) => {
  app.get(
    '/me',
    {
      config,
      schema: {
        tags,
        operationId: 'getAccount',
        summary: 'Get the own account: name, role and the token in use',
        response: { 200: ref(Account) }
      }
    },
    (request) => app.gateway.accessTokens.account(callerOf(request))
  )

  app.get(
    '/me/tokens',
    {
      config,
      schema: {
        tags,
        operationId: 'listOwnTokens',
        summary: 'List the own access tokens',
        response: { 200: Type.Array(ref(AccessToken)) }
      }
    },
    (request) => app.gateway.accessTokens.listOwn(callerOf(request))
  )

  app.post(
    '/me/tokens',
    {
      config,
      schema: {
        tags,
        operationId: 'createOwnToken',
        summary: 'Create a personal access token',
        description: 'Needs a token without scopes: a personal access token cannot create others.',
        body: ref(AccessTokenInput),
        response: { 201: ref(IssuedAccessToken), ...errorResponses(409) }
      }
    },
    async (request, reply) =>
      reply.code(201).send(await app.gateway.accessTokens.create(callerOf(request), request.body))
  )

  app.delete(
    '/me/tokens/:id',
    {
      config,
      schema: {
        tags,
        operationId: 'revokeOwnToken',
        summary: 'Revoke an own access token',
        description:
          'Ends the sessions, streams and calls that the token was used for. A personal access token can revoke only itself.',
        params: Type.Object({ id: Text({ minLength: 1 }) }),
        response: { 204: Type.Null(), ...errorResponses(404, 409) }
      }
    },
    async (request, reply) => {
      await app.gateway.accessTokens.revokeOwn(callerOf(request), request.params.id)
      return reply.code(204).send(null)
    }
  )
}
