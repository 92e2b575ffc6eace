import type { FastifyRequest } from 'fastify'
import type { HashedCredentials, HashedToken } from './connection-credentials.ts'

/** Time for which the expiry of a token is not checked again. */
const KEPT_MS = 50

interface LastCaller<Caller> extends Pick<FastifyRequest, 'method' | 'url'> {
  readonly caller: Caller
  readonly catalog: object
  readonly foundAt: number
}

/**
 * Callers of the last requests of connections. The next request with the same token, method and URL is admitted as the
 * same caller, unless the catalog has changed.
 */
export interface LastCallers<Caller> {
  /** Returns the caller whom the route admitted with the last request; undefined if it has to be found anew. */
  find(credentials: HashedCredentials, request: FastifyRequest): Caller | undefined
  /** Keeps a caller whom a route has admitted. */
  keep(credentials: HashedCredentials, request: FastifyRequest, caller: Caller): void
}

/** `catalog`: returns the identity of the one in which callers are found at this moment. */
export function createLastCallers<Caller>(catalog: () => object): LastCallers<Caller> {
  // the credentials of a connection are one object for as long as its header stays the same
  const kept = new WeakMap<HashedToken, LastCaller<Caller>>()
  return {
    find(credentials, { method, url }) {
      if (credentials.kind !== 'token') return undefined
      const last = kept.get(credentials)
      const isSame = last?.url === url && last.method === method && last.catalog === catalog()
      return isSame && performance.now() - last.foundAt < KEPT_MS ? last.caller : undefined
    },
    keep(credentials, { method, url, is404 }, caller) {
      if (is404 || credentials.kind !== 'token') return
      kept.set(credentials, { caller, method, url, catalog: catalog(), foundAt: performance.now() })
    }
  }
}
