import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Caller } from '../catalog/caller.ts'
import type { People } from '../catalog/people.ts'
import type { AuthConfig } from '../config/config.ts'
import type { SignIn, StoredUser } from '../registry/model/model.ts'
import { createSealer } from '../lib/sealed-text.ts'

/** Ways to sign in with a browser. */
export type SignInMethod = 'oidc' | 'local' | 'break_glass'

/** Browser session of a user. */
export interface BrowserSession {
  /** SHA-256 of the session's id, hexadecimal. */
  readonly id: string
  readonly userId: string
  readonly name: string
  readonly role: StoredUser['kind']
  readonly method: SignInMethod
  /** Milliseconds since 1970. */
  readonly startedAt: number
  readonly expiresAt: number
}

/** Contents of the cookie. */
type Fields = readonly [
  secret: string,
  userId: string,
  method: SignInMethod,
  startedAt: number,
  seenAt: number,
  /** SHA-256 of the session at the provider, or of the static token, with which it ends; base64url */
  endsWith: string | null,
  /** `sessionsValidFrom` of the user at the sign-in */
  validFrom: number
]

const BREAK_GLASS_MS = 3_600_000
/** Time after which the cookie is sent again, because the session is in use. */
const RENEW_MS = 5 * 60_000

export interface OpenedSession {
  readonly session: BrowserSession
  readonly signIn: SignIn
  /** Value to set as the cookie, if it is time. */
  readonly renewed: string | undefined
}

const credentialOf = (secret: string) => createHash('sha256').update(secret).digest()

/** SHA-256 by which a session at the provider is known here. */
export const providerSessionHash = (issuer: string, sid: string): Buffer =>
  createHash('sha256')
    .update(JSON.stringify([issuer, sid]))
    .digest()

/** Sealed cookies that hold the session: nothing is stored, and every replica can read them. */
export interface BrowserSessions {
  /**
   * Returns the cookie of a new session, and the session's id. Its id was never sent before. `endsWith`: SHA-256 of what
   * the session ends with, for `oidc` the session at the provider, for `break_glass` the static token.
   */
  start(
    { id, sessionsValidFrom }: Pick<StoredUser, 'id' | 'sessionsValidFrom'>,
    method: SignInMethod,
    endsWith?: Uint8Array
  ): { readonly cookie: string; readonly id: string }
  /** Opens a cookie; undefined if it is not valid, has expired, or if the user or the session has ended. */
  open(cookie: string | undefined, people: People): OpenedSession | undefined
  /** Token that a form of the session must carry. */
  csrfToken(session: Pick<BrowserSession, 'id'>, purpose: string): string
  hasCsrfToken(session: Pick<BrowserSession, 'id'>, purpose: string, given: unknown): boolean
}

/** Longest life of a session, and without use, in milliseconds. That of a break-glass session is an hour at most. */
export type SessionLives = Pick<AuthConfig, 'browserSessionMs' | 'browserSessionIdleMs'>

/** `keyFor`: derives a key for one purpose. */
export function createBrowserSessions(
  keyFor: (label: string) => Buffer,
  { browserSessionMs, browserSessionIdleMs }: SessionLives,
  now: () => number = Date.now
): BrowserSessions {
  const expiryOf = (method: SignInMethod, startedAt: number, seenAt: number) => {
    const lifeMs = method === 'break_glass' ? Math.min(BREAK_GLASS_MS, browserSessionMs) : browserSessionMs
    return Math.min(startedAt + lifeMs, seenAt + browserSessionIdleMs)
  }
  const sealer = createSealer(keyFor('browser sessions'), 'browser session')
  const csrfKey = keyFor('forms of browser sessions')
  const seal = (fields: Fields) => sealer.seal(JSON.stringify(fields))
  const csrfToken: BrowserSessions['csrfToken'] = ({ id }, purpose) =>
    createHmac('sha256', csrfKey).update(`${id} ${purpose}`).digest('base64url')
  return {
    csrfToken,
    hasCsrfToken(session, purpose, given) {
      const expected = Buffer.from(csrfToken(session, purpose))
      const actual = Buffer.from(typeof given === 'string' ? given : '')
      return actual.length === expected.length && timingSafeEqual(actual, expected)
    },
    start({ id: userId, sessionsValidFrom }, method, endsWith) {
      const at = now()
      const secret = randomBytes(24).toString('base64url')
      const cookie = seal([
        secret,
        userId,
        method,
        at,
        at,
        endsWith ? Buffer.from(endsWith).toString('base64url') : null,
        sessionsValidFrom ?? 0
      ])
      return { cookie, id: credentialOf(secret).toString('hex') }
    },
    open(cookie, people) {
      const text = cookie === undefined ? undefined : sealer.open(cookie)
      if (text === undefined) return undefined
      const [secret, userId, method, startedAt, seenAt, bound, validFrom] = JSON.parse(text) as Fields
      const at = now()
      const before = expiryOf(method, startedAt, seenAt)
      const user = people.user(userId)
      if (at >= before || !user) return undefined
      const credential = credentialOf(secret)
      const endsWith = bound === null ? undefined : Buffer.from(bound, 'base64url')
      const isBreakGlass = method === 'break_glass'
      if (isBreakGlass && !endsWith) return undefined
      const isDue = at - seenAt > RENEW_MS
      const expiresAt = isDue ? expiryOf(method, startedAt, at) : before
      const signIn: SignIn = {
        kind: 'session',
        principalId: userId,
        credential,
        validFrom,
        expiresAt,
        ...(isBreakGlass ? { staticToken: endsWith } : { providerSession: endsWith })
      }
      if (!people.isActive(signIn, user.kind)) return undefined
      const { name, kind: role } = user
      const session = { id: credential.toString('hex'), userId, name, role, method, startedAt, expiresAt }
      const renewed = isDue ? seal([secret, userId, method, startedAt, at, bound, validFrom]) : undefined
      return { session, signIn, renewed }
    }
  }
}

/** Caller of a page of the gateway itself, for the audit log. */
export const callerOfSession = ({ name, role, userId }: BrowserSession): Pick<Caller, 'kind' | 'name' | 'key'> => ({
  kind: role,
  name,
  key: `user:${userId}`
})
