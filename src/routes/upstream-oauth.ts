import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { callerOf } from '../plugins/auth.ts'
import { AuthorizationAnswer, AuthorizationSession, RegisteredServer, UpstreamClient } from '../schemas/server.ts'
import { errorResponses, ref, Text } from '../schemas/shared.ts'
import type { ClientDocument } from '../upstream/oauth/client-document.ts'
import { AppError } from '../lib/errors.ts'
import { withServer } from './mcpjungle.ts'

const tags = ['servers']
const config = { access: 'admin' } as const
const params = Type.Object({ id: Text({ minLength: 1 }) })

export interface UpstreamClientOptions {
  readonly document: ClientDocument | undefined
}

/** The document by which authorization servers of upstreams know the gateway; 404 without one. */
export const upstreamClient: FastifyPluginAsyncTypebox<UpstreamClientOptions> = async (app, { document }) => {
  app.get(
    '/.well-known/oauth-client',
    {
      config: { access: 'public' },
      schema: {
        tags,
        operationId: 'getUpstreamClient',
        summary: 'Get the metadata of the gateway as OAuth client',
        response: { 200: ref(UpstreamClient), ...errorResponses(404) }
      }
    },
    (_request, reply) => {
      if (!document)
        throw new AppError(404, 'the gateway has no client metadata document: set TOWPATH_UPSTREAM_CLIENT_ID')
      void reply.header('cache-control', 'public, max-age=3600')
      return document
    }
  )
}

/** Routes of sign-ins at upstream authorization servers (http-contract.md#registration-input). */
export const upstreamOAuth: FastifyPluginAsyncTypebox = async (app) => {
  app.get(
    '/upstream_oauth/sessions/:id',
    {
      config,
      schema: {
        tags,
        operationId: 'getAuthorizationSession',
        summary: 'Get the state of a sign-in',
        params,
        response: { 200: ref(AuthorizationSession), ...errorResponses(404) }
      }
    },
    (request) => app.gateway.signIns.find(request.params.id)
  )

  app.post(
    '/upstream_oauth/sessions/:id/complete',
    {
      config,
      schema: {
        tags,
        operationId: 'completeAuthorization',
        summary: 'Complete a sign-in',
        description: 'Continues the registration or replacement that required the sign-in.',
        params,
        body: ref(AuthorizationAnswer),
        response: { 201: ref(RegisteredServer), ...errorResponses(404, 409, 502, 504) }
      }
    },
    async (request, reply) => {
      const { id } = request.params
      const server = await app.gateway.signIns.complete(callerOf(request), { id, ...request.body })
      return reply.code(201).send(withServer(server))
    }
  )
}
