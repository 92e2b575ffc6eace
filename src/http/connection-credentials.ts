import type { IncomingMessage } from 'node:http'
import { authorizationIn, credentialsIn, type Credentials } from '../domain/credentials.ts'
import { hashToken } from '../lib/tokens.ts'

/** Access token of a request with its SHA-256. */
export interface HashedToken {
  readonly kind: 'token'
  readonly token: string
  readonly hash: Buffer
}

/** Credentials of a request; a token comes with its hash. */
export type HashedCredentials = HashedToken | Exclude<Credentials, { kind: 'token' }>

interface Known {
  readonly authorization: string
  readonly credentials: HashedCredentials
}

const withHash = (credentials: Credentials): HashedCredentials =>
  credentials.kind === 'token' ? { ...credentials, hash: hashToken(credentials.token) } : credentials

/** Reads the credentials of a request. */
export type CredentialReader = (request: Pick<IncomingMessage, 'rawHeaders' | 'socket'>) => HashedCredentials

/**
 * Creates a reader of credentials. The clients of a connection send the same header with each request: the last one of
 * each connection is parsed and hashed once, which takes a tenth of the time of a call.
 */
export function createCredentialReader(): CredentialReader {
  const byConnection = new WeakMap<object, Known>()
  return ({ rawHeaders, socket }) => {
    const authorization = authorizationIn(rawHeaders)
    if (typeof authorization !== 'string') return authorization
    const known = byConnection.get(socket)
    if (known?.authorization === authorization) return known.credentials
    const credentials = withHash(credentialsIn(authorization))
    byConnection.set(socket, { authorization, credentials })
    return credentials
  }
}

/** Time for which a value is kept: the expiry of its token is not checked meanwhile. */
const KEPT_MS = 250

/** Values that were found for the tokens of connections. */
export interface CredentialMemo<T> {
  /** Returns the value of a token; undefined if it has to be found anew. */
  find(credentials: HashedToken): T | undefined
  keep(credentials: HashedToken, value: T): void
}

/**
 * Keeps values for the next requests of a connection, until the catalog changes, and for 250 ms at most. `catalog`:
 * returns the identity of the one in which callers are found at this moment.
 */
export function createCredentialMemo<T>(catalog: () => object): CredentialMemo<T> {
  // the credentials of a connection are one object for as long as its header stays the same
  const kept = new WeakMap<HashedToken, { readonly value: T; readonly catalog: object; readonly foundAt: number }>()
  return {
    find(credentials) {
      const last = kept.get(credentials)
      // first: nothing is kept before there is a catalog
      if (!last) return undefined
      const isCurrent = last.catalog === catalog() && performance.now() - last.foundAt < KEPT_MS
      return isCurrent ? last.value : undefined
    },
    keep(credentials, value) {
      kept.set(credentials, { value, catalog: catalog(), foundAt: performance.now() })
    }
  }
}
