import type * as Jose from 'jose'
import { AppError } from '../lib/errors.ts'
import type { Claims } from './person.ts'
import type { TrustedIssuer } from './trusted-issuer.ts'

/** Longest life of an assertion, for which its id has to be remembered. */
const MAX_LIFE_S = 3_600
const MAX_ASSERTION = 16_384
const MAX_TEXT = 2_048

/** Verified Identity Assertion JWT Authorization Grant. */
export interface IdJag {
  readonly issuer: string
  readonly id: string
  readonly clientId: string
  /** Endpoint as the assertion names it. */
  readonly resource: string
  /** Undefined: the assertion names none. */
  readonly scopes: readonly string[] | undefined
  /** Seconds since 1970. */
  readonly expiresAt: number
  readonly claims: Claims
}

/** Returns an assertion that is valid for this gateway. Rejects with an AppError: 400 if it is not, 503 without keys. */
export type VerifyIdJag = (assertion: string) => Promise<IdJag>

export interface IdJagOptions {
  /** The gateway's own issuer. */
  readonly audience: string
  readonly issuers: readonly TrustedIssuer[]
  readonly now?: () => number
  readonly load?: () => Promise<typeof Jose>
}

const refused = (reason: string, cause?: unknown) => new AppError(400, `the assertion is refused: ${reason}`, { cause })

const textOf = (value: unknown, name: string): string => {
  if (typeof value === 'string' && value !== '' && value.length <= MAX_TEXT) return value
  throw refused(`"${name}" must be a text`)
}

/** One text, or an array of one: an assertion for several is for none of them alone. */
const onlyOf = (value: unknown, name: string): string =>
  textOf(Array.isArray(value) && value.length === 1 ? value[0] : value, name)

function toIdJag(payload: Jose.JWTPayload): IdJag {
  const { iss, jti, exp, aud, scope, client_id: clientId, resource } = payload
  onlyOf(aud, 'aud')
  return {
    issuer: iss!,
    id: textOf(jti, 'jti'),
    clientId: textOf(clientId, 'client_id'),
    resource: onlyOf(resource, 'resource'),
    scopes: scope === undefined ? undefined : textOf(scope, 'scope').split(' '),
    expiresAt: exp!,
    claims: payload
  }
}

/** Returns the issuer that an assertion names, of which nothing is verified yet. */
function issuerOf(jose: typeof Jose, assertion: string): unknown {
  try {
    return jose.decodeJwt(assertion).iss
  } catch (error) {
    throw refused('it is no JWT', error)
  }
}

/** Creates the verification (MCP enterprise-managed authorization, 5.1 and 7.4; ID-JAG draft, 4.4.1). */
export function createIdJagVerifier({ audience, issuers, now = Date.now, load }: IdJagOptions): VerifyIdJag {
  return async (assertion) => {
    if (assertion.length > MAX_ASSERTION) throw refused('it is too long')
    const iss = issuerOf(await (load ?? (() => import('jose')))(), assertion)
    const issuer = issuers.find((each) => each.issuer === iss)
    if (!issuer) throw refused('its issuer is not trusted')
    const { payload } = await issuer.verify(assertion, {
      audience,
      typ: 'oauth-id-jag+jwt',
      maxTokenAge: MAX_LIFE_S,
      requiredClaims: ['sub', 'exp', 'iat', 'jti', 'client_id', 'resource'],
      now: now()
    })
    if (payload.exp! > now() / 1_000 + MAX_LIFE_S) throw refused('it expires too late')
    return toIdJag(payload)
  }
}
