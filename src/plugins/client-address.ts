import fp from 'fastify-plugin'
import type { FastifyRequest } from 'fastify'
import type { Config } from '../config/config.ts'
import { createAddressResolver, type AddressResolver } from '../domain/network/client-address.ts'

declare module 'fastify' {
  interface FastifyInstance {
    readonly clientAddresses: AddressResolver
  }
  interface FastifyRequest {
    /** Address of the client behind trusted proxies; limits, logs and the audit log use no other. */
    readonly address: string
  }
}

/** Decorates requests with `address`. Fastify's `trustProxy` would also take host and protocol from headers. */
export default fp<Pick<Config, 'trustedProxies'>>(
  async (app, { trustedProxies }) => {
    const addresses = createAddressResolver(trustedProxies)
    app.decorate('clientAddresses', addresses)
    app.decorateRequest('address', {
      getter(this: FastifyRequest) {
        return addresses.resolve(this.raw.socket.remoteAddress, this.headers['x-forwarded-for'])
      }
    })
  },
  { name: 'client-address' }
)
