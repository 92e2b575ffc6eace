import { isStringArray } from '../../domain/is-object.ts'
import { secureUrlProblem } from '../../domain/network/upstream-url.ts'
import { badResponse } from '../../protocol/upstream-failure.ts'
import type { Challenge } from '../http/challenge.ts'
import type { OAuthHttp } from './oauth-http.ts'

/** The used members of authorization server metadata (RFC 8414). */
export interface AuthorizationServer {
  readonly issuer: string
  readonly authorizationEndpoint: string
  readonly tokenEndpoint: string
  readonly registrationEndpoint: string | undefined
  /** Client authentication methods; undefined if the metadata has none. */
  readonly authMethods: readonly string[] | undefined
  /** True if the server sends its issuer in each authorization response (RFC 9207). */
  readonly namesIssuer: boolean
  /** True if a client may be known by the URL of its metadata document alone. */
  readonly readsClientDocuments: boolean
}

export interface DiscoveryResult {
  readonly server: AuthorizationServer
  /** Resource indicator of the upstream (RFC 8707). */
  readonly resource: string
  /** Scopes that the upstream asks for. */
  readonly scopes: readonly string[] | undefined
}

type Metadata = Readonly<Record<string, unknown>>

const RESOURCE = 'the resource metadata of the upstream'
const SERVER = 'the authorization server'
const ASSUME = '"oauth_assume_pkce": true'
const INSIDE = 'is on loopback or a private network, unlike the URL of the server (TOWPATH_EGRESS_ALLOW)'

const stringArray = (value: unknown): readonly string[] | undefined => (isStringArray(value) ? value : undefined)

/** Returns candidate URLs of a metadata document: with the path after the well-known part, then without it. */
function wellKnown(url: URL, kind: string): string[] {
  const path = url.pathname.replace(/\/$/, '')
  const root = `${url.origin}/.well-known/${kind}`
  return path === '' ? [root] : [`${root}${path}`, root]
}

/** True if `resource` has the upstream's origin and a path at or above the upstream's. */
function covers(resource: string, upstream: URL): boolean {
  if (!URL.canParse(resource)) return false
  const { origin, pathname } = new URL(resource)
  const withSlash = (path: string) => (path.endsWith('/') ? path : `${path}/`)
  return origin === upstream.origin && withSlash(upstream.pathname).startsWith(withSlash(pathname))
}

/** Fetches the upstream's resource metadata (RFC 9728); undefined if there is none. */
async function findResource(http: OAuthHttp, upstream: URL, { resourceMetadata: named }: Challenge) {
  const isNamed = named !== undefined && URL.canParse(named)
  if (isNamed && new URL(named).origin !== upstream.origin && secureUrlProblem(named)) {
    throw badResponse(`${RESOURCE}: is at a URL that ${secureUrlProblem(named)}`)
  }
  for (const url of [...(isNamed ? [named] : []), ...wellKnown(upstream, 'oauth-protected-resource')]) {
    const { status, body } = await http.get(url, RESOURCE)
    if (status !== 200 || typeof body?.resource !== 'string') continue
    if (!covers(body.resource, upstream)) throw badResponse(`${RESOURCE}: describes another resource`)
    return body
  }
  return undefined
}

/** Returns the metadata URLs of RFC 8414, then both of OpenID Connect. */
function serverCandidates(issuer: URL): string[] {
  const { origin } = issuer
  const path = issuer.pathname.replace(/\/$/, '')
  const oauth = `${origin}/.well-known/oauth-authorization-server${path}`
  const openid = `${origin}/.well-known/openid-configuration${path}`
  return path === '' ? [oauth, openid] : [oauth, openid, `${origin}${path}/.well-known/openid-configuration`]
}

/**
 * Ignores the slash of an empty path: `https://as.example` and `https://as.example/` are one URL. Any other difference
 * counts (RFC 8414, 3.3).
 */
const withoutRoot = (issuer: string) => issuer.replace(/^(https?:\/\/[^/?#]+)\/$/i, '$1')
const isSameIssuer = (announced: string, expected: string) => withoutRoot(announced) === withoutRoot(expected)

function endpoint(metadata: Metadata, name: string): string | undefined {
  const url = metadata[name]
  if (url === undefined) return undefined
  const problem = typeof url === 'string' ? secureUrlProblem(url) : 'must be text'
  if (problem) throw badResponse(`${SERVER}: its ${name} ${problem}`)
  return url as string
}

function required(metadata: Metadata, name: string): string {
  const url = endpoint(metadata, name)
  if (url === undefined) throw badResponse(`${SERVER}: has no ${name}`)
  return url
}

/**
 * Throws unless the server announces PKCE with S256. Some servers, such as Entra ID, check S256 without announcing it;
 * only an administrator can know that and set `isAssumed`.
 */
function checkPkce({ code_challenge_methods_supported: announced }: Metadata, isAssumed: boolean): void {
  if (announced === undefined ? isAssumed : stringArray(announced)?.includes('S256')) return
  const problem = announced === undefined ? 'does not announce PKCE with S256' : 'announces PKCE without S256'
  const advice =
    announced === undefined ? `: if its documentation says that it checks S256, register with ${ASSUME}` : ''
  throw badResponse(`${SERVER}: ${problem}, without which a sign-in is not safe${advice}`)
}

/**
 * Reads authorization server metadata. Throws UpstreamFailure if the server cannot be used, or not safely.
 * `assumesPkce`: a server that announces no PKCE at all is assumed to check S256.
 */
export function readServer(metadata: Metadata, assumesPkce = false): AuthorizationServer {
  const lacks = (name: string, value: string) => stringArray(metadata[name])?.includes(value) === false
  checkPkce(metadata, assumesPkce)
  if (lacks('response_types_supported', 'code') || lacks('grant_types_supported', 'authorization_code')) {
    throw badResponse(`${SERVER}: does not support authorization codes`)
  }
  return {
    issuer: String(metadata.issuer),
    authorizationEndpoint: required(metadata, 'authorization_endpoint'),
    tokenEndpoint: required(metadata, 'token_endpoint'),
    registrationEndpoint: endpoint(metadata, 'registration_endpoint'),
    authMethods: stringArray(metadata.token_endpoint_auth_methods_supported),
    namesIssuer: metadata.authorization_response_iss_parameter_supported === true,
    readsClientDocuments:
      metadata.client_id_metadata_document_supported === true && !lacks('token_endpoint_auth_methods_supported', 'none')
  }
}

async function findServer(
  http: OAuthHttp,
  issuer: string,
  assumesPkce: boolean
): Promise<AuthorizationServer | undefined> {
  for (const url of serverCandidates(new URL(issuer))) {
    const { status, body } = await http.get(url, SERVER)
    if (status !== 200 || typeof body?.issuer !== 'string') continue
    if (!isSameIssuer(body.issuer, issuer)) throw badResponse(`${SERVER}: has another issuer than the upstream names`)
    return readServer(body, assumesPkce)
  }
  return undefined
}

/**
 * Finds the authorization server of an upstream that answered 401; undefined if no metadata exists. Without resource
 * metadata the upstream's own origin is tried, as in revision 2025-03-26. Of several servers the `expected` issuer is
 * preferred, else the first is used. `assumesPkce` as in `readServer`. Rejects with UpstreamFailure.
 */
export async function discover(
  http: OAuthHttp,
  url: string,
  challenge: Challenge,
  expected: string | null,
  assumesPkce: boolean
): Promise<DiscoveryResult | undefined> {
  const upstream = new URL(url)
  const metadata = await findResource(http, upstream, challenge)
  const issuers = stringArray(metadata?.authorization_servers) ?? []
  const issuer = issuers.find((each) => each === expected) ?? issuers[0]
  if (issuer !== undefined && secureUrlProblem(issuer)) {
    throw badResponse(`${RESOURCE}: names an authorization server that ${secureUrlProblem(issuer)}`)
  }
  const server = await findServer(http, issuer ?? upstream.origin, assumesPkce)
  if (!server && issuer !== undefined) throw badResponse(`${SERVER}: has no metadata`)
  if (!server) return undefined
  // the user's browser must not be sent to an internal address either
  if (!(await http.isAllowed(server.authorizationEndpoint))) {
    throw badResponse(`${SERVER}: its authorization_endpoint ${INSIDE}`)
  }
  return {
    server,
    resource: typeof metadata?.resource === 'string' ? metadata.resource : url,
    scopes: challenge.scope?.split(' ') ?? stringArray(metadata?.scopes_supported)
  }
}
