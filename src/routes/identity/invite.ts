import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FailedLogins } from '../../http/failed-logins.ts'
import { html, sendPage } from '../../http/page.ts'
import type { LocalAccounts } from '../../identity/local-accounts.ts'
import { passwordProblem } from '../../identity/passwords.ts'
import { AppError } from '../../lib/errors.ts'
import { Text } from '../../schemas/shared.ts'
import { parseForms } from './form-body.ts'
import { recordRefusal, signInPage } from './sign-in-page.ts'

const config = { ...signInPage, errorPage: 'The password was not set' } as const
const Code = Type.Object({ code: Type.Optional(Text()) }, { additionalProperties: true })
const Form = Type.Object(
  { code: Text(), password: Type.Optional(Text()), repeated: Type.Optional(Text()) },
  { additionalProperties: true }
)

export interface InviteOptions {
  readonly accounts: LocalAccounts
  readonly failedLogins: FailedLogins
  /** Throws a 429 AppError for too many requests. */
  readonly limit: (request: FastifyRequest) => void
  /** Puts the path of the public URL before a path. */
  readonly pathTo: (path: string) => string
}

/** Pages on which an invited person sets a password. Opening the link does not use it up: programs preview links. */
export const invite: FastifyPluginAsyncTypebox<InviteOptions> = async (app, options) => {
  const { accounts, failedLogins, limit, pathTo } = options
  parseForms(app)

  const userOf = async (request: FastifyRequest, code: string | undefined) => {
    try {
      return await accounts.invitedUser(code ?? '')
    } catch (error) {
      if (!(error instanceof AppError) || error.statusCode !== 400) throw error
      recordRefusal(app, request, 'the invitation is not valid')
      const retryAfter = failedLogins.record(request.address)
      if (retryAfter === undefined) throw error
      throw new AppError(429, 'Too many invitations that are not valid came from this address.', { retryAfter })
    }
  }
  const sendForm = (reply: FastifyReply, status: number, code: string, name: string, problem?: string) =>
    sendPage(reply, status, {
      title: 'Set your password',
      body: html`<p>You sign in as <strong>${name}</strong>. The password needs at least 12 characters.</p>
        ${problem === undefined ? undefined : html`<p class="error" role="alert">${problem}</p>`}
        <form method="post" action="${pathTo('/auth/invite')}">
          <input type="hidden" name="code" value="${code}" />
          <input type="text" name="username" value="${name}" autocomplete="username" hidden />
          <label for="password">Password</label>
          <input id="password" name="password" type="password" autocomplete="new-password" required autofocus />
          <label for="repeated">Password again</label>
          <input id="repeated" name="repeated" type="password" autocomplete="new-password" required />
          <button class="primary">Set the password</button>
        </form>`
    })

  app.get('/auth/invite', { config, schema: { querystring: Code } }, async (request, reply) => {
    limit(request)
    const { name } = await userOf(request, request.query.code)
    return sendForm(reply, 200, request.query.code!, name)
  })

  app.post('/auth/invite', { config, schema: { body: Form } }, async (request, reply) => {
    limit(request)
    const { code, password = '', repeated } = request.body
    const { name } = await userOf(request, code)
    const problem = password === repeated ? passwordProblem(password, name) : 'The two passwords differ.'
    if (problem !== undefined) return sendForm(reply, 400, code, name, problem)
    await accounts.setPassword(code, password, { address: request.address, requestId: request.id })
    return reply.header('cache-control', 'no-store').redirect(pathTo('/auth/local?password=set'), 303)
  })
}
