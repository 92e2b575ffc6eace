import type { FastifyPluginAsync } from 'fastify'
import { ENTERPRISE_MODE_ONLY } from '../../domain/error-codes.ts'
import { forbidden } from '../../lib/errors.ts'
import { clients } from './clients.ts'
import { me } from './me.ts'
import { policies } from '../policies/policies.ts'
import { users } from './users.ts'

/** Routes of users, clients, policies and the own account; absent in development mode (http-contract.md#clients-and-users). */
export const principals: FastifyPluginAsync<{ mode: 'development' | 'enterprise' }> = async (app, { mode }) => {
  if (mode === 'development') {
    app.addHook('onRequest', () => {
      throw forbidden('only in enterprise mode', ENTERPRISE_MODE_ONLY)
    })
  }
  await app.register(users)
  await app.register(clients)
  await app.register(me)
  await app.register(policies)
}
