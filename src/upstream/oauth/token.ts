import { isLoopback } from '../../domain/network/loopback.ts'
import { TITLE } from '../../domain/product.ts'
import type { TokenGrant, TokenGrantResult, OAuthClient, TokenSource } from '../../registry/model/model.ts'
import { UpstreamFailure } from '../../protocol/upstream-failure.ts'
import { authenticate, chooseMethod, withOtherMethod, registeredClient } from './client.ts'
import type { AuthorizationServer } from './authorization-server.ts'
import type { OAuthResponse, OAuthHttp } from './oauth-http.ts'

/** An error response of an authorization server (RFC 6749, 5.2). */
export class OAuthRefusal extends UpstreamFailure {
  /** Error code, for example `invalid_grant`. */
  readonly error: string

  constructor(error: string, message: string, status: number) {
    super('auth', message, { status })
    this.name = 'OAuthRefusal'
    this.error = error
  }
}

const SERVER = 'the authorization server'
/** Format of the error codes of RFC 6749, RFC 7591 and OpenID Connect. */
const errorCode = /^[a-z][a-z_]{0,39}$/

function refusalOf({ status, body }: OAuthResponse, what: string): UpstreamFailure {
  if (typeof body?.error !== 'string' || status >= 500) {
    const reason = status >= 500 || status === 429 ? 'unreachable' : 'bad_response'
    return new UpstreamFailure(reason, `${SERVER}: answered HTTP ${status} to ${what}`, { status })
  }
  // no other text of the answer: it may come from a service that only the gateway can reach
  const code = errorCode.test(body.error) ? `: ${body.error}` : ''
  return new OAuthRefusal(code === '' ? '' : body.error, `${SERVER}: refused ${what}${code}`, status)
}

/** Registers a client dynamically (RFC 7591). Rejects with UpstreamFailure. */
export async function registerClient(
  http: OAuthHttp,
  server: AuthorizationServer & { readonly registrationEndpoint: string },
  redirectUri: string,
  scope: string | undefined
): Promise<OAuthClient> {
  const method = chooseMethod(server)
  const body = JSON.stringify({
    client_name: TITLE,
    application_type: isLoopback(new URL(redirectUri).hostname) ? 'native' : 'web',
    redirect_uris: [redirectUri],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: method,
    ...(scope === undefined ? {} : { scope })
  })
  const answer = await http.post(server.registrationEndpoint, { 'content-type': 'application/json' }, body, SERVER)
  if (answer.status < 200 || answer.status >= 300) throw refusalOf(answer, 'the registration of a client')
  const { client_id: id, client_secret: secret, token_endpoint_auth_method: returned } = answer.body ?? {}
  if (typeof id !== 'string' || id === '') throw new UpstreamFailure('bad_response', `${SERVER}: gave no client id`)
  return registeredClient(server, id, secret, method, returned)
}

/**
 * Returns the lifetime in seconds; null for zero, negative or malformed values (OA-13): the token is then used until it
 * is refused.
 */
function lifetimeOf(value: unknown): number | null {
  const seconds = typeof value === 'string' && value !== '' ? Number(value) : value
  return typeof seconds === 'number' && Number.isFinite(seconds) && seconds > 0 ? seconds : null
}

function readGrant(body: OAuthResponse['body']): TokenGrant {
  const { access_token: access, refresh_token: refresh, token_type: type = 'Bearer', expires_in } = body ?? {}
  if (typeof access !== 'string' || !/^[\x21-\x7e]{1,16384}$/.test(access)) {
    throw new UpstreamFailure('bad_response', `${SERVER}: gave an access token that is not valid in a header`)
  }
  if (typeof type !== 'string' || type.toLowerCase() !== 'bearer') {
    throw new UpstreamFailure('bad_response', `${SERVER}: gave a token of a type other than Bearer`)
  }
  const lifetime = lifetimeOf(expires_in)
  return typeof refresh === 'string' && refresh !== '' ? { access, refresh, lifetime } : { access, lifetime }
}

/** True if the server rejected the client's authentication; it has not looked at the code or refresh token then. */
const isClientError = (error: unknown): error is OAuthRefusal =>
  error instanceof OAuthRefusal &&
  (error.error === 'invalid_client' || (error.status === 401 && error.error === 'unauthorized_client'))

async function requestToken(
  http: OAuthHttp,
  source: TokenSource,
  parameters: Readonly<Record<string, string>>,
  what: string
): Promise<TokenGrantResult> {
  const requestAs = async (client: OAuthClient): Promise<TokenGrantResult> => {
    const form = new URLSearchParams({ ...parameters, resource: source.resource })
    const headers = authenticate(client, form)
    const type = { 'content-type': 'application/x-www-form-urlencoded' }
    const answer = await http.post(source.tokenEndpoint, { ...type, ...headers }, form.toString(), SERVER)
    if (answer.status !== 200) throw refusalOf(answer, what)
    return { grant: readGrant(answer.body), source: { ...source, client } }
  }
  try {
    return await requestAs(source.client)
  } catch (error) {
    const other = withOtherMethod(source.client)
    if (!other || !isClientError(error)) throw error
    try {
      return await requestAs(other)
    } catch (again) {
      // report the refusal of the first method, which the server itself announced
      throw again instanceof OAuthRefusal && again.error !== 'invalid_grant' ? error : again
    }
  }
}

export interface CodeExchange {
  readonly code: string
  readonly verifier: string
  readonly redirectUri: string
}

/** Exchanges a code for tokens. Rejects with OAuthRefusal or another UpstreamFailure. */
export const exchangeCode = (http: OAuthHttp, source: TokenSource, { code, verifier, redirectUri }: CodeExchange) =>
  requestToken(
    http,
    source,
    { grant_type: 'authorization_code', code, code_verifier: verifier, redirect_uri: redirectUri },
    'the code'
  )

/** Refreshes the tokens; if the server does not rotate the refresh token, the old one stays valid. */
export async function refreshGrant(http: OAuthHttp, source: TokenSource, refresh: string): Promise<TokenGrantResult> {
  const parameters = { grant_type: 'refresh_token', refresh_token: refresh }
  const granted = await requestToken(http, source, parameters, 'the refresh token')
  return { ...granted, grant: { refresh, ...granted.grant } }
}
