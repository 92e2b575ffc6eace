import type * as Jose from 'jose'
import type { SignedIn } from '../catalog/people.ts'
import { isTokenScope } from '../domain/access/access.ts'
import { CLIENT_CLAIM } from '../domain/access/client-credentials.ts'
import { SIGN_INS_CLAIM } from '../domain/access/sign-in-claim.ts'
import type { SigningKey } from '../registry/model/model.ts'
import { createTokenCache, SKEW_S, type AccessTokens, type Verified } from './token-cache.ts'

const MAX_TOKEN = 8_192

export interface AccessTokenOptions {
  readonly issuer: string
  /** Public keys, at this moment. */
  readonly keys: () => readonly SigningKey[]
  readonly now?: () => number
  readonly load?: () => Promise<typeof Jose>
}

const isString = (value: unknown): value is string => typeof value === 'string'

function signedInOf(payload: Jose.JWTPayload): SignedIn | null {
  const {
    sub,
    aud,
    client_id: client,
    scope,
    gid,
    iat,
    exp,
    [CLIENT_CLAIM]: service,
    [SIGN_INS_CLAIM]: since
  } = payload
  if (!isString(sub) || !isString(aud) || !isString(client) || !isString(gid) || !iat || !exp) return null
  const credential = Buffer.from(gid, 'base64url')
  if (credential.length !== 32) return null
  const times = { validFrom: typeof since === 'number' ? since : 0, expiresAt: exp * 1_000 }
  if (service !== undefined) {
    if (!isString(service)) return null
    return { signIn: { kind: 'client', principalId: service, credential, ...times }, audience: [aud] }
  }
  const scopes = (isString(scope) ? scope.split(' ') : []).filter(isTokenScope)
  return {
    signIn: { kind: 'grant', principalId: sub, credential, ...times },
    scopes,
    oauthClient: client,
    audience: [aud]
  }
}

/** Access tokens of the embedded authorization server. They end with their key. */
export function createAccessTokens({ issuer, keys, now = Date.now, load }: AccessTokenOptions): AccessTokens {
  const imported = new WeakMap<SigningKey, ReturnType<typeof Jose.importJWK>>()

  const keyOf = (kid: string | undefined) => keys().find((each) => each.kid === kid && each.verifiesUntil > now())

  const verify = async (token: string): Promise<Verified | null> => {
    const { jwtVerify, importJWK } = await (load ?? (() => import('jose')))()
    const find = async ({ kid }: Jose.JWTHeaderParameters) => {
      const key = keyOf(kid)
      if (!key) throw new Error('unknown key')
      let found = imported.get(key)
      if (!found) imported.set(key, (found = importJWK({ ...key.publicJwk }, 'ES256')))
      return found
    }
    const { payload, protectedHeader } = await jwtVerify(token, find, {
      algorithms: ['ES256'],
      typ: 'at+jwt',
      issuer,
      clockTolerance: SKEW_S,
      currentDate: new Date(now()),
      requiredClaims: ['sub', 'aud', 'exp', 'iat', 'client_id', 'gid']
    })
    const signedIn = signedInOf(payload)
    return signedIn && { signedIn, isCurrent: () => keyOf(protectedHeader.kid) !== undefined }
  }
  return createTokenCache({ maxLength: MAX_TOKEN, verify, now })
}
