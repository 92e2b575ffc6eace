import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../../config/config.ts'
import { createFailedLogins } from '../../http/failed-logins.ts'
import { createLimit } from '../../http/rate-limit.ts'
import { createLocalAccounts } from '../../identity/local-accounts.ts'
import { AppError } from '../../lib/errors.ts'
import { Text } from '../../schemas/shared.ts'
import { checkStaticToken } from './break-glass.ts'
import { parseForms } from './form-body.ts'
import { invite } from './invite.ts'
import { sendLocalPage, type LocalPage } from './local-page.ts'
import {
  createPathTo,
  homePath,
  recordRefusal,
  returnPath,
  SIGN_IN_RATE,
  signInPage as config
} from './sign-in-page.ts'

const Query = Type.Object(
  { return: Type.Optional(Text()), password: Type.Optional(Text()) },
  { additionalProperties: true }
)
const Form = Type.Object(
  {
    token: Type.Optional(Text()),
    name: Type.Optional(Text()),
    password: Type.Optional(Text()),
    return: Type.Optional(Text())
  },
  { additionalProperties: true }
)

export type LocalSignInOptions = Pick<Config, 'auth' | 'publicUrl' | 'console'> & {
  readonly limits: Pick<Config['limits'], 'failedAuthentications'>
}

/** Sign-in without the OpenID provider: with a password, or with a static token (break-glass). */
export const localSignIn: FastifyPluginAsyncTypebox<LocalSignInOptions> = async (app, options) => {
  const { auth, publicUrl, limits } = options
  const identity = app.identity!
  const accounts = createLocalAccounts(() => app.registry)
  const failedLogins = createFailedLogins(app.log, limits.failedAuthentications)
  const limit = createLimit(SIGN_IN_RATE)
  const pathTo = createPathTo(publicUrl!)
  const home = homePath(options)
  parseForms(app)

  const sendForms = (reply: FastifyReply, status: number, returnTo: string, problem: LocalPage['problem']) =>
    sendLocalPage(reply, status, { auth, pathTo, returnTo, problem })
  /** Returns the id of the user; undefined if name or password is wrong. */
  const checkPassword = async (request: FastifyRequest, name: string, password: string) => {
    const { address, id: requestId } = request
    const { account, isRight } = await accounts.check(name, password, address)
    if (!account || !isRight) {
      // what was typed as a name may be a password
      recordRefusal(app, request, 'the name or the password is wrong', account?.name)
      return undefined
    }
    const actor = { kind: account.role, name: account.name }
    await app.registry.recordAction({ actor, action: 'session.start', target: account.name, address, requestId })
    return account.userId
  }

  app.get('/auth/local', { config, schema: { querystring: Query } }, async (request, reply) => {
    if (!auth.localSignIn && !auth.breakGlass) {
      throw new AppError(404, 'Signing in with a password or an access token is switched off.')
    }
    const { return: wanted, password } = request.query
    return sendLocalPage(reply, 200, {
      auth,
      pathTo,
      returnTo: returnPath(wanted, home),
      isPasswordSet: password === 'set'
    })
  })

  app.post('/auth/local', { config, schema: { body: Form } }, async (request, reply) => {
    const { token, name, password } = request.body
    const returnTo = returnPath(request.body.return, home)
    const goOn = () => reply.header('cache-control', 'no-store').redirect(pathTo(returnTo), 303)
    limit(request)
    if (token !== undefined) {
      if (!auth.breakGlass) throw new AppError(404, 'Signing in with an access token is switched off.')
      const found = await checkStaticToken(app, request, failedLogins, token)
      const text = 'This is not an access token that an administrator issued to a user.'
      if (!found) return sendForms(reply, 403, returnTo, { form: 'token', text })
      await identity.start(reply, found.userId, 'break_glass', found)
      return goOn()
    }
    if (!auth.localSignIn) throw new AppError(404, 'Signing in with a password is switched off.')
    const userId = await checkPassword(request, (name ?? '').trim(), password ?? '')
    const text = 'The name or the password is wrong.'
    if (userId === undefined) return sendForms(reply, 403, returnTo, { form: 'password', text })
    await identity.start(reply, userId, 'local')
    return goOn()
  })

  if (auth.localSignIn) await app.register(invite, { accounts, failedLogins, limit, pathTo })
}
