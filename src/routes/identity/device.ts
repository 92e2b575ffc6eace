import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import {
  findClient,
  grantableScope,
  resourcesOf,
  saveGrant,
  type RequestParameters
} from '../../authorization-server/grants.ts'
import { paths, type AuthorizationServer } from '../../authorization-server/provider.ts'
import { networkOf } from '../../domain/network/client-address.ts'
import { createGuessLimit } from '../../http/guess-limit.ts'
import { sendMessagePage } from '../../http/page.ts'
import type { BrowserSession } from '../../identity/browser-sessions.ts'
import { AppError } from '../../lib/errors.ts'
import { Text } from '../../schemas/shared.ts'
import type { ApprovalCheck } from './client-approval.ts'
import { codePage, confirmationPage } from './device-page.ts'
import { parseForms } from './form-body.ts'
import { createPathTo, recordRefusal, requireLastingSession } from './sign-in-page.ts'

const config = { access: 'public', errorPage: 'The machine is not signed in' } as const
/** Wrong codes of one user, or from one address; a quarter of an hour after the last one it starts anew. */
const GUESSES = { allowed: 10, pauseMs: 15 * 60_000 }
const MAX_CODE = 64
const UNKNOWN = 'This code is not known, was used before, or has expired.'
/** Time in which a code is not accepted a second time; longer than it lives. */
const USED_MS = 3_600_000

const Code = Type.Object({ user_code: Type.Optional(Text()) }, { additionalProperties: true })
const Answer = Type.Object(
  { user_code: Text(), scope: Type.Optional(Text()), csrf: Type.Optional(Text()), answer: Type.Optional(Text()) },
  { additionalProperties: true }
)

/** The form is for the scopes that it shows: policies may change meanwhile. */
const formOf = (code: string, scope: string) => `device ${code} ${scope}`
const invalidForm = () =>
  new AppError(403, 'This form is not valid any more. Open the link that the machine shows again.')

export interface DeviceOptions {
  readonly serverOf: () => Promise<AuthorizationServer>
  readonly publicUrl: string
  readonly requireApproval: ApprovalCheck
}

/** Returns a code as the library stores it (RFC 8628 6.1), from any spelling. */
const normalize = (code: string) => code.slice(0, MAX_CODE).toUpperCase().replace(/\W/g, '')
const denormalize = (code: string) => `${code.slice(0, 4)}-${code.slice(4)}`

/** Pages on which a signed-in person signs in a machine without a browser (RFC 8628 3.3). */
export const device: FastifyPluginAsyncTypebox<DeviceOptions> = async (
  app,
  { serverOf, publicUrl, requireApproval }
) => {
  const identity = app.identity!
  const action = createPathTo(publicUrl)(paths.deviceCode)
  const guesses = createGuessLimit(GUESSES)
  parseForms(app)

  /** Finds the request of a machine. Rejects with a 429 AppError for who has guessed too often. */
  const find = async (request: FastifyRequest, { userId }: BrowserSession, code: string) => {
    const keys = [`user ${userId}`, `address ${networkOf(request.address)}`]
    const retryAfter = guesses.begin(keys)
    if (retryAfter !== undefined) throw new AppError(429, 'too many wrong codes were given; try later', { retryAfter })
    const { provider } = await serverOf()
    const found = await provider.DeviceCode.findByUserCode(code)
    const client = found?.clientId === undefined ? undefined : await findClient(provider, found.clientId)
    if (!found || !client || !found.isValid || found.accountId !== undefined || found.error !== undefined) {
      recordRefusal(app, request, 'a wrong code of a device')
      return undefined
    }
    guesses.forgive(keys)
    await requireApproval(client)
    const params = (found.params ?? {}) as RequestParameters
    return { provider, found, client, params, scope: grantableScope(params, app.gateway.policies.scopes()) }
  }
  const sessionOf = (request: FastifyRequest, reply: FastifyReply): BrowserSession | undefined => {
    const session = identity.sessionOf(request, reply)
    return session && !identity.isStale(session) ? session : undefined
  }

  app.get(paths.deviceCode, { config, schema: { querystring: Code } }, async (request, reply) => {
    const code = normalize(request.query.user_code ?? '')
    const session = sessionOf(request, reply)
    if (!session) {
      const query = code === '' ? '' : `?user_code=${denormalize(code)}`
      return reply.redirect(createPathTo(publicUrl)(identity.loginPath(`${paths.deviceCode}${query}`)), 303)
    }
    requireLastingSession(session)
    if (code === '') return codePage(reply, action)
    const asked = await find(request, session, code)
    if (!asked) return codePage(reply, action, UNKNOWN)
    const { client, found, scope } = asked
    const info = found.deviceInfo as { readonly ip?: string; readonly ua?: string } | undefined
    return confirmationPage(reply, {
      client,
      scope,
      code: denormalize(code),
      agent: info?.ua,
      address: info?.ip ?? 'unknown',
      session,
      csrf: identity.sessions.csrfToken(session, formOf(code, scope)),
      action
    })
  })

  const answerPage = (reply: FastifyReply, isApproved: boolean) =>
    isApproved
      ? sendMessagePage(reply, 'The machine is signed in', 'You can close this page and go back to it.')
      : sendMessagePage(reply, 'The machine is not signed in', 'It was refused. You can close this page.')

  app.post(paths.deviceCode, { config, schema: { body: Answer } }, async (request, reply) => {
    const code = normalize(request.body.user_code)
    const session = sessionOf(request, reply)
    const { scope = '', csrf } = request.body
    if (!session || !identity.sessions.hasCsrfToken(session, formOf(code, scope), csrf)) throw invalidForm()
    requireLastingSession(session)
    const asked = await find(request, session, code)
    if (!asked) return codePage(reply, action, UNKNOWN)
    const { provider, found, client, params } = asked
    if (asked.scope !== scope) throw invalidForm()
    const { clientId } = client
    const { userId, role, name } = session
    const isApproved = request.body.answer === 'allow'
    const change = {
      actor: { kind: role, name },
      action: isApproved ? 'oauth.consent' : 'oauth.refuse',
      target: clientId.slice(0, 256),
      address: request.address,
      requestId: request.id
    }
    const expiresAt = Math.ceil((Date.now() + USED_MS) / 1_000)
    await app.registry.write(change, async (tx) => {
      const isFirst = await tx.usedAssertions.use({ purpose: 'device code', issuer: publicUrl, id: code, expiresAt })
      if (!isFirst) throw new AppError(400, UNKNOWN)
    })
    if (isApproved) {
      const [resource] = resourcesOf(params)
      const grantId = await saveGrant(provider, { userId, clientId, params, scope })
      Object.assign(found, { accountId: userId, grantId, scope, ...(resource && { resource }) })
    } else Object.assign(found, { error: 'access_denied', errorDescription: 'the user refused' })
    await found.save()
    return answerPage(reply, isApproved)
  })
}
