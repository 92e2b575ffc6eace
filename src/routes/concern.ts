import type { FastifyPluginAsync, FastifyTypeProvider, RawServerDefault } from 'fastify'
import fp from 'fastify-plugin'

/**
 * Makes the routes of one concern a named plugin, which Fastify refuses to register before the registry and the gateway
 * are decorated onto the app. Its hooks and parsers apply to its own routes only.
 */
export const concern = <Options extends object, Provider extends FastifyTypeProvider>(
  name: string,
  routes: FastifyPluginAsync<Options, RawServerDefault, Provider>
): FastifyPluginAsync<Options, RawServerDefault, Provider> =>
  fp(routes, { name, dependencies: ['registry', 'gateway'], encapsulate: true })
