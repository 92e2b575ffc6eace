import { createHash } from 'node:crypto'
import type * as Jose from 'jose'
import type { SignedIn } from '../catalog/people.ts'
import type { ExternalConfig } from '../config/config.ts'
import { isTokenScope, type TokenScope } from '../domain/access/access.ts'
import { AppError } from '../lib/errors.ts'
import type { UserOf } from './known-people.ts'
import { personOf, type Claims } from './person.ts'
import { createTokenCache, type AccessTokens, type Verified } from './token-cache.ts'
import type { TrustedIssuer } from './trusted-issuer.ts'

/** Tokens of a provider can name many groups; headers are limited anyway. */
const MAX_TOKEN = 16_384
const MAX_AUDIENCES = 100
const MAX_TEXT = 2_048

export interface ExternalTokenOptions {
  readonly provider: ExternalConfig
  readonly issuer: TrustedIssuer
  /** Returns the address of the MCP endpoint that an audience means; undefined if it means none. */
  readonly endpointOf: (audience: string) => string | undefined
  readonly userOf: UserOf
  /** Called for a token with a good signature that is refused. */
  readonly onRefused: (reason: string, subject: string, address: string) => void
  readonly now?: () => number
}

const refused = (reason: string) => new AppError(401, reason)

const textOf = (...values: readonly unknown[]): string | undefined =>
  values.find((value): value is string => typeof value === 'string' && value !== '' && value.length <= MAX_TEXT)

/** Scopes are a text (RFC 9068 2.2.3), or an array of texts under another name (Okta). */
const scopesOf = ({ scope, scp }: Claims): readonly string[] | undefined => {
  const value = scope ?? scp
  if (typeof value === 'string') return value.split(' ')
  return Array.isArray(value) ? value.filter((each): each is string => typeof each === 'string') : undefined
}

/**
 * Throws for a token of another kind: only access tokens count, and an ID token for a program is one that its owner could
 * send here (RFC 9068 4, OpenID Connect Core 1.0, 2). Keycloak names the kind in the claim `typ`.
 */
function requireAccessToken(header: Jose.JWTHeaderParameters, claims: Claims, takesJwt: boolean): void {
  const typ = header.typ?.toLowerCase().replace(/^application\//, '')
  if (typ !== 'at+jwt' && !(takesJwt && typ === 'jwt')) {
    throw refused(
      `its type is ${JSON.stringify(typ?.slice(0, 64)) ?? 'missing'}, and not at+jwt (TOWPATH_EXTERNAL_AUDIENCE)`
    )
  }
  const marks = ['nonce', 'at_hash', 'c_hash', 's_hash'].filter((name) => claims[name] !== undefined)
  if (marks.length > 0) throw refused(`it is an ID token: it has ${marks.join(', ')}`)
  const kind = claims['typ']
  if (kind !== undefined && kind !== 'Bearer') throw refused('its claim "typ" is that of another kind of token')
  const isMarked = scopesOf(claims) !== undefined || textOf(claims['client_id']) !== undefined
  if (typ === 'jwt' && !isMarked)
    throw refused('nothing tells it from an ID token: it has neither a scope nor a client_id')
}

/** Returns the endpoints that a token is for. Throws if there are none. */
function audienceOf(
  { provider, endpointOf }: ExternalTokenOptions,
  { aud }: Claims
): NonNullable<SignedIn['audience']> {
  const all = [aud].flat().filter((each): each is string => typeof each === 'string')
  if (all.length > MAX_AUDIENCES) throw refused('it has too many audiences')
  if (all.some((each) => provider.audience.includes(each))) return 'every'
  const endpoints = all.flatMap((each) => endpointOf(each) ?? [])
  if (endpoints.length > 0) return endpoints
  throw refused('its audience is none of this gateway')
}

/** Returns what the token authenticates as. Tokens of one person and program share a credential. */
function signedInOf(claims: Claims, clientId: string, userId: string, audience: SignedIn['audience']): SignedIn {
  const { iss, sub, iat, exp } = claims
  const credential = createHash('sha256')
    .update(JSON.stringify([iss, sub, clientId]))
    .digest()
  const times = { validFrom: Number(iat) * 1_000, expiresAt: Number(exp) * 1_000 }
  // the audience opens the endpoints; other scopes are those that policies require, never of the REST interface
  const own = (scopesOf(claims) ?? []).filter((scope) => isTokenScope(scope) && !scope.startsWith('towpath:'))
  return {
    signIn: { kind: 'grant', principalId: userId, credential, ...times },
    scopes: [...new Set(['mcp', ...own])] as TokenScope[],
    oauthClient: clientId,
    audience
  }
}

/** Creates the verification of access tokens that the identity provider issues (RFC 9068 4, RFC 9728). */
export function createExternalTokens(options: ExternalTokenOptions): AccessTokens {
  const { provider, issuer, userOf, onRefused, now = Date.now } = options

  const toSignedIn = async ({ payload, protectedHeader }: Jose.JWTVerifyResult, address: string): Promise<SignedIn> => {
    const claims: Claims = payload
    requireAccessToken(protectedHeader, claims, provider.audience.length > 0)
    const audience = audienceOf(options, claims)
    const clientId = textOf(claims['client_id'], claims['azp'], claims['appid'], claims['cid'])
    if (clientId === undefined) throw refused('it names no client')
    const userId = await userOf(personOf(issuer.issuer, provider, claims), { address })
    return signedInOf(claims, clientId, userId, audience)
  }
  const verify = async (token: string, address: string): Promise<Verified> => {
    const verified = await issuer.verify(token, { requiredClaims: ['sub', 'aud', 'exp', 'iat'], now: now() })
    try {
      return { signedIn: await toSignedIn(verified, address), isCurrent: () => true }
    } catch (error) {
      if (error instanceof AppError && error.statusCode < 500) onRefused(error.message, verified.payload.sub!, address)
      throw error
    }
  }
  return createTokenCache({ maxLength: MAX_TOKEN, verify, now })
}
