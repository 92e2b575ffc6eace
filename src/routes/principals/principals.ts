import type { FastifyPluginAsync } from 'fastify'
import { ENTERPRISE_MODE_ONLY } from '../../domain/error-codes.ts'
import { forbidden } from '../../lib/errors.ts'
import { clients } from './clients.ts'
import { invitations, type InvitationOptions } from './invitations.ts'
import { me } from './me.ts'
import { registeredClients } from './registered-clients.ts'
import { identityProvider } from './identity-provider.ts'
import { signingKeys } from './signing-keys.ts'
import { signIns } from './sign-ins.ts'
import { teams } from './teams.ts'
import { users } from './users.ts'

export type PrincipalOptions = InvitationOptions & { readonly mode: 'development' | 'enterprise' }

/** Routes of users, clients, teams and the own account; absent in development mode (http-contract.md#clients-and-users). */
export const principals: FastifyPluginAsync<PrincipalOptions> = async (app, options) => {
  const { mode } = options
  if (mode === 'development') {
    app.addHook('onRequest', () => {
      throw forbidden('only in enterprise mode', ENTERPRISE_MODE_ONLY)
    })
  }
  await app.register(users)
  await app.register(invitations, options)
  await app.register(clients)
  await app.register(me)
  await app.register(teams)
  await app.register(signIns)
  await app.register(signingKeys)
  await app.register(identityProvider)
  await app.register(registeredClients)
}
