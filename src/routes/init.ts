import { timingSafeEqual } from 'node:crypto'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { readCredentials } from '../domain/credentials.ts'
import { AppError, unauthorized } from '../errors.ts'
import { hashToken } from '../gateway/principals.ts'
import { Initialized } from '../schemas/principal.ts'
import { failures, ref } from '../schemas/shared.ts'

export interface InitOptions {
  readonly mode: 'development' | 'enterprise'
  readonly initSecret: string | undefined
}

/** Hashes are compared: they are of one length, whatever was given. */
function isGiven(secret: string, { raw }: FastifyRequest): boolean {
  const credentials = readCredentials(raw.rawHeaders)
  return credentials.kind === 'token' && timingSafeEqual(hashToken(credentials.token), hashToken(secret))
}

/** Makes the first administrator of an enterprise gateway, once (decisions "Enterprise mode"). */
export const init: FastifyPluginAsyncTypebox<InitOptions> = async (app, { mode, initSecret }) => {
  app.post(
    '/init',
    {
      config: { access: 'public' },
      schema: {
        tags: ['system'],
        summary: 'Initialise enterprise mode',
        description:
          'Makes the first administrator; works once. Needs TOWPATH_INIT_SECRET as the Bearer token where that is set.',
        response: { 200: ref(Initialized), ...failures(401, 409, 415, 503) }
      }
    },
    async (request, reply) => {
      if (mode === 'development') throw new AppError(409, 'development mode needs no initialisation')
      if (initSecret !== undefined && !isGiven(initSecret, request)) {
        void reply.header('www-authenticate', 'Bearer')
        throw unauthorized('this needs the init secret: "Authorization: Bearer <secret>"')
      }
      const { address, id: requestId } = request
      const { access_token } = await app.gateway.initialize({ address, requestId })
      request.log.info({ request_id: requestId, address }, 'initialized')
      void reply.header('cache-control', 'no-store')
      return { status: 'initialized' as const, admin_access_token: access_token }
    }
  )
}
