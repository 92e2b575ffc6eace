import type { FastifyRequest } from 'fastify'
import type { Access } from '../domain/access/access.ts'
import type { HashedCredentials, HashedToken } from './connection-credentials.ts'

/** Time for which the expiry of a token is not checked again. */
const KEPT_MS = 250

/** Caller whom a route has admitted. */
export interface Admitted<Caller> {
  readonly caller: Caller
  readonly access: Access
}

interface LastCaller<Caller> extends Admitted<Caller>, Pick<FastifyRequest, 'method' | 'url'> {
  readonly catalog: object
  readonly foundAt: number
}

/**
 * Callers of the last requests of connections. The next request with the same token, method and URL is admitted as the
 * same caller, unless the catalog has changed.
 */
export interface LastCallers<Caller> {
  /** Returns the caller whom the route admitted with the last request; undefined if it has to be found anew. */
  find(credentials: HashedCredentials, request: FastifyRequest): Admitted<Caller> | undefined
  keep(credentials: HashedCredentials, request: FastifyRequest, admitted: Admitted<Caller>): void
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
      return isSame && performance.now() - last.foundAt < KEPT_MS ? last : undefined
    },
    keep(credentials, { method, url, is404 }, { caller, access }) {
      if (is404 || credentials.kind !== 'token') return
      kept.set(credentials, { caller, access, method, url, catalog: catalog(), foundAt: performance.now() })
    }
  }
}
