import fp from 'fastify-plugin'
import type { FastifyRequest } from 'fastify'
import type { Config } from '../config.ts'
import { createClientAddresses, type ClientAddresses } from '../domain/client-address.ts'

declare module 'fastify' {
  interface FastifyInstance {
    readonly clientAddresses: ClientAddresses
  }
  interface FastifyRequest {
    /** Address of the client, past trusted proxies: the only one that limits, logs and the audit log use. */
    readonly address: string
  }
}

/** Gives requests their `address`. Fastify's own `trustProxy` would take Host and protocol from headers as well. */
export default fp<Pick<Config, 'trustedProxies'>>(
  async (app, { trustedProxies }) => {
    const addresses = createClientAddresses(trustedProxies)
    app.decorate('clientAddresses', addresses)
    app.decorateRequest('address', {
      getter(this: FastifyRequest) {
        return addresses.of(this.raw.socket.remoteAddress, this.headers['x-forwarded-for'])
      }
    })
  },
  { name: 'client-address' }
)
