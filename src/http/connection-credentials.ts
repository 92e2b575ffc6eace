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
