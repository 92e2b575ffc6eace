import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { Config } from '../../config/config.ts'
import { AppError } from '../../lib/errors.ts'
import { callerOf } from '../../plugins/auth.ts'
import { Invitation, InvitationInput } from '../../schemas/principal.ts'
import { errorResponses, ref } from '../../schemas/shared.ts'

export interface InvitationOptions {
  readonly auth: Pick<Config['auth'], 'localSignIn'>
  readonly publicUrl: Config['publicUrl']
}

/** Route that invites people who sign in with a password. */
export const invitations: FastifyPluginAsyncTypebox<InvitationOptions> = async (app, { auth, publicUrl }) => {
  app.post(
    '/users/:name/invite',
    {
      config: { access: 'admin' },
      schema: {
        tags: ['users'],
        operationId: 'inviteUser',
        summary: 'Invite a user to sign in with a password',
        description:
          'Answers a link that works once and for 48 hours; an earlier one stops working. Creates a user who does not exist, without an access token. With a user who has a password, it replaces a forgotten one. Needs `TOWPATH_LOCAL_SIGN_IN=on`.',
        params: Type.Object({ name: Type.String({ format: 'name' }) }),
        body: ref(InvitationInput),
        response: { 201: ref(Invitation), ...errorResponses(404, 409) }
      }
    },
    async (request, reply) => {
      if (!auth.localSignIn) {
        throw new AppError(409, 'people cannot sign in with a password here; set TOWPATH_LOCAL_SIGN_IN=on')
      }
      const { users } = app.gateway.principals
      const made = await users.invite(callerOf(request), request.params.name, request.body.role)
      const { name, role, isNew, code, expiresAt } = made
      return reply.code(201).send({
        name,
        role,
        ...(isNew && { created: true as const }),
        url: `${publicUrl}/auth/invite?${new URLSearchParams({ code }).toString()}`,
        expires_at: expiresAt.toISOString()
      })
    }
  )
}
