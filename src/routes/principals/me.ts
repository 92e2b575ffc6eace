import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { callerOf } from '../../plugins/auth.ts'
import {
  AccessToken,
  AccessTokenInput,
  Account,
  BrowserSession,
  IssuedAccessToken
} from '../../schemas/access-token.ts'
import { AppError } from '../../lib/errors.ts'
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
    '/me/session',
    {
      config,
      schema: {
        tags,
        operationId: 'getSession',
        summary: 'Get the own browser session',
        description:
          'For pages of the gateway. A request with the session cookie that changes something needs `csrf_token` in the header `X-Towpath-CSRF`. 404 for a request with a token.',
        response: { 200: ref(BrowserSession), ...errorResponses(404) }
      }
    },
    (request, reply) => {
      const session = app.identity?.sessionOf(request, reply)
      // a token in the same request is what counts
      if (!session || callerOf(request).signIn?.kind !== 'session') {
        throw new AppError(404, 'the request was not made with the cookie of a browser session')
      }
      const { name, role, method, expiresAt } = session
      const csrf_token = app.identity!.sessions.csrfToken(session, 'api')
      return { name, role, method, expires_at: new Date(expiresAt).toISOString(), csrf_token }
    }
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
        description:
          'Needs a token without scopes, or a sign-in of the command line with `towpath:admin`: a personal access token cannot create others, nor can a session that began with a static token.',
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
