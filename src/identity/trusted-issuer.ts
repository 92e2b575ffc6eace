import type * as Jose from 'jose'
import { signingAlgorithms } from '../domain/access/signing-algorithms.ts'
import { isObject } from '../domain/is-object.ts'
import { isLoopback } from '../domain/network/loopback.ts'
import { AppError } from '../lib/errors.ts'
import { createKeySetFetch } from '../lib/key-set-fetch.ts'
import type { Claims } from './person.ts'

type Fetch = (url: string, init?: RequestInit) => Promise<Response>

/** Time after which the metadata is read again, and after which a failure is. */
const FRESH_MS = 3_600_000
const FAILED_MS = 30_000
const SKEW_S = 30

/** Issuer of tokens whose address an operator configured. */
export interface TrustedIssuer {
  readonly issuer: string
  /** Returns the metadata, read at most once an hour. Rejects if it cannot be read or names another issuer. */
  metadata(): Promise<Claims>
  /**
   * Verifies signature, issuer and times of a JWT, and what `options` ask for. The keys are read again after ten minutes
   * and for an unknown key, at most every 30 seconds. Rejects with an AppError: 400 with the reason for a token that is
   * refused, 503 while the keys cannot be read.
   */
  verify(token: string, options: IssuerRules): Promise<Jose.JWTVerifyResult>
}

/** Requirements of a token of the issuer besides its signature. */
export type IssuerRules = Pick<Jose.JWTVerifyOptions, 'audience' | 'typ' | 'maxTokenAge'> & {
  readonly requiredClaims: string[]
  readonly now: number
}

export interface TrustedIssuerOptions {
  readonly issuer: string
  /** Fetches within the egress policy, bounded in bytes and time. */
  readonly request: Fetch
  readonly now?: () => number
  readonly load?: () => Promise<typeof Jose>
}

const unavailable = (cause: unknown) =>
  new AppError(503, 'the keys of the identity provider cannot be read', { cause, retryAfter: 30 })

/** Addresses of the metadata: OpenID Connect Discovery 1.0, 4, then RFC 8414, 3. */
function addressesOf(issuer: string): readonly string[] {
  const { origin, pathname } = new URL(issuer)
  const path = pathname.replace(/\/$/, '')
  return [
    `${origin}${path}/.well-known/openid-configuration`,
    `${origin}/.well-known/oauth-authorization-server${path}`
  ]
}

async function readMetadata(issuer: string, request: Fetch): Promise<Claims> {
  for (const address of addressesOf(issuer)) {
    const answer = await request(address, { headers: { accept: 'application/json' } })
    if (answer.status !== 200) continue
    const document: unknown = await answer.json()
    if (!isObject(document) || document['issuer'] !== issuer) {
      throw new Error(`the metadata at ${address} does not name the issuer ${issuer}`)
    }
    return document
  }
  throw new Error(`${issuer} has no metadata`)
}

/** Keys must come from an authenticated server. */
function keySetAddress({ jwks_uri: given }: Claims): URL {
  const url = typeof given === 'string' && URL.canParse(given) ? new URL(given) : undefined
  if (url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname))) return url
  throw new Error('the metadata names no key set that may be read')
}

/** Creates the reader of an issuer's metadata and keys. */
export function createTrustedIssuer(options: TrustedIssuerOptions): TrustedIssuer {
  const { issuer, request, now = () => performance.now(), load = () => import('jose') } = options
  let known: { readonly document: Promise<Claims>; at: number; lifeMs: number } | undefined
  let keySet: { readonly url: string; readonly keys: Jose.JWTVerifyGetKey } | undefined
  const keySetFetch = createKeySetFetch((url, init) => request(url, init))

  const metadata = (): Promise<Claims> => {
    if (!known || now() - known.at > known.lifeMs) {
      const entry = { document: readMetadata(issuer, request), at: now(), lifeMs: FRESH_MS }
      known = entry
      entry.document.catch(() => Object.assign(entry, { at: now(), lifeMs: FAILED_MS }))
    }
    return known.document
  }
  const keys = async ({ createRemoteJWKSet, customFetch }: typeof Jose): Promise<Jose.JWTVerifyGetKey> => {
    const url = keySetAddress(await metadata())
    if (keySet?.url !== url.href) {
      const fetchKeys: Jose.FetchImplementation = (at, init) => keySetFetch(at, init)
      keySet = { url: url.href, keys: createRemoteJWKSet(url, { [customFetch]: fetchKeys }) }
    }
    return keySet.keys
  }
  return {
    issuer,
    metadata,
    async verify(token, { now: at, ...rules }) {
      const jose = await load()
      const find = await keys(jose).catch((error: unknown) => {
        throw unavailable(error)
      })
      const checked = {
        ...rules,
        issuer,
        algorithms: [...signingAlgorithms],
        clockTolerance: SKEW_S,
        currentDate: new Date(at)
      }
      return jose.jwtVerify(token, find, checked).catch((error: unknown) => {
        const { JOSEError, JWKSTimeout } = jose.errors
        const isRefused = error instanceof JOSEError && !(error instanceof JWKSTimeout)
        throw isRefused ? new AppError(400, error.message, { cause: error }) : unavailable(error)
      })
    }
  }
}
