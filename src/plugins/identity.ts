import { hash } from 'node:crypto'
import cookie from '@fastify/cookie'
import fp from 'fastify-plugin'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../config/config.ts'
import { createAccessTokens } from '../identity/access-token.ts'
import { createBrowserMarks } from '../identity/browser-marks.ts'
import {
  createBrowserSessions,
  providerSessionHash,
  type BrowserSession,
  type BrowserSessions,
  type OpenedSession,
  type SignInMethod
} from '../identity/browser-sessions.ts'
import { createProviderChecks } from '../identity/checks/provider.ts'
import type { Finding } from '../identity/checks/finding.ts'
import type { AccessTokens } from '../identity/token-cache.ts'
import { createOpenIdProvider, type OpenIdProvider, type ProviderSession } from '../identity/openid-provider.ts'
import { requestFailure } from '../upstream/oauth/oauth-http.ts'

/** Session at the OpenID provider, to which a browser session belongs. */
export type ProvidedSession = ProviderSession & { readonly issuer: string }

/** Credential with which a browser session was started, and with which it ends. */
export interface SessionOrigin {
  readonly provided?: ProvidedSession
  /** SHA-256 of the static token, for `break_glass` */
  readonly staticToken?: Uint8Array | undefined
}

/** People who sign in with a browser. */
export interface Identity {
  readonly sessions: Pick<BrowserSessions, 'csrfToken' | 'hasCsrfToken'>
  /** Verifies access tokens of the authorization server. */
  readonly accessTokens: AccessTokens
  /** Undefined if no OpenID provider is configured. */
  readonly provider: OpenIdProvider | undefined
  /** Checks the settings against the provider, once at a time; empty if none is configured. */
  checkProvider(): Promise<readonly Finding[]>
  /** Returns the session of the request's cookie, which is renewed with the reply if it is time. */
  sessionOf(request: FastifyRequest, reply: FastifyReply): BrowserSession | undefined
  /** Same, with what authenticates the caller. */
  open(request: FastifyRequest, reply: FastifyReply): Pick<OpenedSession, 'session' | 'signIn'> | undefined
  /** Starts a session with a new id; the cookie is sent with the reply. */
  start(reply: FastifyReply, userId: string, method: SignInMethod, origin?: SessionOrigin): Promise<void>
  /**
   * Returns the address at which the person of a session signs out at the provider too; undefined if there is none.
   * Rejects with SignInError while the provider is not available.
   */
  providerLogoutUrl(session: BrowserSession): Promise<string | undefined>
  /** Ends the session, on all replicas. */
  end(request: FastifyRequest, reply: FastifyReply): Promise<void>
  /** True unless the groups of the user were read too long ago at the provider. */
  hasFreshClaims(userId: string): boolean
  /** True if the person has to sign in at the provider again before a client is let in. */
  isStale(session: BrowserSession): boolean
  /** Sets the cookie of a sign-in that goes on at the provider; undefined deletes it. `state`: of that sign-in. */
  setLoginCookie(reply: FastifyReply, state: string, value: string | undefined): void
  loginCookieOf(request: FastifyRequest, state: string): string | undefined
  /** Returns the SHA-256 of a cookie by which a browser is known, base64url; sets one if there is none. */
  markBrowser(request: FastifyRequest, reply: FastifyReply): string
  /** Returns the same of all such cookies of a request: pages that a browser opens at once get one each. */
  browsersOf(request: FastifyRequest): readonly string[]
  /** Returns the path of the sign-in page that leads back to a path of the gateway. */
  loginPath(returnTo: string): string
  /** Derives a key for one purpose; the same on every replica. */
  keyFor(label: string): Buffer
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Undefined unless people sign in (`TOWPATH_AUTH`). */
    readonly identity: Identity | undefined
  }
}

export type IdentityPluginOptions = Pick<Config, 'auth' | 'publicUrl'>

const PROVIDER_ANSWER_BYTES = 1_048_576
const LOGIN_COOKIE_S = 600
/** Sign-ins that a browser can have under way at once, when several clients open a page each. */
const LOGIN_COOKIES = 8
/** Records of the ID tokens that the provider wants to see again when a person signs out. */
const PROVIDER_SESSION = 'ProviderSession'
/** Time after which no session is left that started before, with a day to spare. */
export const SESSION_S = 8 * 86_400

/** Creates the browser sessions and the relying party, and decorates them onto the app. */
export default fp<IdentityPluginOptions>(
  async (app, { auth, publicUrl }) => {
    if (auth.way !== 'embedded') {
      app.decorate('identity', undefined)
      return
    }
    // no hook: only the pages of the sign-in set cookies
    await app.register(cookie, { hook: false })
    const isSecure = publicUrl!.startsWith('https:')
    const prefix = isSecure ? '__Host-' : ''
    const names = { session: `${prefix}towpath`, login: `${prefix}towpath-login` }
    const marks = createBrowserMarks(`${prefix}towpath-browser`)
    // the path of a __Host- cookie must be "/" (RFC 6265bis 4.1.3.2)
    const options = { path: '/', httpOnly: true, secure: isSecure, sameSite: 'lax' } as const
    let known: BrowserSessions | undefined
    const keyFor = (label: string) => app.registry.deriveKey(label)
    // the keys come from the database, which may be reachable only later
    const sessions = () => (known ??= createBrowserSessions(keyFor, auth))
    const { oidc } = auth
    const provider =
      oidc &&
      createOpenIdProvider({
        oidc,
        redirectUri: `${publicUrl}/auth/callback`,
        request: (url, init) => app.gateway.fetchFor(oidc.issuer, PROVIDER_ANSWER_BYTES)(url, init)
      })
    const checkProvider = oidc
      ? createProviderChecks({
          oidc,
          publicUrl: publicUrl!,
          people: () => app.gateway.people.countSignedIn(),
          request: (url) =>
            app.gateway
              .fetchFor(oidc.issuer, PROVIDER_ANSWER_BYTES)(url, { headers: { accept: 'application/json' } })
              .catch((error: unknown) => {
                throw requestFailure(error, new URL(url).host)
              })
        })
      : async () => []
    const accessTokens = createAccessTokens({ issuer: publicUrl!, keys: () => app.gateway.signingKeys })
    const cookiesOf = ({ headers }: FastifyRequest) =>
      headers.cookie === undefined ? {} : app.parseCookie(headers.cookie)
    const cookieOf = (request: FastifyRequest, name: string): string | undefined => cookiesOf(request)[name]
    const setCookie = (reply: FastifyReply, name: string, value: string, maxAge?: number) => {
      // one value for each name (RFC 6265 4.1.1): a session that was renewed may end with the same reply
      const others = [reply.getHeader('set-cookie') ?? []]
        .flat()
        .map(String)
        .filter((line) => !line.startsWith(`${name}=`))
      const line = app.serializeCookie(name, value, { ...options, ...(maxAge !== undefined && { maxAge }) })
      void reply.removeHeader('set-cookie').header('set-cookie', [...others, line])
    }
    const userOf = (id: string) => ({ id, sessionsValidFrom: app.gateway.people.user(id)?.sessionsValidFrom ?? null })
    const hasFreshClaims = (userId: string): boolean => {
      const claimsAt = app.gateway.people.user(userId)?.claimsAt
      return !oidc || typeof claimsAt !== 'number' || Date.now() - claimsAt < oidc.claimsMaxAgeMs
    }
    // few names: cookies of sign-ins that were given up must not fill the headers
    const loginCookie = (state: string) => `${names.login}-${hash('sha256', state, 'buffer')[0]! % LOGIN_COOKIES}`
    const open = (request: FastifyRequest, reply: FastifyReply) => {
      const opened = sessions().open(cookieOf(request, names.session), app.gateway.people)
      if (opened?.renewed !== undefined) setCookie(reply, names.session, opened.renewed)
      return opened
    }
    app.decorate('identity', {
      sessions: {
        csrfToken: (...of) => sessions().csrfToken(...of),
        hasCsrfToken: (...of) => sessions().hasCsrfToken(...of)
      },
      accessTokens,
      provider,
      checkProvider,
      keyFor,
      sessionOf: (request, reply) => open(request, reply)?.session,
      open,
      async start(reply, userId, method, { provided, staticToken } = {}) {
        const hash = provided?.sid === undefined ? staticToken : providerSessionHash(provided.issuer, provided.sid)
        const { cookie: value, id } = sessions().start(userOf(userId), method, hash)
        if (provided) {
          const kept = { accountId: userId, idToken: provided.idToken }
          await app.registry.oauthRecords.upsert(PROVIDER_SESSION, id, kept, SESSION_S)
        }
        setCookie(reply, names.session, value)
      },
      async providerLogoutUrl({ id, method }) {
        if (!provider || method !== 'oidc') return undefined
        const kept = await app.registry.oauthRecords.find(PROVIDER_SESSION, id)
        await app.registry.oauthRecords.destroy(PROVIDER_SESSION, id)
        const idToken = kept?.payload['idToken']
        return provider.endSessionUrl(`${publicUrl}/auth/logout`, typeof idToken === 'string' ? idToken : undefined)
      },
      async end(request, reply) {
        const opened = open(request, reply)
        setCookie(reply, names.session, '', 0)
        if (!opened) return
        const { session, signIn } = opened
        const change = {
          actor: { kind: session.role, name: session.name },
          action: 'session.end',
          target: session.name,
          address: request.address,
          requestId: request.id
        }
        // the cookie could be renewed until it reaches its longest life
        const until = new Date(session.startedAt + SESSION_S * 1_000)
        await app.registry.write(change, (tx) => tx.tombstones.add('session', signIn.credential, until))
      },
      hasFreshClaims,
      isStale: ({ method, userId }) => method === 'oidc' && !hasFreshClaims(userId),
      setLoginCookie(reply, state, value) {
        setCookie(reply, loginCookie(state), value ?? '', value === undefined ? 0 : LOGIN_COOKIE_S)
      },
      loginCookieOf: (request, state) => cookieOf(request, loginCookie(state)),
      markBrowser: (request, reply) =>
        marks.readOrCreate(cookiesOf(request), (name, value) => setCookie(reply, name, value)),
      browsersOf: (request) => marks.read(cookiesOf(request)),
      loginPath: (returnTo) => `/auth/login?${new URLSearchParams({ return: returnTo }).toString()}`
    } satisfies Identity as Identity)
  },
  { name: 'identity', dependencies: ['registry', 'gateway'] }
)
