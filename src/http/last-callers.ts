import type { FastifyRequest } from 'fastify'
import type { Access } from '../domain/access/access.ts'
import { createCredentialMemo, type HashedCredentials } from './connection-credentials.ts'

/** Caller whom a route has admitted. */
export interface Admitted<Caller> {
  readonly caller: Caller
  readonly access: Access
}

type LastCaller<Caller> = Admitted<Caller> & Pick<FastifyRequest, 'method' | 'url'>

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
  const memo = createCredentialMemo<LastCaller<Caller>>(catalog)
  return {
    find(credentials, { method, url }) {
      if (credentials.kind !== 'token') return undefined
      const last = memo.find(credentials)
      return last?.url === url && last.method === method ? last : undefined
    },
    keep(credentials, { method, url, is404 }, { caller, access }) {
      if (!is404 && credentials.kind === 'token') memo.keep(credentials, { caller, access, method, url })
    }
  }
}
