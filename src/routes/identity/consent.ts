import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { BROWSER_PARAMETER } from '../../authorization-server/consent-policy.ts'
import { findClient, grantableScope, saveGrant, type RequestParameters } from '../../authorization-server/grants.ts'
import { paths, type AuthorizationServer } from '../../authorization-server/provider.ts'
import { AppError } from '../../lib/errors.ts'
import { Text } from '../../schemas/shared.ts'
import { consentPage } from './consent-page.ts'
import type { ApprovalCheck } from './client-approval.ts'
import { parseForms } from './form-body.ts'
import { createPathTo, requireLastingSession } from './sign-in-page.ts'

const config = { access: 'public', errorPage: 'The sign-in cannot go on' } as const

const UNKNOWN_CLIENT = 'The program that sent you here is not registered any more, or its document cannot be read now.'

export interface ConsentOptions {
  readonly serverOf: () => Promise<AuthorizationServer>
  readonly publicUrl: string
  readonly requireApproval: ApprovalCheck
}

/** Pages on which a signed-in user lets an OAuth client in, or refuses it. */
export const consent: FastifyPluginAsyncTypebox<ConsentOptions> = async (
  app,
  { serverOf, publicUrl, requireApproval }
) => {
  const identity = app.identity!
  const pathTo = createPathTo(publicUrl)
  parseForms(app)
  const Uid = Type.Object({ uid: Text() })
  const Answer = Type.Object(
    { csrf: Type.Optional(Text()), answer: Type.Optional(Text()) },
    { additionalProperties: true }
  )
  const detailsOf = async (request: FastifyRequest, reply: FastifyReply) => {
    const { provider } = await serverOf()
    const interaction = await provider.interactionDetails(request.raw, reply.raw).catch(() => undefined)
    // other hosts of the site can set the cookies of the library
    if (interaction && identity.browsersOf(request).includes(String(interaction.params[BROWSER_PARAMETER]))) {
      return { provider, interaction }
    }
    throw new AppError(
      400,
      'This sign-in was not started in this browser, or it took too long. Start again in the program that sent you here.'
    )
  }
  const scopeOf = (params: RequestParameters) => grantableScope(params, app.gateway.policies.scopes())
  // the form is for the scopes that it shows: policies may change meanwhile
  const formOf = (uid: string, scope: string) => `consent ${uid} ${scope}`
  const url = `${paths.interaction}/:uid`

  app.get(url, { config, schema: { params: Uid } }, async (request, reply) => {
    const { provider, interaction } = await detailsOf(request, reply)
    const session = identity.sessionOf(request, reply)
    if (!session || identity.isStale(session))
      return reply.redirect(pathTo(identity.loginPath(`${paths.interaction}/${request.params.uid}`)), 303)
    requireLastingSession(session)
    const client = await findClient(provider, String(interaction.params['client_id']))
    if (!client) throw new AppError(400, UNKNOWN_CLIENT)
    await requireApproval(client)
    const scope = scopeOf(interaction.params)
    const csrf = identity.sessions.csrfToken(session, formOf(interaction.uid, scope))
    return consentPage(reply, { client, interaction, scope, session, csrf })
  })

  app.post(url, { config, schema: { params: Uid, body: Answer } }, async (request, reply) => {
    const { provider, interaction } = await detailsOf(request, reply)
    const session = identity.sessionOf(request, reply)
    const isCurrent = session !== undefined && !identity.isStale(session)
    const scope = scopeOf(interaction.params)
    if (!isCurrent || !identity.sessions.hasCsrfToken(session, formOf(interaction.uid, scope), request.body.csrf)) {
      throw new AppError(403, 'This form is not valid any more. Start again in the program that sent you here.')
    }
    requireLastingSession(session)
    const { params } = interaction
    const clientId = String(params['client_id'])
    await requireApproval({ clientId })
    const isApproved = request.body.answer === 'allow'
    await app.registry.recordAction({
      actor: { kind: session.role, name: session.name },
      action: isApproved ? 'oauth.consent' : 'oauth.refuse',
      target: clientId.slice(0, 256),
      address: request.address,
      requestId: request.id
    })
    const redirect = async (result: Parameters<typeof provider.interactionResult>[2]) => {
      const to = await provider.interactionResult(request.raw, reply.raw, result, { mergeWithLastSubmission: false })
      return reply.header('cache-control', 'no-store').redirect(to, 303)
    }
    if (!isApproved) return redirect({ error: 'access_denied', error_description: 'the user refused' })
    const grantId = await saveGrant(provider, { userId: session.userId, clientId, params, scope })
    return redirect({ login: { accountId: session.userId, remember: false }, consent: { grantId } })
  })
}
