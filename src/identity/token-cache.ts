import { LRUCache } from 'lru-cache'
import type { SignedIn } from '../catalog/people.ts'
import { networkOf } from '../domain/network/client-address.ts'
import { AppError } from '../lib/errors.ts'
import { createQuota } from '../lib/quota.ts'

/** Verified tokens that are kept, and tokens that were refused. */
const MAX_KNOWN = 20_000
const MAX_REFUSED = 10_000
const REFUSED_MS = 30_000
/** Verifications at a time, in all and for one address or IPv6 /64 network; one takes about 100 µs. */
const MAX_RUNNING = 256
const MAX_RUNNING_OF_NETWORK = 32
export const SKEW_S = 30

/**
 * Result of a look-up: a verified token; `null` for a refused one; `busy`: too many are being verified to look at this
 * one; a promise for one that was not seen before.
 */
export type TokenCheck = SignedIn | null | 'busy' | Promise<SignedIn | null>

/** A token and its SHA-256. */
export interface PresentedToken {
  readonly token: string
  readonly hash: Buffer
}

/** Access tokens of an authorization server, which are JWTs (RFC 9068). */
export interface AccessTokens {
  /**
   * Verifies signature, issuer, type and times; the audience is checked by the route. Returns undefined for a text that
   * cannot be such a token. Rejects with a 503 AppError if it cannot be told now. `address` is read for a token that was
   * not seen before.
   */
  check(presented: PresentedToken, client: { readonly address: string }): TokenCheck | undefined
  /** Returns a token that was verified before and still counts, by its SHA-256. */
  verified(hash: Buffer): SignedIn | undefined
}

/** Verified token. */
export interface Verified {
  readonly signedIn: SignedIn
  /** False as soon as it does not count any more, although it has not expired. */
  readonly isCurrent: () => boolean
}

export interface TokenCacheOptions {
  readonly maxLength: number
  /** Resolves with null for a token that is refused; rejecting refuses it too, but for an AppError of 5xx. */
  readonly verify: (token: string, address: string) => Promise<Verified | null>
  readonly now?: () => number
}

const isTemporary = (error: unknown) => error instanceof AppError && error.statusCode >= 500

/** Verifies each token once and finds it again by its SHA-256. */
export function createTokenCache({ maxLength, verify, now = Date.now }: TokenCacheOptions): AccessTokens {
  const known = new LRUCache<string, Verified>({ max: MAX_KNOWN })
  const refused = new LRUCache<string, number>({ max: MAX_REFUSED })
  const running = new Map<string, Promise<SignedIn | null>>()
  const shares = createQuota(MAX_RUNNING_OF_NETWORK, MAX_RUNNING)

  const verifyAndKeep = async (token: string, id: string, address: string): Promise<SignedIn | null> => {
    const verified = await verify(token, address).catch((error: unknown) => {
      if (isTemporary(error)) throw error
      return null
    })
    if (verified) known.set(id, verified)
    else refused.set(id, now())
    return verified?.signedIn ?? null
  }
  const start = (token: string, id: string, address: string): TokenCheck => {
    const network = networkOf(address)
    if (!shares.acquire(network)) return 'busy'
    const result = verifyAndKeep(token, id, address).finally(() => {
      running.delete(id)
      shares.release(network)
    })
    running.set(id, result)
    return result
  }
  const counts = ({ signedIn, isCurrent }: Verified) =>
    signedIn.signIn.expiresAt + SKEW_S * 1_000 > now() && isCurrent()
  const isJwt = (token: string) => token.length <= maxLength && /^eyJ[\w-]+\.[\w-]+\.[\w-]+$/.test(token)
  return {
    verified(hash) {
      const found = known.get(hash.toString('latin1'))
      return found && counts(found) ? found.signedIn : undefined
    },
    check({ token, hash }, client) {
      const id = hash.toString('latin1')
      const found = known.get(id)
      if (found) {
        if (!counts(found)) {
          known.delete(id)
          return null
        }
        return found.signedIn
      }
      if (!isJwt(token)) return undefined
      const refusedAt = refused.get(id)
      if (refusedAt !== undefined && now() - refusedAt < REFUSED_MS) return null
      return running.get(id) ?? start(token, id, client.address)
    }
  }
}
