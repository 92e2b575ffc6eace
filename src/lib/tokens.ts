import { hash, randomBytes } from 'node:crypto'

/** New access token, returned once. */
export interface IssuedToken {
  readonly access_token: string
}

/** Hashes a token for storage. Tokens are random and long, so a fast hash is enough (security-model.md#tokens). */
export const hashToken = (token: string): Buffer => hash('sha256', token, 'buffer')

export const newToken = (): string => `twp_${randomBytes(32).toString('base64url')}`
