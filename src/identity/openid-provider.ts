import type * as Client from 'openid-client'
import type { OidcConfig } from '../config/config.ts'
import type { IdentifiedPerson } from '../registry/repositories/identities.ts'
import { clientAuthentication } from './client-authentication.ts'
import { createLogoutTokens, type LogoutNotice } from './logout-token.ts'
import { groupsOf, personOf, SignInError, textOf } from './person.ts'

type Library = typeof Client
type Fetch = (url: string, init: RequestInit) => Promise<Response>

/** Values that bind the answer of the provider to the browser that was sent there. */
export interface LoginChecks {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
}

/** Session at the provider that a sign-in has opened or found. */
export interface ProviderSession {
  /** Undefined if the provider does not name sessions. */
  readonly sid: string | undefined
  readonly idToken: string
}

export type ProviderMetadata = Pick<
  Client.ServerMetadata,
  'issuer' | 'jwks_uri' | 'end_session_endpoint' | 'id_token_signing_alg_values_supported'
>

/** The company's OpenID provider, with the gateway as relying party (OpenID Connect Core 1.0, 3.1). */
export interface OpenIdProvider {
  /** Returns the address to send the browser to. Rejects with SignInError. */
  begin(): Promise<{ readonly url: string; readonly checks: LoginChecks }>
  /** `url`: the address that the browser came back to. Rejects with SignInError. */
  finish(
    url: URL,
    checks: LoginChecks
  ): Promise<{ readonly person: IdentifiedPerson; readonly session: ProviderSession }>
  /** Verifies a token that says that sessions have ended at the provider. Rejects with AppError: 400, 503. */
  readonly checkLogoutToken: (token: string) => Promise<LogoutNotice>
  /**
   * Returns the address at which the person signs out at the provider and that leads back to `returnTo`; undefined if it
   * has none. `idToken`: of the session. Rejects with SignInError.
   */
  endSessionUrl(returnTo: string, idToken: string | undefined): Promise<string | undefined>
}

/** Longest ID token that is sent back as a hint, in an address. */
const MAX_HINT = 6_000
/** Time after which the metadata of the provider is read again. */
const FRESH_MS = 3_600_000

const unavailable = (cause: unknown) =>
  new SignInError(503, 'The identity provider cannot be reached. Try again in a minute.', { cause })

/** Tells an answer that was refused from a provider that does not work. */
function failureOf(library: Library, cause: unknown): SignInError {
  if (cause instanceof SignInError) return cause
  if (cause instanceof library.AuthorizationResponseError) {
    const isCancelled = cause.error === 'access_denied'
    return isCancelled
      ? new SignInError(403, 'The sign-in was cancelled, or the identity provider refused it.', { cause })
      : new SignInError(403, 'The identity provider refused the sign-in.', { cause })
  }
  if (cause instanceof library.ResponseBodyError) {
    return new SignInError(400, 'This sign-in is no longer valid. Start again.', { cause })
  }
  if (cause instanceof library.ClientError && cause.code !== undefined) {
    return new SignInError(400, 'The answer of the identity provider is not valid. Start again.', { cause })
  }
  return unavailable(cause)
}

export interface OpenIdProviderOptions {
  readonly oidc: OidcConfig
  readonly redirectUri: string
  /** Fetches within the egress policy, bounded in bytes and time. */
  readonly request: Fetch
  /** Loads openid-client, which is needed only where people sign in. */
  readonly load?: () => Promise<Library>
}

export function createOpenIdProvider({ oidc, redirectUri, request, load }: OpenIdProviderOptions): OpenIdProvider {
  const loadLibrary = load ?? (() => import('openid-client'))
  let known: { readonly config: Promise<Client.Configuration>; readonly at: number } | undefined

  const discover = async (library: Library): Promise<Client.Configuration> => {
    const { issuer, clientId } = oidc
    const isPlain = issuer.startsWith('http:')
    const customFetch = (url: string, init: object) => request(url, init)
    const config = await library.discovery(new URL(issuer), clientId, undefined, clientAuthentication(library, oidc), {
      [library.customFetch]: customFetch as Client.CustomFetch,
      timeout: 10,
      ...(isPlain && { execute: [library.allowInsecureRequests] })
    })
    // the library lets Entra ID name another issuer than that which was asked, for accounts of any tenant
    if (new URL(config.serverMetadata().issuer).href !== new URL(issuer).href)
      throw new Error('the issuer is another one')
    config[library.customFetch] = customFetch as Client.CustomFetch
    return config
  }
  const configOf = (library: Library): Promise<Client.Configuration> => {
    if (!known || performance.now() - known.at > FRESH_MS) {
      const config = discover(library)
      known = { config, at: performance.now() }
      config.catch(() => (known = undefined))
    }
    return known.config
  }

  const current = async (library: Library) =>
    configOf(library).catch((error: unknown) => {
      throw unavailable(error)
    })

  return {
    checkLogoutToken: createLogoutTokens({
      clientId: oidc.clientId,
      metadata: async () => (await current(await loadLibrary())).serverMetadata(),
      request
    }),

    async endSessionUrl(returnTo, idToken) {
      const library = await loadLibrary()
      const config = await current(library)
      if (config.serverMetadata().end_session_endpoint === undefined) return undefined
      const isShort = idToken !== undefined && idToken.length <= MAX_HINT
      const hint = isShort ? { id_token_hint: idToken } : {}
      return library.buildEndSessionUrl(config, { post_logout_redirect_uri: returnTo, ...hint }).href
    },

    async begin() {
      const library = await loadLibrary()
      const config = await current(library)
      const checks = {
        state: library.randomState(),
        nonce: library.randomNonce(),
        verifier: library.randomPKCECodeVerifier()
      }
      const url = library.buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope: oidc.scopes,
        state: checks.state,
        nonce: checks.nonce,
        code_challenge: await library.calculatePKCECodeChallenge(checks.verifier),
        code_challenge_method: 'S256'
      })
      return { url: url.href, checks }
    },

    async finish(url, { state, nonce, verifier }) {
      const library = await loadLibrary()
      try {
        const config = await configOf(library)
        const tokens = await library.authorizationCodeGrant(config, url, {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: verifier,
          idTokenExpected: true
        })
        const claims = tokens.claims()!
        const hasAll = groupsOf(claims, oidc.groupsClaim) !== undefined && textOf(claims[oidc.nameClaim]) !== null
        const { userinfo_endpoint: userInfoAt } = config.serverMetadata()
        const userInfo =
          hasAll || userInfoAt === undefined ? {} : await library.fetchUserInfo(config, tokens.access_token, claims.sub)
        const session = { sid: textOf(claims['sid']) ?? undefined, idToken: tokens.id_token! }
        const person = personOf(claims.iss, oidc, claims, userInfo)
        // asked just now for everything: what is missing is empty
        return { person: { ...person, groups: person.groups ?? [], claimedAt: undefined }, session }
      } catch (error) {
        throw failureOf(library, error)
      }
    }
  }
}
