import fp from 'fastify-plugin'
import type { FastifyRequest } from 'fastify'
import type { Siblings } from '../http/siblings.ts'
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

export interface ClientAddressOptions extends Pick<Config, 'trustedProxies'> {
  /** Knows the peers of forwarded requests; null if this process serves its port alone. */
  readonly siblings: Pick<Siblings, 'peerOf'> | null
}

/** Decorates requests with `address`. Fastify's `trustProxy` would also take host and protocol from headers. */
export default fp<ClientAddressOptions>(
  async (app, { trustedProxies, siblings }) => {
    const addresses = createAddressResolver(trustedProxies)
    app.decorate('clientAddresses', addresses)
    app.decorateRequest('address', {
      getter(this: FastifyRequest) {
        const peer = siblings ? siblings.peerOf(this.raw) : this.raw.socket.remoteAddress
        return addresses.resolve(peer, this.headers['x-forwarded-for'])
      }
    })
  },
  { name: 'client-address' }
)
