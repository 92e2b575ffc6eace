import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import type { Config } from '../../config/config.ts'
import { createLimit } from '../../http/rate-limit.ts'
import { createSignInRules } from '../../identity/admission.ts'
import type { LoginChecks } from '../../identity/openid-provider.ts'
import { SignInError } from '../../identity/person.ts'
import { refusePerson } from '../../identity/refused-people.ts'
import { createSealer } from '../../lib/sealed-text.ts'
import { Text } from '../../schemas/shared.ts'
import { backChannelLogout } from './back-channel-logout.ts'
import { localSignIn } from './local-sign-in.ts'
import { sessionPages } from './session-pages.ts'
import { createPathTo, homePath, recordRefusal, returnPath, SIGN_IN_RATE, signInPage } from './sign-in-page.ts'

const config = signInPage
const LOGIN_MS = 600_000

/** State of a sign-in at the provider, in a cookie of the browser that started it. */
interface PendingLogin extends LoginChecks {
  readonly returnTo: string
  /** Milliseconds since 1970. */
  readonly startedAt: number
}

const Login = Type.Object(
  { return: Type.Optional(Text()), with: Type.Optional(Text()) },
  { additionalProperties: true }
)
const Callback = Type.Object({ state: Type.Optional(Text()) }, { additionalProperties: true })

export type SignInOptions = Pick<Config, 'auth' | 'publicUrl' | 'console'> & {
  readonly limits: Pick<Config['limits'], 'failedAuthentications'>
}

/** Pages on which people sign in: at the OpenID provider, with a password, or with a static token (break-glass). */
export const signIn: FastifyPluginAsyncTypebox<SignInOptions> = async (app, options) => {
  const { auth, publicUrl } = options
  const { oidc } = auth
  const identity = app.identity!
  const sealer = () => createSealer(identity.keyFor('pending sign-ins'), 'pending sign-in')
  const pathTo = createPathTo(publicUrl!)
  const limits = { login: createLimit(SIGN_IN_RATE), callback: createLimit(SIGN_IN_RATE) }
  app.get('/auth/login', { config, schema: { querystring: Login } }, async (request, reply) => {
    limits.login(request)
    const returnTo = returnPath(request.query.return, homePath(options))
    const session = identity.sessionOf(request, reply)
    if (session && !identity.isStale(session)) return reply.redirect(pathTo(returnTo), 303)
    const hasChoice = auth.localSignIn && request.query.with !== 'provider'
    if (!identity.provider || hasChoice)
      return reply.redirect(pathTo(`/auth/local?${new URLSearchParams({ return: returnTo }).toString()}`), 303)
    const { url, checks } = await identity.provider.begin()
    const pending: PendingLogin = { ...checks, returnTo, startedAt: Date.now() }
    identity.setLoginCookie(reply, checks.state, sealer().seal(JSON.stringify(pending)))
    return reply.header('cache-control', 'no-store').redirect(url, 303)
  })

  const readPending = (request: FastifyRequest, state: string | undefined): PendingLogin => {
    const text = state === undefined ? undefined : identity.loginCookieOf(request, state)
    const opened = text === undefined ? undefined : sealer().open(text)
    const pending = opened === undefined ? undefined : (JSON.parse(opened) as PendingLogin)
    const isFresh = pending !== undefined && Date.now() - pending.startedAt < LOGIN_MS
    if (isFresh && pending.state === state) return pending
    throw new SignInError(400, 'This sign-in was not started in this browser, or it took too long. Start again.')
  }

  /** Rejects unless a state is used for the first time: each use costs a request to the provider. */
  const useUp = async ({ state, startedAt }: PendingLogin): Promise<void> => {
    const expiresAt = Math.ceil((startedAt + 2 * LOGIN_MS) / 1_000)
    const isFirst = await app.registry.usedAssertions.use({ purpose: 'sign-in', issuer: '', id: state, expiresAt })
    if (!isFirst) throw new SignInError(400, 'This sign-in was completed before. Start again.')
  }

  app.get('/auth/callback', { config, schema: { querystring: Callback } }, async (request, reply) => {
    limits.callback(request)
    if (!identity.provider || !oidc) throw new SignInError(400, 'No identity provider is configured.')
    const pending = readPending(request, request.query.state)
    identity.setLoginCookie(reply, pending.state, undefined)
    try {
      await useUp(pending)
      const query = request.url.includes('?') ? request.url.slice(request.url.indexOf('?')) : ''
      const { person, session } = await identity.provider.finish(new URL(`${publicUrl}/auth/callback${query}`), pending)
      const rules = createSignInRules(oidc, person)
      const change = {
        actor: { kind: 'system', name: 'sign-in' },
        action: 'session.start',
        target: person.name,
        address: request.address,
        requestId: request.id
      } as const
      const user = await app.registry
        .write(change, (tx) => tx.identities.signIn(person, rules))
        .catch(async (error: unknown) => {
          if (rules.hasRefused())
            await refusePerson(app.registry, person, { address: request.address, requestId: request.id })
          throw error
        })
      await identity.start(reply, user.id, 'oidc', { provided: { ...session, issuer: person.issuer } })
      return reply.header('cache-control', 'no-store').redirect(pathTo(pending.returnTo), 303)
    } catch (error) {
      if (error instanceof Error) recordRefusal(app, request, error.message)
      throw error
    }
  })

  await app.register(localSignIn, options)
  await app.register(sessionPages, options)
  await app.register(backChannelLogout)
}
