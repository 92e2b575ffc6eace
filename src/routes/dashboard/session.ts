import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Config } from '../../config/config.ts'
import { accessProblem } from '../../domain/access/access.ts'
import { VERSION } from '../../domain/version.ts'
import { userIdOf } from '../../control/own-account.ts'
import { callerOf } from '../../plugins/auth.ts'
import { ConsoleSession } from '../../schemas/dashboard/session.ts'

/** Administrators who are named to somebody who lacks a right. */
const MAX_ADMINISTRATORS = 5

export interface SessionOptions {
  readonly publicUrl: string
  readonly auth: Pick<Config['auth'], 'localSignIn' | 'breakGlass' | 'dcr'>
  readonly stdio: Pick<Config['stdio'], 'enabled'>
}

/** `GET /session`: who looks at the console, and what they may do. */
export const session: FastifyPluginAsyncTypebox<SessionOptions> = async (app, { publicUrl, auth, stdio }) => {
  app.get(
    '/session',
    { config: { access: 'self' }, schema: { response: { 200: ConsoleSession } } },
    (request, reply) => {
      const caller = callerOf(request)
      const { people, principals } = app.gateway
      const opened = caller.signIn?.kind === 'session' ? app.identity!.sessionOf(request, reply) : undefined
      const may = (access: 'call' | 'auditor' | 'admin') => accessProblem(caller, access) === undefined
      return {
        mode: 'enterprise' as const,
        version: VERSION,
        public_url: publicUrl,
        name: caller.name,
        role: caller.kind as 'admin' | 'auditor' | 'user',
        teams: [...people.membershipsOf(userIdOf(caller)).teams],
        ...(opened
          ? {
              method: opened.method,
              expires_at: new Date(opened.expiresAt).toISOString(),
              csrf_token: app.identity!.sessions.csrfToken(opened, 'api')
            }
          : {}),
        may: { call: may('call'), audit: may('auditor'), administer: may('admin') },
        sign_in: { password: auth.localSignIn, static_token: auth.breakGlass },
        stdio: stdio.enabled,
        approves_clients: auth.dcr === 'approve',
        administrators: principals.activeAdministrators(MAX_ADMINISTRATORS)
      }
    }
  )
}
