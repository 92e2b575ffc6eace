import { readFingerprint } from '../domain/definitions/canonical.ts'
import { isHeaderName, isHeaderValue, isReservedHeader } from '../domain/network/http-fields.ts'
import { MASK, isMaskedArgument, isMaskedUrl } from '../domain/secrets/secret-parts.ts'
import { secureUrlProblem, upstreamUrlProblem } from '../domain/network/upstream-url.ts'
import { invalid } from '../lib/errors.ts'
import type { ServerConfig } from '../registry/model/model.ts'
import type { ServerInput } from '../schemas/server.ts'

type Map = Readonly<Record<string, string>>

/** Returns a 400 error that names the member and never its value, which may be a secret. */
const invalidMember = (member: string, problem: string) => invalid(`"${member}" ${problem}`)

function checkUrl(url: string | undefined, transport: string): string {
  if (!url) throw invalidMember('url', `is required for transport ${transport}`)
  const problem = upstreamUrlProblem(url)
  if (problem) throw invalidMember('url', problem)
  if (isMaskedUrl(url)) throw invalidMember('url', MASKED)
  return url
}

/** Rejects masked values copied from a listing: stored as the secret they would break the server. */
const MASKED = `contains the mask "${MASK}" instead of a secret: give the secret itself`

function checkArguments(args: readonly string[]): readonly string[] {
  if (args.some((_arg, index) => isMaskedArgument(args, index))) throw invalidMember('args', MASKED)
  return args
}

function checkHeaders(headers: Map): Map {
  const seen = new Set<string>()
  for (const [name, value] of Object.entries(headers)) {
    const shown = JSON.stringify(name.slice(0, 64))
    const lower = name.toLowerCase()
    if (!isHeaderName(name)) throw invalidMember('headers', `has an entry ${shown}, which is not a valid header name`)
    if (isReservedHeader(name)) throw invalidMember('headers', `must not set ${shown}: the gateway sets it`)
    if (seen.has(lower)) throw invalidMember('headers', `names ${shown} twice; letter case makes no difference`)
    if (!isHeaderValue(value)) throw invalidMember('headers', `has a value of ${shown} that a header cannot carry`)
    seen.add(lower)
  }
  return headers
}

function checkToken(token: string): string {
  if (!/^[\x21-\x7e]+$/.test(token))
    throw invalidMember('bearer_token', 'must be visible ASCII characters without white space')
  return token
}

function checkEnv(env: Map): Map {
  for (const name of Object.keys(env)) {
    if (name === '' || name.includes('=')) throw invalidMember('env', 'has a name that is empty or contains "="')
    if (env[name] === MASK) throw invalidMember('env', MASKED)
  }
  return env
}

/** Drops `undefined` and empty members, as `exactOptionalPropertyTypes` requires. */
const definedMembers = <T extends object>(members: T) =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined && value !== '')) as {
    [K in keyof T]?: Exclude<T[K], undefined>
  }

function httpMembers(input: ServerInput) {
  const headers = checkHeaders(input.headers ?? {})
  return definedMembers({
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
    if (problem) throw invalidMember(member, problem)
  }
  return definedMembers({
    oauth_redirect_uri,
    oauth_client_id,
    oauth_client_secret,
    oauth_scopes,
    oauth_issuer,
    oauth_assume_pkce
  })
}

function stdioMembers({ command, args, env }: ServerInput) {
  if (!command) throw invalidMember('command', 'is required for transport stdio')
  return definedMembers({ command, args: args && checkArguments(args), env: env && checkEnv(env) })
}

const readPins = (pins: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(pins).map(([item, text]) => [item, readFingerprint(text)]))

/**
 * Validates a registration and converts it to a server configuration (http-contract.md#registration-input). Members of
 * other transports are accepted but neither checked nor stored. Throws AppError 400.
 */
export function toServerConfig(input: ServerInput): ServerConfig {
  const { name, transport, description, session_mode = 'stateless' } = input
  return {
    name,
    transport,
    session_mode,
    ...definedMembers({ description }),
    ...(input.apps === false ? { apps: false } : {}),
    ...(input.trusted_annotations ? { trusted_annotations: true } : {}),
    ...definedMembers({ definitions: input.definitions, pins: input.pins && readPins(input.pins) }),
    ...(transport === 'stdio' ? stdioMembers(input) : httpMembers(input)),
    ...(transport === 'streamable_http' ? oauthMembers(input) : {})
  }
}
