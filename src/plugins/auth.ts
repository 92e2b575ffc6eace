import fp from 'fastify-plugin'
import type { FastifyRequest } from 'fastify'
import { forbidden } from '../errors.ts'
import { developmentCaller, type Caller } from '../gateway/gateway.ts'

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller | null
  }
  interface FastifyContextConfig {
    /** Who may call this route. A route that says nothing is for admins. */
    access?: 'public' | 'user' | 'admin' | 'client'
  }
}

/** The caller of a request that has passed this plugin's hook. */
export function callerOf(request: FastifyRequest): Caller {
  if (!request.caller) throw forbidden('no caller is known for this request')
  return request.caller
}

/** Development mode knows one caller, who may do everything (contract 5.1). */
export default fp(
  async (app) => {
    app.decorateRequest('caller', null)
    app.addHook('onRequest', async (request) => {
      request.caller = developmentCaller
    })
  },
  { name: 'auth', dependencies: ['guard'] }
)
