import fp from 'fastify-plugin'
import type { FastifyRequest, RouteOptions } from 'fastify'
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

/** Development mode knows one caller, who may do everything (contract 5.1). A route that forgets its access stops the start. */
export default fp(
  async (app) => {
    const routes: RouteOptions[] = []
    app.addHook('onRoute', (route) => {
      routes.push(route)
    })
    app.addHook('onReady', async () => {
      const silent = routes.filter(({ config }) => !config?.access).map(({ method, url }) => `${String(method)} ${url}`)
      if (silent.length > 0) throw new Error(`routes that do not say who may call them: ${silent.join(', ')}`)
    })

    app.decorateRequest('caller', null)
    app.addHook('onRequest', (request, _reply, done) => {
      request.caller = developmentCaller
      done()
    })
  },
  { name: 'auth', dependencies: ['guard'] }
)
