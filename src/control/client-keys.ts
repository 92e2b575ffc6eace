import { createPublicKey, type JsonWebKey } from 'node:crypto'
import { keySetProblem, toKeySet, type KeySet, type PublicJwk } from '../domain/access/client-keys.ts'
import { isLoopback } from '../domain/network/loopback.ts'
import { invalid } from '../lib/errors.ts'
import type { ClientConfig } from '../registry/model/model.ts'

/** Public keys of an MCP client as given: null removes them, undefined leaves them as they are. */
export interface KeysInput {
  readonly jwks?: object | null | undefined
  readonly jwks_uri?: string | null | undefined
}

const curves = new Set(['P-256', 'P-384', 'P-521', 'Ed25519'])
/** Smallest RSA key that is safe, and the largest that is cheap to use (RFC 7518 3.3). */
const RSA_BITS = { min: 2_048, max: 8_192 } as const

/** Throws a 400 AppError unless the numbers are a public key of a sufficient size. */
function checkKey(key: PublicJwk): void {
  if (key['crv'] !== undefined && !curves.has(key['crv'])) {
    throw invalid(`"jwks": "crv" must be one of ${[...curves].join(', ')}`)
  }
  const bits = modulusLength(key)
  if (key['kty'] === 'RSA' && (bits < RSA_BITS.min || bits > RSA_BITS.max)) {
    throw invalid(`"jwks": an RSA key must have ${RSA_BITS.min} to ${RSA_BITS.max} bits`)
  }
}

function modulusLength(key: PublicJwk): number {
  try {
    return createPublicKey({ key: key as JsonWebKey, format: 'jwk' }).asymmetricKeyDetails?.modulusLength ?? 0
  } catch {
    throw invalid('"jwks": a key is not valid')
  }
}

function parseKeySet(value: object): KeySet {
  const problem = keySetProblem(value)
  if (problem !== undefined) throw invalid(`"jwks": ${problem}`)
  const set = toKeySet(value as KeySet)
  set.keys.forEach(checkKey)
  return set
}

function checkAddress(address: string): void {
  const url = URL.canParse(address) ? new URL(address) : undefined
  const isSecure = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname))
  if (isSecure && !url!.username && !url!.password && !url!.hash) return
  throw invalid('"jwks_uri" must be an https:// URL (http:// for a loopback address) without user and fragment')
}

/**
 * Returns the changed columns for public keys as given; new keys of one kind replace those of the other. Throws a 400
 * AppError, for confidential keys too.
 */
export function parseKeys({ jwks, jwks_uri }: KeysInput): Partial<Pick<ClientConfig, 'jwks' | 'jwks_uri'>> {
  if (jwks && jwks_uri) throw invalid('"jwks" and "jwks_uri" must not both be given')
  if (jwks) return { jwks: parseKeySet(jwks), jwks_uri: null }
  if (jwks_uri) {
    checkAddress(jwks_uri)
    return { jwks: null, jwks_uri }
  }
  return { ...(jwks === null && { jwks: null }), ...(jwks_uri === null && { jwks_uri: null }) }
}
