import { createHash } from 'node:crypto'
import type { KeySet } from './client-keys.ts'

/** Claim of access tokens that an MCP client gets as itself: its permanent id. */
export const CLIENT_CLAIM = 'mcp_client'

/** Credentials of an MCP client. */
export interface ClientCredentials {
  /** Permanent id of the client. */
  readonly id: string
  readonly tokens: readonly { readonly hash: Uint8Array }[]
  readonly jwks: KeySet | null
  readonly jwks_uri: string | null
}

/** Returns a digest that differs as soon as another token or other keys are registered. */
export function credentialsDigest({ id, tokens, jwks, jwks_uri }: ClientCredentials): Buffer {
  const hashes = tokens.map(({ hash }) => Buffer.from(hash).toString('hex'))
  return createHash('sha256')
    .update(JSON.stringify([id, hashes, jwks, jwks_uri]))
    .digest()
}
