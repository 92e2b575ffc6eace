import { hostname } from 'node:os'
import type { Configuration, CustomFetch, TokenEndpointResponse } from 'openid-client'
import { isObject } from '../../domain/is-object.ts'
import { isLoopback } from '../../domain/network/loopback.ts'
import { COMMAND_LINE_CLIENT, PRODUCT } from '../../domain/product.ts'
import { escapeText } from '../../domain/text/text.ts'
import { VERSION } from '../../domain/version.ts'
import type { Api } from './api.ts'
import { EXIT, Failure, usage } from './failure.ts'
import type { SignIn } from './account-file.ts'

const METADATA = '/.well-known/oauth-authorization-server'
const TIMEOUT_S = 20

/** The authorization server of a gateway. */
export interface AuthorizationServer {
  readonly config: Configuration
  /** Resource for which tokens are requested (RFC 8707): the REST API. */
  readonly resource: string
  /** Scopes that the server announces. */
  readonly scopes: readonly string[]
}

/** Names this machine, for the page that asks "did you start this?". */
const userAgent = () =>
  `${PRODUCT}/${VERSION} (${hostname()
    .replace(/[^\w.-]/g, '')
    .slice(0, 64)})`

function checkTransport(registry: string): void {
  const { protocol, hostname: host } = new URL(registry)
  if (protocol === 'https:' || isLoopback(host)) return
  throw usage(`signing in at ${registry} needs https://`, 'the tokens could be read in transit')
}

/** Throws unless the metadata belongs to the gateway and names only endpoints of it. */
function checkMetadata(metadata: Readonly<Record<string, unknown>>, registry: string): string {
  const { issuer } = metadata
  if (typeof issuer !== 'string' || !URL.canParse(issuer))
    throw new Failure(EXIT.failed, `the sign-in metadata of ${registry} has no issuer`)
  if (issuer.replace(/\/$/, '') !== registry)
    throw usage(
      `the gateway calls itself ${escapeText(issuer, 300)}, not ${registry}`,
      `run \`${PRODUCT} login --registry ${escapeText(issuer, 300)}\``
    )
  for (const [name, value] of Object.entries(metadata)) {
    if (!name.endsWith('_endpoint') || typeof value !== 'string') continue
    if (!URL.canParse(value) || new URL(value).origin !== new URL(issuer).origin)
      throw new Failure(EXIT.failed, `the sign-in metadata of ${registry} names a ${name} elsewhere`)
  }
  return issuer
}

/** Sends a request of the OAuth library with our own user agent. */
const send: CustomFetch = (url, options) =>
  fetch(url, { ...options, headers: { ...options.headers, 'user-agent': userAgent() } } as RequestInit)

/** Finds the authorization server of the gateway; undefined if people do not sign in there. */
export async function findAuthorizationServer(api: Api): Promise<AuthorizationServer | undefined> {
  let metadata: unknown
  try {
    metadata = (await api.send('GET', METADATA, undefined, { token: null })).body
  } catch (error) {
    if (error instanceof Failure && [EXIT.notFound, EXIT.refused].includes(error.exitCode as 3)) return undefined
    throw error
  }
  if (!isObject(metadata)) return undefined
  checkTransport(api.registry)
  const issuer = checkMetadata(metadata, api.registry)
  const { Configuration, None, allowInsecureRequests, customFetch } = await import('openid-client')
  const config = new Configuration({ ...metadata, issuer }, COMMAND_LINE_CLIENT, undefined, None())
  config.timeout = TIMEOUT_S
  Object.assign(config, { [customFetch]: send })
  // loopback only, see checkTransport
  if (new URL(issuer).protocol === 'http:') allowInsecureRequests(config)
  const scopes = metadata.scopes_supported
  return {
    config,
    resource: `${api.registry}/api`,
    scopes: Array.isArray(scopes) ? scopes.filter((scope) => typeof scope === 'string') : []
  }
}

/** Returns what is stored of a token response. `before`: its refresh token stays if the server sends no new one. */
export function toSignIn(tokens: TokenEndpointResponse, before?: SignIn): SignIn {
  const refresh = tokens.refresh_token ?? before?.refresh_token
  const lifetimeMs = (tokens.expires_in ?? 600) * 1_000
  return {
    access_token: tokens.access_token,
    expires_at: new Date(Date.now() + lifetimeMs).toISOString(),
    ...(refresh === undefined ? {} : { refresh_token: refresh })
  }
}

/** Returns the OAuth error code of a refused request (RFC 6749 5.2); undefined for any other error. */
export function oauthErrorOf(error: unknown): string | undefined {
  const code = error instanceof Error && 'error' in error ? error.error : undefined
  return typeof code === 'string' ? escapeText(code, 60) : undefined
}

/** Converts an error of the OAuth library to a Failure; a Failure stays as it is. */
export function signInFailure(error: unknown, what: string): Failure {
  if (error instanceof Failure) return error
  const code = oauthErrorOf(error)
  if (code !== undefined) return new Failure(EXIT.refused, `${what} was refused (${code})`, { code: 'sign_in_refused' })
  const isLate = error instanceof Error && /timeout|abort/i.test(`${error.name} ${(error.cause as Error)?.name ?? ''}`)
  const why = isLate ? 'timed out' : 'failed'
  return new Failure(isLate ? EXIT.failed : EXIT.unreachable, `${what} ${why}`, {
    cause: error,
    code: 'sign_in_failed'
  })
}
