import { isHeaderName, isHeaderValue, isReservedHeader } from '../domain/http-fields.ts'
import { MASK, isMaskedArgument, isMaskedUrl } from '../domain/secret-parts.ts'
import { secureUrlProblem, upstreamUrlProblem } from '../domain/upstream-url.ts'
import { invalid } from '../errors.ts'
import type { ServerConfig } from '../registry/model.ts'
import type { ServerInput } from '../schemas/server.ts'

type Map = Readonly<Record<string, string>>

/** Messages name members and headers, never a value: it may be a secret. */
const refuse = (member: string, problem: string) => invalid(`"${member}" ${problem}`)

function checkUrl(url: string | undefined, transport: string): string {
  if (!url) throw refuse('url', `is required for transport ${transport}`)
  const problem = upstreamUrlProblem(url)
  if (problem) throw refuse('url', problem)
  if (isMaskedUrl(url)) throw refuse('url', MASKED)
  return url
}

/** What a listing shows is no secret, and stored in the place of one it would break the server. */
const MASKED = `holds "${MASK}" in the place of a secret, as it is shown: give the secret itself`

function checkArguments(args: readonly string[]): readonly string[] {
  if (args.some((_arg, index) => isMaskedArgument(args, index))) throw refuse('args', MASKED)
  return args
}

function checkHeaders(headers: Map): Map {
  const seen = new Set<string>()
  for (const [name, value] of Object.entries(headers)) {
    const shown = JSON.stringify(name.slice(0, 64))
    const lower = name.toLowerCase()
    if (!isHeaderName(name)) throw refuse('headers', `has an entry ${shown}, which is not a valid header name`)
    if (isReservedHeader(name)) throw refuse('headers', `must not set ${shown}: the gateway sets it`)
    if (seen.has(lower)) throw refuse('headers', `names ${shown} twice; letter case makes no difference`)
    if (!isHeaderValue(value)) throw refuse('headers', `has a value of ${shown} that a header cannot carry`)
    seen.add(lower)
  }
  return headers
}

function checkToken(token: string): string {
  if (!/^[\x21-\x7e]+$/.test(token))
    throw refuse('bearer_token', 'must be visible ASCII characters without white space')
  return token
}

function checkEnv(env: Map): Map {
  for (const name of Object.keys(env)) {
    if (name === '' || name.includes('=')) throw refuse('env', 'has a name that is empty or holds "="')
    if (env[name] === MASK) throw refuse('env', MASKED)
  }
  return env
}

/** Keeps the members that have something to say; `exactOptionalPropertyTypes` knows no `undefined`. */
const present = <T extends object>(members: T) =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined && value !== '')) as {
    [K in keyof T]?: Exclude<T[K], undefined>
  }

function httpMembers(input: ServerInput) {
  const headers = checkHeaders(input.headers ?? {})
  return present({
    url: checkUrl(input.url, input.transport),
    bearer_token: input.bearer_token && checkToken(input.bearer_token),
    headers: Object.keys(headers).length > 0 ? headers : undefined
  })
}

function oauthMembers(input: ServerInput) {
  const { oauth_redirect_uri, oauth_client_id, oauth_client_secret, oauth_scopes, oauth_issuer } = input
  const oauth_assume_pkce = input.oauth_assume_pkce || undefined
  for (const [member, url] of Object.entries({ oauth_redirect_uri, oauth_issuer })) {
    const problem = url ? secureUrlProblem(url) : undefined
    if (problem) throw refuse(member, problem)
  }
  return present({
    oauth_redirect_uri,
    oauth_client_id,
    oauth_client_secret,
    oauth_scopes,
    oauth_issuer,
    oauth_assume_pkce
  })
}

function stdioMembers({ command, args, env }: ServerInput) {
  if (!command) throw refuse('command', 'is required for transport stdio')
  return present({ command, args: args && checkArguments(args), env: env && checkEnv(env) })
}

/**
 * The configuration that a registration asks for (http-contract.md#registration-input). Members of another transport
 * are accepted and dropped,
 * so that they are neither checked nor stored. Throws AppError 400.
 */
export function toServerConfig(input: ServerInput): ServerConfig {
  const { name, transport, description, session_mode = 'stateless' } = input
  return {
    name,
    transport,
    session_mode,
    ...present({ description }),
    ...(transport === 'stdio' ? stdioMembers(input) : httpMembers(input)),
    ...(transport === 'streamable_http' ? oauthMembers(input) : {})
  }
}
