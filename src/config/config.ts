import { isIPv6 } from 'node:net'
import { resolve } from 'node:path'
import type { EgressRule, EgressRules } from '../domain/network/egress.ts'
import { isLoopback } from '../domain/network/loopback.ts'
import { ENV_PREFIX } from '../domain/product.ts'
import { defaultDataDirectory } from './data-directory.ts'
import { thisHost, type Host } from './host.ts'
import { SettingError } from './setting-values.ts'
import { settings, type Setting } from './settings.ts'

/** Address to which events are posted, with the key of the signature. */
export interface WebhookTarget {
  readonly url: string
  readonly secret: string
}

/** OpenAI-compatible endpoint for vectors. */
export interface EmbeddingsConfig {
  /** Without `/embeddings` and a trailing slash */
  readonly url: string
  readonly model: string
  readonly key: string | undefined
}

/** Parsed settings of the process (http-contract.md#modes). On the server, only this module reads the environment. */
export interface Config {
  readonly mode: 'development' | 'enterprise'
  readonly host: string
  readonly port: number
  /** Processes that serve the port. */
  readonly workers: number
  /** PostgreSQL URL; undefined selects the embedded store in `dataDir`. */
  readonly databaseUrl: string | undefined
  /**
   * Direct PostgreSQL URL for LISTEN and migrations, bypassing a transaction-mode pooler; undefined with the embedded
   * store.
   */
  readonly directDatabaseUrl: string | undefined
  /** Absolute path of the folder for the embedded store and, unless a key is configured, the encryption key file. */
  readonly dataDir: string
  /** 32 bytes; undefined selects a key file in `dataDir`, created when missing. */
  readonly encryptionKey: Buffer | undefined
  /** 32 bytes; the previous key, during a key rotation. */
  readonly previousKey: Buffer | undefined
  /** Enterprise mode: access token of the first administrator, used to initialise an empty database at start. */
  readonly adminToken: string | undefined
  /** Name of the setting or path of the file from which it was read, to tell people where their token is. */
  readonly adminTokenPlace: string
  /** Enterprise mode: bearer secret required by `POST /init`. */
  readonly initSecret: string | undefined
  /** Seconds without contact to the database after which requests are refused; 0 disables the limit. */
  readonly staleLimitS: number
  readonly demo: boolean
  readonly otel: boolean
  /** Bearer token required by `GET /metrics`; undefined: none. */
  readonly metricsToken: string | undefined
  /** Enables trace export; the OpenTelemetry SDK reads the endpoint from the environment. */
  readonly traces: boolean
  /** Access to `/openapi.json` and `/docs`: everybody, administrators, nobody. */
  readonly docs: 'on' | 'admin' | 'off'
  /** Without a trailing slash; undefined: derived from each request. */
  readonly publicUrl: string | undefined
  /** URL of the metadata document by which authorization servers of upstreams know the gateway. */
  readonly upstreamClientId: string | undefined
  /** Trace context sent to upstreams. */
  readonly traceContext: 'off' | 'own' | 'all'
  /** Host names (no port) accepted besides loopback names and the public URL's; null: any (enterprise default). */
  readonly allowedHosts: readonly string[] | null
  readonly allowedOrigins: readonly string[]
  /** Networks of reverse proxies whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies: readonly EgressRule[]
  readonly logLevel: 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent'
  /** Undefined: text on a terminal and in development mode, otherwise JSON. */
  readonly logFormat: 'text' | 'json' | undefined
  /** Opens the dashboard on a desktop terminal in development mode. */
  readonly openBrowser: boolean
  readonly stdio: {
    readonly enabled: boolean
    /** Absolute paths of the executables that stdio servers may run; null: any. */
    readonly commands: readonly string[] | null
    readonly uid: number | undefined
    readonly gid: number | undefined
    /** Working directory of stdio servers; undefined: a new empty folder for each process. */
    readonly cwd: string | undefined
    readonly maxProcesses: number
    /** In enterprise mode. */
    readonly processesPerPrincipal: number
    readonly maxQueue: number
    /** The gateway's environment, of which child processes get a few harmless variables. */
    readonly environment: Environment
  }
  /** Egress rules in addition to the built-in denials. */
  readonly egress: EgressRules
  /** Treatment of results that contain secrets of their own server. */
  readonly resultSecrets: 'redact' | 'block' | 'off'
  readonly auth: AuthConfig
  /** Serves the console, in enterprise mode. */
  readonly console: boolean
  /** Permission of users where no policy decides. */
  readonly policyDefault: 'allow' | 'deny'
  /** Path of a file with policies. */
  readonly policyFile: string | undefined
  /** Treatment of items whose names clients cannot use. */
  readonly toolNames: 'leave-out' | 'rename' | 'keep'
  /** Treatment of definitions that differ from the accepted ones, for servers without a policy of their own. */
  readonly definitions: 'follow' | 'pin' | 'block'
  readonly spareSessions: number
  /** Milliseconds between refreshes of the upstream lists; 0 = off. */
  readonly refreshIntervalMs: number
  readonly catalogue: {
    /** URL of the MCP registry that the catalogue is read from; undefined: the list of the package. */
    readonly registryUrl: string | undefined
    /** Patterns of the names that are shown and can be installed; undefined: all. */
    readonly allow: readonly string[] | undefined
  }
  /** Webhook that gets the calls that wait for an approval; undefined: none. */
  readonly approvalWebhook: WebhookTarget | undefined
  /** Webhook to which held definitions are posted; undefined: none. */
  readonly definitionsWebhook: WebhookTarget | undefined
  /** Endpoint for vectors of tools and queries; undefined: none. */
  readonly embeddings: EmbeddingsConfig | undefined
  readonly auditRetentionDays: number
  readonly callLog: {
    readonly enabled: boolean
    /** Also stores arguments and results. */
    readonly contents: boolean
    readonly retention: { readonly days: number; readonly rows: number }
  }
  readonly timeouts: {
    readonly connectMs: number
    readonly callTimeoutMs: number
    readonly callTotalMs: number
    readonly requestBodyMs: number
    readonly databaseConnectMs: number
    readonly databaseQueryMs: number
    readonly drainMs: number
    readonly sessionIdleMs: number
    /** Days */
    readonly taskHandleDays: number
    readonly oauthSessionMs: number
    readonly oauthRetentionMs: number
  }
  readonly limits: {
    readonly restBodyBytes: number
    readonly mcpBodyBytes: number
    readonly jsonDepth: number
    readonly jsonElements: number
    readonly batch: number
    readonly batchBytes: number
    readonly identifierBytes: number
    readonly headerBytes: number
    readonly upstreamResponseBytes: number
    readonly streamBufferBytes: number
    readonly sessions: number
    /** In enterprise mode. */
    readonly sessionsPerPrincipal: number
    /** In enterprise mode. */
    readonly subscriptionsPerPrincipal: number
    readonly subscriptionBytes: number
    readonly callBytes: number
    readonly pendingBytes: number
    readonly upstreamSessions: number
    /** In enterprise mode. */
    readonly upstreamSessionsPerPrincipal: number
    /** In enterprise mode. */
    readonly callsPerPrincipal: number
    /** Per minute and address, in enterprise mode. */
    readonly failedAuthentications: number
    readonly connections: number
    /** Per address or IPv6 /64 network. */
    readonly connectionsPerAddress: number
    /** Per connection. */
    readonly pipelinedRequests: number
    /** Sum over all connections. */
    readonly unsentBytes: number
    readonly unreadAnswerMs: number
    /** Per cent of the heap limit. */
    readonly heapPercent: number
    /** Memory of all processes that serve the port; default: that of the container or machine. */
    readonly memoryLimitBytes: number
    /** Per cent of `memoryLimitBytes`. */
    readonly memoryPercent: number
    readonly eventLoopLagMs: number
  }
}

/** The company's identity provider, and what its claims about a person mean. */
export interface ProviderConfig {
  readonly issuer: string
  /** Path of the claim with the groups, separated by dots. */
  readonly groupsClaim: string
  readonly nameClaim: string
  readonly adminGroups: readonly string[]
  readonly auditorGroups: readonly string[]
  /** Empty: everybody may sign in. */
  readonly requiredGroups: readonly string[]
  /** In lower case; empty: any. */
  readonly allowedDomains: readonly string[]
  readonly claimsMaxAgeMs: number
  /** `scim`: only users that the SCIM client has created may sign in. */
  readonly provision: 'jit' | 'scim'
}

/** OpenID provider at which people sign in. */
export interface OidcConfig extends ProviderConfig {
  readonly clientId: string
  /** Undefined: the gateway is a public client. */
  readonly clientSecret: string | undefined
  /** Undefined: what the provider announces. */
  readonly clientAuth: 'client_secret_basic' | 'client_secret_post' | undefined
  /** Separated by spaces. */
  readonly scopes: string
}

/** Provider that is itself the authorization server of the MCP endpoints. */
export interface ExternalConfig extends ProviderConfig {
  /** Values of `aud` that count besides the addresses of the endpoints. */
  readonly audience: readonly string[]
  /** Scopes that clients are told to ask the provider for. */
  readonly scopes: readonly string[]
}

/** Ways to authenticate in enterprise mode. */
export interface AuthConfig {
  /**
   * `embedded`: people sign in, and the gateway is the authorization server of its MCP endpoints. `external`: the identity
   * provider is.
   */
  readonly way: 'tokens' | 'embedded' | 'external'
  /** Undefined: nobody signs in at a provider. */
  readonly oidc: OidcConfig | undefined
  /** Undefined unless `way` is `external`. */
  readonly external: ExternalConfig | undefined
  /** Token of the SCIM client; undefined: there are no routes for it. */
  readonly scimToken: string | undefined
  /** Invited people sign in with a password. */
  readonly localSignIn: boolean
  readonly breakGlass: boolean
  readonly dcr: 'on' | 'off' | 'approve'
  readonly accessTokenMs: number
  /** Time without use. */
  readonly refreshTokenMs: number
  readonly browserSessionIdleMs: number
  readonly browserSessionMs: number
  readonly cimd: boolean
  /** Host names of client metadata documents; undefined: any. */
  readonly cimdHosts: readonly string[] | undefined
  readonly redirectSchemes: readonly string[]
  /** Issuers whose assertions about people are taken for tokens (ID-JAG). */
  readonly idJagIssuers: readonly string[]
}

/** Command-line flags; undefined if not given. */
export interface StartFlags {
  readonly port?: string | undefined
  readonly host?: string | undefined
  readonly enterprise?: boolean | undefined
  readonly databaseUrl?: string | undefined
  readonly dataDir?: string | undefined
  readonly otel?: boolean | undefined
  readonly demo?: boolean | undefined
  readonly logLevel?: string | undefined
  /** False for `--no-open`; commander sets true without the flag. */
  readonly open?: boolean | undefined
}

/** Refuses the start with exit code 2. The message is one line for the operator and contains no secret. */
export class ConfigError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'ConfigError'
  }
}

export type Environment = Readonly<Record<string, string | undefined>>
type Key = keyof typeof settings
type Value<K extends Key> = ReturnType<(typeof settings)[K]['parse']>
/** Settings with a fallback always have a value. */
type Reader = <K extends Key>(
  key: K
) => (typeof settings)[K] extends { fallback: string } ? Value<K> : Value<K> | undefined

const quoted = (value: string) => JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value)

function createReader(env: Environment, flags: StartFlags, readFile: (path: string) => string): Reader {
  const fromFile = (name: string, path: string): string => {
    try {
      return readFile(path).trim()
    } catch {
      throw new ConfigError(`${name}: the file ${quoted(path)} cannot be read`)
    }
  }
  const fromFlag = (key: Key): string | undefined => {
    if (key === 'mode') return flags.enterprise ? 'enterprise' : undefined
    if (key === 'openBrowser') return flags.open === false ? 'off' : undefined
    const value = flags[key as keyof StartFlags]
    return value === undefined ? undefined : String(value)
  }
  const find = (key: Key, { variable, flag, file }: Setting): { name: string; value: string } | undefined => {
    const flagged = fromFlag(key)
    if (flag && flagged !== undefined) return { name: flag, value: flagged }
    const inFile = `${variable}_FILE`
    const [plain, path] = [env[variable], file ? env[inFile] : undefined]
    if (plain && path) throw new ConfigError(`${variable} and ${inFile} are both set; remove one of them`)
    if (path) return { name: inFile, value: fromFile(inFile, path) }
    return plain ? { name: variable, value: plain } : undefined
  }
  return ((key: Key) => {
    const setting: Setting = settings[key]
    const { name, value } = find(key, setting) ?? { name: setting.variable, value: setting.fallback }
    if (value === undefined) return undefined
    try {
      return setting.parse(value)
    } catch (error) {
      if (!(error instanceof SettingError)) throw error
      throw new ConfigError(`${name} ${error.message}${setting.secret ? '' : `, not ${quoted(value)}`}`)
    }
  }) as Reader
}

/** Builds a database URL from the `POSTGRES_*` settings; undefined without `POSTGRES_HOST`. */
function urlOfParts(read: Reader): string | undefined {
  const host = read('postgresHost')
  if (host === undefined) return undefined
  const url = new URL('postgres://host')
  url.username = encodeURIComponent(read('postgresUser'))
  url.password = encodeURIComponent(read('postgresPassword') ?? '')
  url.port = String(read('postgresPort'))
  url.pathname = `/${encodeURIComponent(read('postgresDb'))}`
  if (host.startsWith('/')) url.searchParams.set('host', host)
  else url.hostname = isIPv6(host) ? `[${host}]` : host
  return url.href
}

/**
 * Returns the working directory of stdio servers. In enterprise mode each process gets its own folder, so that no
 * server sees files of another.
 */
function stdioFolder(read: Reader): string | undefined {
  const folder = read('stdioCwd') ?? (read('mode') === 'enterprise' ? undefined : '.')
  return folder === undefined ? undefined : resolve(folder)
}

function resolveDataDir(read: Reader, env: Environment, host: Host): string {
  const folder = read('dataDir')
  return folder === undefined ? defaultDataDirectory(env, host) : resolve(folder)
}

const readStdio = (read: Reader, environment: Environment): Config['stdio'] => ({
  enabled: read('stdio'),
  commands: read('stdioCommands') ?? null,
  uid: read('stdioUid'),
  gid: read('stdioGid'),
  cwd: stdioFolder(read),
  maxProcesses: read('stdioProcesses'),
  processesPerPrincipal: read('stdioProcessesPerPrincipal') ?? Math.ceil(read('stdioProcesses') / 2),
  maxQueue: read('stdioQueue'),
  environment
})

/** Returns a webhook; undefined if none is set. */
function readWebhook(read: Reader, of: 'approval' | 'definitions'): WebhookTarget | undefined {
  const url = read(`${of}WebhookUrl`)
  const secret = read(`${of}WebhookSecret`)
  if (url === undefined && secret === undefined) return undefined
  if (url !== undefined && secret !== undefined) return { url, secret }
  const [first, second] = ['URL', 'SECRET'].map((part) => `TOWPATH_${of.toUpperCase()}_WEBHOOK_${part}`)
  throw new ConfigError(`${first} and ${second} belong together; set both`)
}

/** Returns the endpoint for vectors; undefined if none is set. */
function readEmbeddings(read: Reader): EmbeddingsConfig | undefined {
  const [url, model, key] = [read('embeddingsUrl'), read('embeddingsModel'), read('embeddingsKey')]
  if (url !== undefined && model !== undefined) return { url, model, key }
  if (url === undefined && model === undefined && key === undefined) return undefined
  throw new ConfigError('TOWPATH_EMBEDDINGS_URL and TOWPATH_EMBEDDINGS_MODEL belong together; set both')
}

/** The embedded store keeps fewer rows by default: its queries block the event loop. */
const readCallLog = (read: Reader, databaseUrl: string | undefined): Config['callLog'] => ({
  enabled: read('callLog'),
  contents: read('callLogContents') ?? read('mode') === 'development',
  retention: {
    days: read('callLogDays'),
    rows: read('callLogRows') ?? (databaseUrl === undefined ? 100_000 : 1_000_000)
  }
})

const readTimeouts = (read: Reader): Config['timeouts'] => ({
  connectMs: read('connectMs'),
  callTimeoutMs: read('callTimeoutMs'),
  callTotalMs: read('callTotalMs'),
  requestBodyMs: read('requestBodyMs'),
  databaseConnectMs: read('databaseConnectMs'),
  databaseQueryMs: read('databaseQueryMs'),
  drainMs: read('drainMs'),
  sessionIdleMs: read('sessionIdleMs'),
  taskHandleDays: read('taskHandleDays'),
  oauthSessionMs: read('oauthSessionMs'),
  oauthRetentionMs: read('oauthRetentionMs')
})

const MIB = 1_048_576

/** Returns a part of the memory, between two numbers of MiB. */
const partOf = (memory: number, part: number, least: number, most: number): number =>
  Math.min(Math.max(Math.floor(memory * part), least * MIB), most * MIB)

/**
 * Reads the limits in bytes whose defaults follow from the memory of one process, so that all of them together, with
 * the heap, stay below it. The least values hold four of the largest messages: one server or user may use a quarter.
 */
function readMemory(read: Reader, host: Host) {
  const memoryLimitBytes = read('memoryLimitBytes') ?? host.memoryBytes
  const memory = memoryLimitBytes / read('workers')
  return {
    memoryLimitBytes,
    callBytes: read('callBytes') ?? partOf(memory, 1 / 16, 16, 128),
    pendingBytes: read('pendingBytes') ?? partOf(memory, 1 / 8, 64, 256),
    unsentBytes: read('unsentBytes') ?? partOf(memory, 1 / 16, 16, 128)
  }
}

const readLimits = (read: Reader, host: Host): Config['limits'] => ({
  ...readMemory(read, host),
  restBodyBytes: read('restBodyBytes'),
  mcpBodyBytes: read('mcpBodyBytes'),
  jsonDepth: read('jsonDepth'),
  jsonElements: read('jsonElements'),
  batch: read('batch'),
  batchBytes: read('batchBytes'),
  identifierBytes: read('identifierBytes'),
  headerBytes: read('headerBytes'),
  upstreamResponseBytes: read('upstreamResponseBytes'),
  streamBufferBytes: read('streamBufferBytes'),
  sessions: read('sessions'),
  sessionsPerPrincipal: read('sessionsPerPrincipal'),
  subscriptionsPerPrincipal: read('subscriptionsPerPrincipal'),
  subscriptionBytes: read('subscriptionBytes'),
  upstreamSessions: read('upstreamSessions'),
  upstreamSessionsPerPrincipal: read('upstreamSessionsPerPrincipal'),
  callsPerPrincipal: read('callsPerPrincipal'),
  failedAuthentications: read('failedAuthentications'),
  connections: read('connections'),
  connectionsPerAddress: read('connectionsPerAddress'),
  pipelinedRequests: read('pipelinedRequests'),
  unreadAnswerMs: read('unreadAnswerMs'),
  heapPercent: read('heapPercent'),
  memoryPercent: read('memoryPercent'),
  eventLoopLagMs: read('eventLoopLagMs')
})

const present = (names: readonly string[], env: Environment) => names.filter((name) => env[name])

const plainSecrets = Object.values<Setting>(settings).flatMap(({ variable, secret }) => (secret ? [variable] : []))
const enterpriseOnly = [settings.adminToken, settings.initSecret].flatMap(({ variable }) => [
  variable,
  `${variable}_FILE`
])

function modeWarnings({ mode, host, stdio }: Config, env: Environment): string[] {
  if (mode === 'development') {
    const open = isLoopback(host)
      ? []
      : [`listening on ${host} without authentication: anyone who reaches this port can run commands on this machine`]
    return [...open, ...present(enterpriseOnly, env).map((name) => `${name} has no effect in development mode`)]
  }
  const readable = present(plainSecrets, env)
  if (readable.length === 0 || !stdio.enabled || stdio.uid !== undefined) return []
  return [
    `stdio servers run as the user of the gateway and can read ${readable.join(', ')} from its environment: ` +
      'use the …_FILE variables, or run them as another user with TOWPATH_STDIO_UID'
  ]
}

function warningsOf(config: Config, env: Environment, flags: StartFlags): string[] {
  const known = new Set(Object.values<Setting>(settings).flatMap(({ variable }) => [variable, `${variable}_FILE`]))
  const unknown = Object.keys(env).filter((name) => name.startsWith(ENV_PREFIX) && env[name] && !known.has(name))
  const warnings = unknown.sort().map((name) => `${name} is not a setting of this version and has no effect`)
  warnings.push(...modeWarnings(config, env))
  if (flags.databaseUrl && new URL(flags.databaseUrl).password) {
    warnings.push('a password in --database-url is visible in the process list; use DATABASE_URL or DATABASE_URL_FILE')
  }
  return warnings
}

/**
 * Requires a configured key with PostgreSQL in enterprise mode: other replicas could not decrypt with a local key file.
 */
function checkKey({ mode, databaseUrl, encryptionKey }: Config): void {
  if (mode === 'development' || databaseUrl === undefined || encryptionKey) return
  throw new ConfigError(
    'TOWPATH_ENCRYPTION_KEY, or TOWPATH_ENCRYPTION_KEY_FILE, is required in enterprise mode with PostgreSQL: ' +
      '32 random bytes as base64, the same for every replica (create one with "openssl rand -base64 32")'
  )
}

/** The embedded store serves one process, and the sockets between workers are private folders' files. */
function checkWorkers({ workers, databaseUrl }: Config, { platform }: Host): void {
  if (workers === 1) return
  if (databaseUrl === undefined) {
    throw new ConfigError(
      `TOWPATH_WORKERS=${workers} needs PostgreSQL, set DATABASE_URL: the embedded store serves one process`
    )
  }
  if (platform === 'win32') throw new ConfigError('TOWPATH_WORKERS is for Linux and macOS; on Windows use replicas')
}

function readOidc(read: Reader): OidcConfig | undefined {
  const [issuer, clientId] = [read('oidcIssuer'), read('oidcClientId')]
  if (issuer === undefined && clientId === undefined) return undefined
  if (issuer === undefined || clientId === undefined) {
    throw new ConfigError('TOWPATH_OIDC_ISSUER and TOWPATH_OIDC_CLIENT_ID belong together; set both')
  }
  return {
    ...readProvider(read, issuer),
    clientId,
    clientSecret: read('oidcClientSecret'),
    clientAuth: read('oidcClientAuth'),
    scopes: read('oidcScopes')
  }
}

const readProvider = (read: Reader, issuer: string): ProviderConfig => ({
  issuer,
  groupsClaim: read('oidcGroupsClaim'),
  nameClaim: read('oidcNameClaim'),
  adminGroups: read('oidcAdminGroups') ?? [],
  auditorGroups: read('oidcAuditorGroups') ?? [],
  requiredGroups: read('oidcRequiredGroups') ?? [],
  allowedDomains: (read('oidcAllowedDomains') ?? []).map((domain) => domain.toLowerCase()),
  claimsMaxAgeMs: read('oidcClaimsMaxAgeMs'),
  provision: read('oidcProvision')
})

function readExternal(read: Reader): ExternalConfig {
  const issuer = read('oidcIssuer')
  if (issuer === undefined) throw new ConfigError('TOWPATH_AUTH=external needs TOWPATH_OIDC_ISSUER')
  const scopes = read('externalScopes')?.split(' ') ?? []
  return { ...readProvider(read, issuer), audience: read('externalAudience') ?? [], scopes }
}

/** In development mode everybody is the only user. */
function readAuth(read: Reader): AuthConfig {
  const way = read('mode') === 'enterprise' ? read('auth') : 'tokens'
  const isExternal = way === 'external'
  return {
    way,
    oidc: isExternal ? undefined : readOidc(read),
    external: isExternal ? readExternal(read) : undefined,
    ...readSignIn(read)
  }
}

const readSignIn = (read: Reader): Omit<AuthConfig, 'way' | 'oidc' | 'external'> => ({
  scimToken: read('scimToken'),
  localSignIn: read('localSignIn'),
  breakGlass: read('breakGlass'),
  dcr: read('oauthDcr'),
  accessTokenMs: read('accessTokenMs'),
  refreshTokenMs: read('refreshTokenMs'),
  browserSessionIdleMs: read('browserSessionIdleMs'),
  browserSessionMs: read('browserSessionMs'),
  cimd: read('oauthCimd'),
  cimdHosts: read('oauthCimdHosts'),
  redirectSchemes: read('oauthRedirectSchemes'),
  idJagIssuers: read('idJagIssuers') ?? []
})

/** Refuses settings of sign-in that would have no effect, or let nobody in. */
function checkSignIn({ way, oidc, external, localSignIn, scimToken, idJagIssuers }: AuthConfig): void {
  if (idJagIssuers.length > 0 && (way !== 'embedded' || !oidc)) {
    throw new ConfigError('TOWPATH_ID_JAG_ISSUERS needs TOWPATH_AUTH=embedded and TOWPATH_OIDC_ISSUER')
  }
  if (localSignIn && way !== 'embedded') throw new ConfigError('TOWPATH_LOCAL_SIGN_IN=on needs TOWPATH_AUTH=embedded')
  const provider = oidc ?? external
  if (scimToken !== undefined && (way === 'tokens' || !provider)) {
    throw new ConfigError('TOWPATH_SCIM_TOKEN needs TOWPATH_AUTH=embedded or external, and TOWPATH_OIDC_ISSUER')
  }
  if (provider?.provision === 'scim' && scimToken === undefined) {
    throw new ConfigError('TOWPATH_OIDC_PROVISION=scim needs TOWPATH_SCIM_TOKEN')
  }
}

/** A file with policies that would have no effect is a mistake: development mode lets everybody do everything. */
function checkPolicyFile({ mode, policyFile }: Config): void {
  if (mode === 'development' && policyFile !== undefined)
    throw new ConfigError('TOWPATH_POLICY_FILE needs SERVER_MODE=enterprise')
}

/** The console is for people who sign in. */
function checkConsole({ console, auth }: Config): void {
  if (console && auth.way !== 'embedded') {
    throw new ConfigError('TOWPATH_CONSOLE=on needs TOWPATH_AUTH=embedded, with which people sign in')
  }
}

/** Requires an address for sign-in that nobody on the way can read or change (OAuth 2.1, 1.5). */
function checkAuth({ mode, auth, publicUrl }: Config): void {
  if (mode === 'enterprise') checkSignIn(auth)
  if (auth.way === 'tokens') return
  const url = publicUrl === undefined ? undefined : new URL(publicUrl)
  if (url && (url.protocol === 'https:' || isLoopback(url.hostname))) return
  throw new ConfigError(
    `TOWPATH_AUTH=${auth.way} needs TOWPATH_PUBLIC_URL, the address of the gateway for clients: ` +
      'https://…, or http://… with a loopback host'
  )
}

/**
 * Reads flags, variables and the files named by variables. Pure except for `readFile` and `host`. Throws ConfigError.
 * `warnings` are lines to print at start.
 */
export function readConfig(
  env: Environment,
  flags: StartFlags,
  readFile: (path: string) => string,
  host: Host = thisHost()
): { config: Config; warnings: readonly string[] } {
  const read = createReader(env, flags, readFile)
  const mode = read('mode')
  const isEnterprise = mode === 'enterprise'
  const databaseUrl = read('databaseUrl') ?? urlOfParts(read)
  const auth = readAuth(read)
  const config: Config = {
    mode,
    host: read('host') ?? (isEnterprise ? '0.0.0.0' : '127.0.0.1'),
    port: read('port'),
    workers: read('workers'),
    databaseUrl,
    directDatabaseUrl: databaseUrl && (read('directDatabaseUrl') ?? databaseUrl),
    dataDir: resolveDataDir(read, env, host),
    encryptionKey: read('encryptionKey'),
    previousKey: read('previousKey'),
    adminToken: read('adminToken'),
    adminTokenPlace: env[`${settings.adminToken.variable}_FILE`] ?? settings.adminToken.variable,
    initSecret: read('initSecret'),
    staleLimitS: read('staleLimitS') ?? (isEnterprise ? 3_600 : 0),
    demo: read('demo'),
    metricsToken: read('metricsToken'),
    otel: read('otel') ?? isEnterprise,
    traces: read('otlpEndpoint') !== undefined && read('otel') !== false,
    docs: read('docs'),
    publicUrl: read('publicUrl'),
    upstreamClientId: read('upstreamClientId'),
    traceContext: read('traceContext'),
    allowedHosts: read('allowedHosts') ?? (isEnterprise ? null : []),
    allowedOrigins: read('allowedOrigins') ?? [],
    trustedProxies: (read('trustedProxies') ?? []).flat(),
    logLevel: read('logLevel'),
    logFormat: read('logFormat'),
    openBrowser: read('openBrowser'),
    stdio: readStdio(read, env),
    egress: { deny: (read('egressDeny') ?? []).flat(), allow: (read('egressAllow') ?? []).flat() },
    resultSecrets: read('resultSecrets'),
    auth,
    console: isEnterprise && read('console'),
    policyDefault: read('policyDefault') ?? (auth.way === 'tokens' ? 'allow' : 'deny'),
    policyFile: read('policyFile'),
    toolNames: read('toolNames'),
    definitions: read('definitions') ?? (isEnterprise ? 'pin' : 'follow'),
    spareSessions: read('spareSessions'),
    refreshIntervalMs: read('refreshIntervalMs'),
    catalogue: { registryUrl: read('registryUrl'), allow: read('catalogueAllow') },
    approvalWebhook: readWebhook(read, 'approval'),
    definitionsWebhook: readWebhook(read, 'definitions'),
    embeddings: readEmbeddings(read),
    auditRetentionDays: read('auditRetentionDays'),
    callLog: readCallLog(read, databaseUrl),
    timeouts: readTimeouts(read),
    limits: readLimits(read, host)
  }
  checkKey(config)
  checkWorkers(config, host)
  checkAuth(config)
  checkConsole(config)
  checkPolicyFile(config)
  return { config, warnings: warningsOf(config, env, flags) }
}
