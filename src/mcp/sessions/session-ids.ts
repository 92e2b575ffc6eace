import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { makeOwned, ownsEveryId, type OwnsId } from '../../domain/worker-ids.ts'

/** Signed payload of a legacy session id. */
export interface Claims {
  /** Key of the principal. */
  readonly p: string
  /** Path of the endpoint. */
  readonly e: string
  /** Protocol version negotiated by `initialize`. */
  readonly r: string
  /** Client capabilities declared by `initialize`. */
  readonly c: Readonly<Record<string, unknown>>
  /** Time of issue, seconds since 1970. */
  readonly t: number
  /** 128 random bits. */
  readonly n: string
}

/** Milliseconds for which an id is good on replicas that do not know its session */
export const MAX_AGE_MS = 24 * 3_600_000
/** Milliseconds by which the clock of the replica that issued an id may be ahead; after a jump back, ids are not good for longer. */
const MAX_SKEW_MS = 300_000

/** Session ids carry their state, signed: any replica can restore the session of one. */
export interface SessionIds {
  /** Returns a new id. */
  issue(claims: Omit<Claims, 't' | 'n'>): string
  /** Returns the claims of an id, whatever its age; undefined if it is not signed with the key. */
  verify(id: string): Claims | undefined
}

/** Returns the part of an id by which an ended session is remembered. */
export const signatureOf = (id: string): string => id.slice(id.indexOf('.') + 1)

/** Returns false for ids of HTTP+SSE sessions, which live as long as their stream. */
export const isSigned = (id: string): boolean => id.includes('.')

/** Returns the time at which an id expires, in milliseconds since 1970. */
export const expiryOf = ({ t }: Claims): number => t * 1_000 + MAX_AGE_MS

/** Returns true for an id that is too old, or from the future. */
export function isExpired({ t }: Claims): boolean {
  const age = Date.now() - t * 1_000
  return age > MAX_AGE_MS || age < -MAX_SKEW_MS
}

/** Creates the ids that are signed with this HMAC key; new ones lead to the worker that `owns` them. */
export function createSessionIds(key: Buffer, owns: OwnsId = ownsEveryId): SessionIds {
  const sign = (payload: string) => createHmac('sha256', key).update(payload).digest('base64url')
  const make = ({ p, e, r, c }: Omit<Claims, 't' | 'n'>) => {
    const n = randomBytes(16).toString('base64url')
    const claims: Claims = { p, e, r, c, t: Math.floor(Date.now() / 1_000), n }
    const payload = Buffer.from(JSON.stringify(claims)).toString('base64url')
    return `${payload}.${sign(payload)}`
  }
  return {
    issue: (claims) => makeOwned(() => make(claims), owns),
    verify(id) {
      const dot = id.indexOf('.')
      if (dot <= 0) return undefined
      const payload = id.slice(0, dot)
      const given = Buffer.from(id.slice(dot + 1))
      const expected = Buffer.from(sign(payload))
      if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined
      return JSON.parse(Buffer.from(payload, 'base64url').toString()) as Claims
    }
  }
}
