import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { forbidden } from '../errors.ts'
import { failures } from '../schemas/shared.ts'

const routes = [
  ['GET', '/users', 'List users'],
  ['POST', '/users', 'Create a user'],
  ['GET', '/users/whoami', 'Who is asking'],
  ['PUT', '/users/:name', 'Rotate the token of a user'],
  ['DELETE', '/users/:name', 'Remove a user'],
  ['GET', '/clients', 'List MCP clients'],
  ['POST', '/clients', 'Create an MCP client'],
  ['GET', '/clients/:name', 'One MCP client'],
  ['PUT', '/clients/:name', 'Change an MCP client'],
  ['DELETE', '/clients/:name', 'Remove an MCP client']
] as const

/** Development mode has no users and clients (decisions "Enterprise mode"). */
export const principals: FastifyPluginAsyncTypebox = async (app) => {
  for (const [method, url, summary] of routes) {
    app.route({
      method,
      url,
      config: { access: url === '/users/whoami' ? 'user' : 'admin' },
      schema: { tags: ['enterprise mode'], summary, response: failures(403) },
      handler: () => {
        throw forbidden('only in enterprise mode')
      }
    })
  }
}
