import { secureUrlProblem } from '../../domain/upstream-url.ts'
import { UpstreamFailure } from './failure.ts'
import type { OAuthHttp } from './oauth-http.ts'

/** What the `WWW-Authenticate` of a 401 says of how to get in (RFC 6750, RFC 9728). */
export interface Challenge {
  readonly resourceMetadata?: string
  readonly scope?: string
}

/** Metadata of an authorization server (RFC 8414), as far as it is used. */
export interface AuthorizationServer {
  readonly issuer: string
  readonly authorizationEndpoint: string
  readonly tokenEndpoint: string
  readonly registrationEndpoint: string | undefined
  /** How clients may authenticate; undefined where it does not say. */
  readonly authMethods: readonly string[] | undefined
  /** Whether it names itself in each authorization response (RFC 9207). */
  readonly namesIssuer: boolean
}

export interface Discovered {
  readonly server: AuthorizationServer
  /** Resource indicator of the upstream (RFC 8707). */
  readonly resource: string
  /** What the upstream asks for. */
  readonly scopes: readonly string[] | undefined
}

type Metadata = Readonly<Record<string, unknown>>

const RESOURCE = 'the resource metadata of the upstream'
const SERVER = 'the authorization server'
const ASSUME = '"oauth_assume_pkce": true'
const INSIDE = 'lies where the URL of the server does not (TOWPATH_EGRESS_ALLOW)'

const bad = (message: string) => new UpstreamFailure('bad_response', message)
const texts = (value: unknown): readonly string[] | undefined =>
  Array.isArray(value) && value.every((each) => typeof each === 'string') ? (value as string[]) : undefined

const parameter = (header: string, name: string) => {
  const found = new RegExp(`(?:^|[\\s,])${name}\\s*=\\s*(?:"((?:[^"\\\\]|\\\\.)*)"|([^\\s,"]+))`, 'i').exec(header)
  return found ? (found[1]?.replace(/\\(.)/g, '$1') ?? found[2]) : undefined
}

export function readChallenge(header: string | undefined): Challenge {
  if (header === undefined || !/(?:^|[\s,])bearer(?:\s|$)/i.test(header)) return {}
  const resourceMetadata = parameter(header, 'resource_metadata')
  const scope = parameter(header, 'scope')
  return { ...(resourceMetadata ? { resourceMetadata } : {}), ...(scope ? { scope } : {}) }
}

/** Where metadata of a kind may lie: with the path behind the well-known part, then without it. */
function wellKnown(url: URL, kind: string): string[] {
  const path = url.pathname.replace(/\/$/, '')
  const root = `${url.origin}/.well-known/${kind}`
  return path === '' ? [root] : [`${root}${path}`, root]
}

/** Same origin, and a path at or above that of the upstream. */
function covers(resource: string, upstream: URL): boolean {
  if (!URL.canParse(resource)) return false
  const { origin, pathname } = new URL(resource)
  const withSlash = (path: string) => (path.endsWith('/') ? path : `${path}/`)
  return origin === upstream.origin && withSlash(upstream.pathname).startsWith(withSlash(pathname))
}

/** The metadata that the upstream has of itself (RFC 9728), undefined where it has none. */
async function findResource(http: OAuthHttp, upstream: URL, { resourceMetadata: named }: Challenge) {
  const isNamed = named !== undefined && URL.canParse(named)
  if (isNamed && new URL(named).origin !== upstream.origin && secureUrlProblem(named)) {
    throw bad(`${RESOURCE}: is at a URL that ${secureUrlProblem(named)}`)
  }
  for (const url of [...(isNamed ? [named] : []), ...wellKnown(upstream, 'oauth-protected-resource')]) {
    const { status, body } = await http.get(url, RESOURCE)
    if (status !== 200 || typeof body?.resource !== 'string') continue
    if (!covers(body.resource, upstream)) throw bad(`${RESOURCE}: describes another resource`)
    return body
  }
  return undefined
}

/** RFC 8414 first, then OpenID Connect in both of its places. */
function serverCandidates(issuer: URL): string[] {
  const { origin } = issuer
  const path = issuer.pathname.replace(/\/$/, '')
  const oauth = `${origin}/.well-known/oauth-authorization-server${path}`
  const openid = `${origin}/.well-known/openid-configuration${path}`
  return path === '' ? [oauth, openid] : [oauth, openid, `${origin}${path}/.well-known/openid-configuration`]
}

/** `https://as.example` and `https://as.example/` are one URL; anything else has to be equal to the letter (RFC 8414, 3.3). */
const withoutRoot = (issuer: string) => issuer.replace(/^(https?:\/\/[^/?#]+)\/$/i, '$1')
const isSameIssuer = (told: string, asked: string) => withoutRoot(told) === withoutRoot(asked)

function endpoint(metadata: Metadata, name: string): string | undefined {
  const url = metadata[name]
  if (url === undefined) return undefined
  const problem = typeof url === 'string' ? secureUrlProblem(url) : 'must be text'
  if (problem) throw bad(`${SERVER}: its ${name} ${problem}`)
  return url as string
}

function required(metadata: Metadata, name: string): string {
  const url = endpoint(metadata, name)
  if (url === undefined) throw bad(`${SERVER}: has no ${name}`)
  return url
}

/** Servers that say nothing may check S256 all the same, as Entra ID does; only an administrator can know that. */
function checkPkce({ code_challenge_methods_supported: told }: Metadata, isAssumed: boolean): void {
  if (told === undefined ? isAssumed : texts(told)?.includes('S256')) return
  const problem = told === undefined ? 'does not announce PKCE with S256' : 'announces PKCE without S256'
  const advice = told === undefined ? `: if its documentation says that it checks S256, register with ${ASSUME}` : ''
  throw bad(`${SERVER}: ${problem}, without which a sign-in is not safe${advice}`)
}

/**
 * Throws UpstreamFailure where the authorization server cannot be used, or not safely. `assumesPkce`: one that announces no
 * PKCE at all is taken to check S256.
 */
export function readServer(metadata: Metadata, assumesPkce = false): AuthorizationServer {
  const lacks = (name: string, value: string) => texts(metadata[name])?.includes(value) === false
  checkPkce(metadata, assumesPkce)
  if (lacks('response_types_supported', 'code') || lacks('grant_types_supported', 'authorization_code')) {
    throw bad(`${SERVER}: does not support authorization codes`)
  }
  return {
    issuer: String(metadata.issuer),
    authorizationEndpoint: required(metadata, 'authorization_endpoint'),
    tokenEndpoint: required(metadata, 'token_endpoint'),
    registrationEndpoint: endpoint(metadata, 'registration_endpoint'),
    authMethods: texts(metadata.token_endpoint_auth_methods_supported),
    namesIssuer: metadata.authorization_response_iss_parameter_supported === true
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
    if (!isSameIssuer(body.issuer, issuer)) throw bad(`${SERVER}: calls itself by another name than the upstream does`)
    return readServer(body, assumesPkce)
  }
  return undefined
}

/**
 * Finds the authorization server of an upstream that answered 401, undefined where nothing describes one. Without resource
 * metadata it is looked for at the upstream's own origin, as revision 2025-03-26 has it. Of several that the upstream names
 * the `expected` issuer is taken, else the first. `assumesPkce` is that of `readServer`. Rejects with UpstreamFailure.
 */
export async function discover(
  http: OAuthHttp,
  url: string,
  challenge: Challenge,
  expected: string | null,
  assumesPkce: boolean
): Promise<Discovered | undefined> {
  const upstream = new URL(url)
  const metadata = await findResource(http, upstream, challenge)
  const issuers = texts(metadata?.authorization_servers) ?? []
  const issuer = issuers.find((each) => each === expected) ?? issuers[0]
  if (issuer !== undefined && secureUrlProblem(issuer)) {
    throw bad(`${RESOURCE}: names an authorization server that ${secureUrlProblem(issuer)}`)
  }
  const server = await findServer(http, issuer ?? upstream.origin, assumesPkce)
  if (!server && issuer !== undefined) throw bad(`${SERVER}: has no metadata`)
  if (!server) return undefined
  // the browser of whoever signs in is not sent inside either
  if (!(await http.admits(server.authorizationEndpoint))) {
    throw bad(`${SERVER}: its authorization_endpoint ${INSIDE}`)
  }
  return {
    server,
    resource: typeof metadata?.resource === 'string' ? metadata.resource : url,
    scopes: challenge.scope?.split(' ') ?? texts(metadata?.scopes_supported)
  }
}
