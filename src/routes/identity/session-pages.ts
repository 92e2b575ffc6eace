import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyReply } from 'fastify'
import type { Config } from '../../config/config.ts'
import { html, sendPage } from '../../http/page.ts'
import { createLimit } from '../../http/rate-limit.ts'
import { AppError } from '../../lib/errors.ts'
import { Text } from '../../schemas/shared.ts'
import { parseForms } from './form-body.ts'
import { createPathTo, homePath, SIGN_IN_RATE, signInPage as config } from './sign-in-page.ts'

const LogoutForm = Type.Object({ csrf: Type.Optional(Text()) }, { additionalProperties: true })

/** Pages of the own browser session: what it is, and how to end it. */
export const sessionPages: FastifyPluginAsyncTypebox<Pick<Config, 'publicUrl' | 'console'>> = async (app, options) => {
  const { publicUrl } = options
  const identity = app.identity!
  const pathTo = createPathTo(publicUrl!)
  const limit = createLimit(SIGN_IN_RATE)
  parseForms(app)

  app.get('/auth/session', { config, schema: {} }, async (request, reply) => {
    const session = identity.sessionOf(request, reply)
    if (!session) return reply.redirect(pathTo(identity.loginPath('/auth/session')), 303)
    const ends = new Date(session.expiresAt).toISOString().replace('T', ' ').slice(0, 16)
    return sendPage(reply, 200, {
      title: 'You are signed in',
      body: html`<dl>
          <dt>User</dt>
          <dd>${session.name}</dd>
          <dt>Role</dt>
          <dd>${session.role}</dd>
          <dt>Until</dt>
          <dd>${ends} UTC</dd>
        </dl>
        ${options.console ? html`<p><a href="${pathTo('/console/')}">Open the console</a></p>` : undefined}
        <form method="post" action="${pathTo('/auth/logout')}">
          <input type="hidden" name="csrf" value="${identity.sessions.csrfToken(session, 'logout')}" />
          <button>Sign out</button>
        </form>`
    })
  })

  const logFailure = (err: unknown): void => {
    app.log.warn({ err }, 'a person could not be signed out at the provider')
  }
  const signedOut = (reply: FastifyReply) =>
    sendPage(reply, 200, {
      title: 'You are signed out',
      body: html`<p>You can close this page.</p>
        <p><a href="${pathTo(identity.loginPath(homePath(options)))}">Sign in again</a></p>`
    })

  // the provider leads back to this page
  app.get('/auth/logout', { config, schema: {} }, async (request, reply) => {
    limit(request)
    return identity.sessionOf(request, reply) ? reply.redirect(pathTo('/auth/session'), 303) : signedOut(reply)
  })

  app.post('/auth/logout', { config, schema: { body: LogoutForm } }, async (request, reply) => {
    limit(request)
    const session = identity.sessionOf(request, reply)
    if (session && !identity.sessions.hasCsrfToken(session, 'logout', request.body.csrf)) {
      throw new AppError(403, 'This form is not valid any more. Open the page again.')
    }
    await identity.end(request, reply)
    // the provider may be down: the person is signed out here anyway
    const to = session && (await identity.providerLogoutUrl(session).catch(logFailure))
    if (typeof to === 'string') return reply.header('cache-control', 'no-store').redirect(to, 303)
    return signedOut(reply)
  })
}
