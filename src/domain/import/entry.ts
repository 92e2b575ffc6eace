import { isObject } from '../is-object.ts'
import { parseBridge } from './bridge.ts'

/** Body of a registration (http-contract.md#registration-input); texts may contain `${NAME}` */
export interface Registration {
  readonly name: string
  readonly transport: string
  readonly description?: string
  readonly session_mode?: string
  readonly url?: string
  readonly bearer_token?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly command?: string
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly oauth_redirect_uri?: string
  readonly oauth_client_id?: string
  readonly oauth_client_secret?: string
  readonly oauth_scopes?: readonly string[]
  readonly oauth_issuer?: string
  readonly oauth_assume_pkce?: boolean
  readonly apps?: false
}

/** Findings about an entry */
export interface ImportFindings {
  /** Problems, each of which prevents the registration */
  readonly problems: string[]
  /** Changes made during the import */
  readonly notes: string[]
  /** Keys that have no meaning for the gateway */
  readonly ignored: string[]
}

type Members = Readonly<Record<string, unknown>>

/** Names that clients use for the address */
const urlKeys = ['url', 'serverUrl', 'httpUrl'] as const
const transportKeys = ['transport', 'type'] as const
/** Text members that need no conversion */
const textKeys = [
  'description',
  'session_mode',
  'bearer_token',
  'oauth_redirect_uri',
  'oauth_client_id',
  'oauth_client_secret',
  'oauth_issuer'
] as const
const knownKeys = new Set<string>([
  'name',
  'command',
  'args',
  'env',
  'headers',
  'oauth_scopes',
  'oauth_assume_pkce',
  'apps',
  ...urlKeys,
  ...transportKeys,
  ...textKeys
])

/** Returns true if an object can be the entry of one server. */
export const isEntry = (value: unknown): value is Members =>
  isObject(value) && ['command', ...urlKeys].some((key) => isGiven(value[key]))

/** Returns true for values that are set: MCPJungle's records contain every member, and the unset ones are empty. */
const isGiven = (value: unknown): boolean => value !== undefined && value !== null && value !== ''

const isScalar = (value: unknown): value is string | number | boolean =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'

function textList(value: unknown, key: string, { problems }: ImportFindings): string[] {
  if (!isGiven(value)) return []
  if (Array.isArray(value) && value.every(isScalar)) return value.map(String)
  problems.push(`"${key}" must be a list of texts`)
  return []
}

function textMap(value: unknown, key: string, { problems }: ImportFindings): Record<string, string> {
  if (!isGiven(value)) return {}
  if (isObject(value) && Object.values(value).every(isScalar))
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, String(each)]))
  problems.push(`"${key}" must be an object of texts`)
  return {}
}

function text(value: unknown, key: string, { problems }: ImportFindings): string | undefined {
  if (!isGiven(value)) return undefined
  if (typeof value === 'string') return value
  problems.push(`"${key}" must be text`)
  return undefined
}

function boolean(value: unknown, key: string, { problems }: ImportFindings): boolean | undefined {
  if (isGiven(value) && typeof value !== 'boolean') problems.push(`"${key}" must be true or false`)
  return typeof value === 'boolean' ? value : undefined
}

const transportsByName: Readonly<Record<string, string>> = {
  stdio: 'stdio',
  local: 'stdio',
  sse: 'sse',
  http: 'streamable_http',
  streamablehttp: 'streamable_http',
  remote: 'streamable_http'
}

/**
 * Returns the transport named by the entry; otherwise SSE if the path ends in `/sse`, and Streamable HTTP if it does
 * not.
 */
function transportOf(url: string, named: string | undefined): string {
  const normal = named === undefined ? undefined : transportsByName[named.toLowerCase().replace(/[-_ ]/g, '')]
  if (normal !== undefined && normal !== 'stdio') return normal
  return /\/sse\/?$/.test(url.replace(/[?#].*$/s, '')) ? 'sse' : 'streamable_http'
}

const bearer = /^bearer\s+(\S+)$/i

/** Moves a bearer token from the `Authorization` header to `bearer_token`, and keeps the other headers. */
function moveBearerToken(headers: Record<string, string>): Members {
  const entry = Object.entries(headers).find(([name]) => name.toLowerCase() === 'authorization')
  const token = entry && bearer.exec(entry[1])?.[1]
  if (!entry || token === undefined) return Object.keys(headers).length > 0 ? { headers } : {}
  const rest = Object.entries(headers).filter(([name]) => name !== entry[0])
  return { bearer_token: token, ...(rest.length > 0 ? { headers: Object.fromEntries(rest) } : {}) }
}

function commandOf(value: Members, remarks: ImportFindings): [command: string, ...args: string[]] | undefined {
  const given = Array.isArray(value.command) ? textList(value.command, 'command', remarks) : undefined
  const [command = '', ...before] = given ?? [text(value.command, 'command', remarks) ?? '']
  return command === '' ? undefined : [command, ...before, ...textList(value.args, 'args', remarks)]
}

function remoteServer(
  url: string,
  named: string | undefined,
  headers: Record<string, string>,
  common: Members
): Members {
  return { transport: transportOf(url, named), ...common, url, ...moveBearerToken(headers) }
}

function localServer(
  [command, ...args]: readonly string[],
  value: Members,
  common: Members,
  remarks: ImportFindings
): Members {
  const env = textMap(value.env, 'env', remarks)
  const bridge = parseBridge(command!, args, env)
  if (bridge) {
    remarks.notes.push(`the gateway connects to the address directly, without ${bridge.program}`)
    return remoteServer(bridge.url, bridge.transport, bridge.headers, common)
  }
  return {
    transport: 'stdio',
    ...common,
    command,
    ...(args.length > 0 ? { args } : {}),
    ...(Object.keys(env).length > 0 ? { env } : {})
  }
}

/** Converts an entry of any client to the members of a registration, except its name. */
export function registrationOf(value: Members, remarks: ImportFindings): Members {
  remarks.ignored.push(...Object.keys(value).filter((key) => !knownKeys.has(key)))
  const common = Object.fromEntries(
    textKeys.flatMap((key) => {
      const given = text(value[key], key, remarks)
      return given === undefined ? [] : [[key, given]]
    })
  )
  const scopes = textList(value.oauth_scopes, 'oauth_scopes', remarks)
  const all = {
    ...common,
    ...(scopes.length > 0 ? { oauth_scopes: scopes } : {}),
    ...(boolean(value.oauth_assume_pkce, 'oauth_assume_pkce', remarks) ? { oauth_assume_pkce: true } : {}),
    ...(boolean(value.apps, 'apps', remarks) === false ? { apps: false } : {})
  }
  const command = commandOf(value, remarks)
  const url = urlKeys.map((key) => text(value[key], key, remarks)).find((each) => each !== undefined)
  const named = transportKeys.map((key) => text(value[key], key, remarks)).find((each) => each !== undefined)
  if (named !== undefined && !(named.toLowerCase().replace(/[-_ ]/g, '') in transportsByName))
    remarks.problems.push(`the transport "${named}" is not known`)
  if (command && url !== undefined) remarks.problems.push('it has both a command and an address; only one is possible')
  if (command) return localServer(command, value, all, remarks)
  if (url !== undefined) return remoteServer(url, named, textMap(value.headers, 'headers', remarks), all)
  remarks.problems.push('it has no command and no address')
  return { transport: 'streamable_http', ...all }
}
