import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { AppError, invalid } from '../../lib/errors.ts'
import { callerOf } from '../../plugins/auth.ts'
import { SignInSession } from '../../schemas/dashboard/oauth.ts'
import { errorResponses, Text } from '../../schemas/shared.ts'
import { sendMessagePage } from '../../http/page.ts'

const config = { access: 'admin' } as const

/** Query of the redirect (RFC 6749 4.1.2, RFC 9207); other parameters are ignored. */
const Callback = Type.Object({
  code: Type.Optional(Text()),
  state: Type.Optional(Text()),
  iss: Type.Optional(Text()),
  error: Type.Optional(Text()),
  error_description: Type.Optional(Text())
})

const closePageText = 'You can close this page and go back to the dashboard.'

/** OAuth callback and status of sign-ins. The callback page contains no script and no link. */
export const oauth: FastifyPluginAsyncTypebox = async (app) => {
  const fail = ({ headers }: FastifyRequest, reply: FastifyReply, error: unknown) => {
    // only a browser navigation accepts HTML
    if (!(error instanceof AppError) || !headers.accept?.includes('text/html')) throw error
    return sendMessagePage(
      reply.code(error.statusCode),
      'The sign-in was not completed',
      `${error.message}. ${closePageText}`
    )
  }

  app.get('/oauth/callback', { config, schema: { querystring: Callback } }, async (request, reply) => {
    const { code, state, iss, error, error_description } = request.query
    const caller = callerOf(request)
    const named = iss === undefined ? {} : { iss }
    try {
      if (state === undefined || (code === undefined && error === undefined)) {
        throw invalid('this is not the answer of an authorization server: "state", or "code", is missing')
      }
      if (error !== undefined) {
        const description = error_description === undefined ? {} : { description: error_description }
        await app.gateway.signIns.refuse({ state, error, ...description, ...named })
        return await sendMessagePage(reply, 'The sign-in was refused', `Nothing was registered. ${closePageText}`)
      }
      const { name } = await app.gateway.signIns.complete(caller, { code: code!, state, ...named })
      return await sendMessagePage(reply, 'Signed in', `The server ${name} is connected. ${closePageText}`)
    } catch (failure) {
      return fail(request, reply, failure)
    }
  })

  app.get(
    '/oauth/session/:id',
    {
      config,
      schema: {
        params: Type.Object({ id: Text({ minLength: 1 }) }),
        response: { 200: SignInSession, ...errorResponses(400, 404, 414, 503) }
      }
    },
    (request) => app.gateway.signIns.find(request.params.id)
  )
}
