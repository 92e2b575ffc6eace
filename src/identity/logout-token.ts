import type * as Jose from 'jose'
import { isObject } from '../domain/is-object.ts'
import { AppError } from '../lib/errors.ts'
import type { ProviderMetadata } from './openid-provider.ts'
import { signingAlgorithms } from '../domain/access/signing-algorithms.ts'

const EVENT = 'http://schemas.openid.net/event/backchannel-logout'
/** Age at which a token is refused, in seconds; its `jti` is remembered for longer. */
export const LOGOUT_TOKEN_S = 300
const SKEW_S = 30
const MAX_TOKEN = 16_384
const MAX_TEXT = 1_024
/** Older providers send the general type, or none. A token of another kind has no logout event. */
const types = new Set([undefined, 'jwt', 'logout+jwt', 'application/logout+jwt'])

/** Verified notice of the provider that a session, or all of a person, have ended there. */
export interface LogoutNotice {
  readonly issuer: string
  readonly id: string
  /** Id of the session at the provider; undefined: all sessions of the subject. */
  readonly sid: string | undefined
  readonly subject: string | undefined
}

export interface LogoutTokenOptions {
  readonly clientId: string
  /** Returns the metadata of the provider. */
  readonly metadata: () => Promise<ProviderMetadata>
  readonly request: (url: string, init: RequestInit) => Promise<Response>
  readonly load?: () => Promise<typeof Jose>
}

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' && value.length <= MAX_TEXT ? value : undefined

const invalid = (reason: string) => new AppError(400, `the logout token is not valid: ${reason}`)
const unavailable = (cause?: unknown) =>
  new AppError(503, 'the keys of the identity provider cannot be read', { cause, retryAfter: 30 })
/** Codes of jose for key sets that could not be fetched. */
const keySetFailures = new Set(['ERR_JWKS_TIMEOUT', 'ERR_JOSE_GENERIC'])

function noticeOf(payload: Jose.JWTPayload): LogoutNotice {
  const { iss, jti, sub, sid, events, nonce } = payload
  const id = textOf(jti)
  const [subject, session] = [textOf(sub), textOf(sid)]
  if (nonce !== undefined) throw invalid('a logout token has no nonce')
  if (!isObject(events) || !isObject(events[EVENT])) throw invalid('the logout event is missing')
  if (id === undefined) throw invalid('the jti is missing')
  if (subject === undefined && session === undefined) throw invalid('the subject and the session are missing')
  return { issuer: iss!, id, sid: session, subject }
}

/**
 * Returns a function that verifies logout tokens (OpenID Connect Back-Channel Logout 1.0, 2.6). It rejects with an
 * AppError: 400 if a token is not valid, 503 if the keys of the provider cannot be read.
 */
export function createLogoutTokens({ clientId, metadata, request, load }: LogoutTokenOptions) {
  let known: { readonly url: string; readonly keys: Jose.JWTVerifyGetKey } | undefined
  return async (token: string): Promise<LogoutNotice> => {
    if (token.length > MAX_TOKEN) throw invalid('the token is too long')
    const jose = await (load ?? (() => import('jose')))()
    const { issuer, jwks_uri: url, id_token_signing_alg_values_supported: announced } = await metadata()
    if (url === undefined) throw unavailable()
    if (known?.url !== url) {
      const customFetch: Jose.FetchImplementation = (at, init) => request(at, init)
      // keys are read again for an unknown id, at most every 30 seconds
      known = { url, keys: jose.createRemoteJWKSet(new URL(url), { [jose.customFetch]: customFetch }) }
    }
    const { keys } = known
    const options = {
      issuer,
      audience: clientId,
      algorithms: signingAlgorithms.filter((name) => (announced ?? ['RS256']).includes(name)),
      clockTolerance: SKEW_S,
      maxTokenAge: LOGOUT_TOKEN_S,
      requiredClaims: ['iat', 'jti', 'events']
    }
    const { payload, protectedHeader } = await jose.jwtVerify(token, keys, options).catch((error: unknown) => {
      const isToken = error instanceof jose.errors.JOSEError && !keySetFailures.has(error.code)
      throw isToken ? invalid(error.message) : unavailable(error)
    })
    if (!types.has(protectedHeader.typ?.toLowerCase())) throw invalid('the type of the token is another one')
    return noticeOf(payload)
  }
}
