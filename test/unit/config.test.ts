import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import test from 'node:test'
import { ConfigError, readConfig, type Environment, type StartFlags } from '../../src/config/config.ts'
import type { Host } from '../../src/config/host.ts'
import { ENV_PREFIX } from '../../src/domain/product.ts'
import { VERSION } from '../../src/domain/version.ts'
import { configurationReference } from '../../src/reference/configuration.ts'

const files: Readonly<Record<string, string>> = {
  '/run/url': 'postgres://u:p@db/towpath\n',
  '/run/password': 'p@ss/w:rd\n',
  '/run/token': 'a-token-from-a-file\n'
}
const readFile = (path: string) => {
  const text = files[path]
  if (text === undefined) throw new Error('ENOENT')
  return text
}
const read = (env: Environment = {}, flags: StartFlags = {}) => readConfig(env, flags, readFile)
const refused = (env: Environment, flags: StartFlags = {}): string => {
  try {
    read(env, flags)
  } catch (error) {
    assert.ok(error instanceof ConfigError)
    return error.message
  }
  assert.fail('it was accepted')
}

/** A host on which only some folders exist. */
const host = (more: Partial<Host> = {}): Host => ({
  platform: 'linux',
  home: '/home/user',
  isPackage: true,
  isFolder: () => false,
  memoryBytes: 8 * 1_024 ** 3,
  ...more
})
const dataDirOf = (host: Host, env: Environment = {}) => readConfig(env, {}, readFile, host).config.dataDir

test("an installed package keeps its data in the platform's place, whatever the working directory", () => {
  const env = { XDG_DATA_HOME: '/data/of/user', LOCALAPPDATA: '/local' }
  assert.equal(dataDirOf(host()), '/home/user/.local/share/towpath')
  assert.equal(dataDirOf(host(), env), '/data/of/user/towpath')
  assert.equal(dataDirOf(host(), { XDG_DATA_HOME: 'relative' }), '/home/user/.local/share/towpath')
  assert.equal(dataDirOf(host({ platform: 'darwin' }), env), '/home/user/Library/Application Support/Towpath')
  assert.equal(dataDirOf(host({ platform: 'win32' }), env), '/local/Towpath')
  assert.equal(dataDirOf(host({ platform: 'win32' })), '/home/user/AppData/Local/Towpath')
})

test('./.towpath is used in a clone, and by an installed package where that folder exists', () => {
  const env = { XDG_DATA_HOME: '/data/of/user' }
  assert.equal(dataDirOf(host({ isPackage: false }), env), resolve('.towpath'))
  assert.equal(dataDirOf(host({ isFolder: (path) => path === resolve('.towpath') }), env), resolve('.towpath'))
  assert.equal(dataDirOf(host(), { ...env, TOWPATH_DATA_DIR: 'given' }), resolve('given'))
})

test('SR-H1 what may be kept in bytes follows from the memory, and settings win', () => {
  const GIB = 1_024 ** 3
  const inMib = (memoryBytes: number, env: Environment = {}) => {
    const { limits } = readConfig(env, {}, readFile, host({ memoryBytes })).config
    return [limits.pendingBytes, limits.callBytes, limits.unsentBytes].map((bytes) => bytes / 1_048_576)
  }
  assert.deepEqual(inMib(64 * GIB), [256, 128, 128])
  assert.deepEqual(inMib(2 * GIB), [256, 128, 128])
  assert.deepEqual(inMib(GIB), [128, 64, 64])
  assert.deepEqual(inMib(GIB / 8), [64, 16, 16])
  assert.deepEqual(inMib(64 * GIB, { TOWPATH_MEMORY_LIMIT_BYTES: String(GIB) }), [128, 64, 64])
  const workers = { TOWPATH_WORKERS: '2', DATABASE_URL: 'postgres://u@db/t' }
  assert.deepEqual(inMib(2 * GIB, workers), [128, 64, 64])
  const given = { TOWPATH_PENDING_BYTES: '1048576', TOWPATH_CALL_BYTES: '2097152', TOWPATH_UNSENT_BYTES: '3145728' }
  assert.deepEqual(inMib(GIB, given), [1, 2, 3])
})

test('nothing given: development mode on loopback with the embedded store and the published limits', () => {
  const { config, warnings } = readConfig({}, {}, readFile, host({ isPackage: false }))
  assert.deepEqual(warnings, [])
  assert.deepEqual(
    [config.mode, config.host, config.port, config.databaseUrl, config.directDatabaseUrl],
    ['development', '127.0.0.1', 8080, undefined, undefined]
  )
  assert.equal(config.dataDir, resolve('.towpath'))
  assert.deepEqual(config.allowedHosts, [])
  assert.deepEqual(config.limits, {
    restBodyBytes: 1_048_576,
    mcpBodyBytes: 4_194_304,
    jsonDepth: 64,
    jsonElements: 100_000,
    batch: 100,
    batchBytes: 4_194_304,
    identifierBytes: 8_192,
    subscriptionBytes: 33_554_432,
    callBytes: 134_217_728,
    pendingBytes: 268_435_456,
    headerBytes: 16_384,
    upstreamResponseBytes: 16_777_216,
    sessionsPerPrincipal: 1_000,
    subscriptionsPerPrincipal: 10_000,
    streamBufferBytes: 4_194_304,
    sessions: 10_000,
    upstreamSessions: 5_000,
    upstreamSessionsPerPrincipal: 500,
    callsPerPrincipal: 64,
    failedAuthentications: 600,
    connections: 20_000,
    connectionsPerAddress: 15_000,
    pipelinedRequests: 16,
    unsentBytes: 134_217_728,
    unreadAnswerMs: 60_000,
    heapPercent: 90,
    memoryLimitBytes: 8_589_934_592,
    memoryPercent: 85,
    eventLoopLagMs: 2_000
  })
  assert.deepEqual(config.timeouts, {
    connectMs: 30_000,
    callTimeoutMs: 60_000,
    callTotalMs: 300_000,
    requestBodyMs: 30_000,
    databaseConnectMs: 2_000,
    databaseQueryMs: 5_000,
    drainMs: 25_000,
    sessionIdleMs: 1_800_000,
    taskHandleDays: 30,
    oauthSessionMs: 600_000,
    oauthRetentionMs: 3_600_000
  })
  assert.equal(config.refreshIntervalMs, 300_000)
})

test('a flag wins over its variable', () => {
  const { config } = read({ PORT: '1', TOWPATH_DEMO: 'off' }, { port: '2', demo: true })
  assert.deepEqual([config.port, config.demo], [2, true])
})

test('an empty variable counts as absent', () => {
  assert.equal(read({ PORT: '', DATABASE_URL: '' }).config.port, 8080)
})

test('the value of a _FILE variable is the text of the file without the white space around it', () => {
  assert.equal(read({ DATABASE_URL_FILE: '/run/url' }).config.databaseUrl, 'postgres://u:p@db/towpath')
})

test('POSTGRES_ variables build a URL that escapes what needs it', () => {
  const { config } = read({ POSTGRES_HOST: 'db', POSTGRES_USER: 'a@b', POSTGRES_PASSWORD_FILE: '/run/password' })
  assert.equal(config.databaseUrl, 'postgres://a%40b:p%40ss%2Fw%3Ard@db:5432/postgres')
  assert.equal(config.directDatabaseUrl, config.databaseUrl)
})

test('workers need PostgreSQL, and a system with Unix sockets', () => {
  const workers = { TOWPATH_WORKERS: '4' }
  assert.equal(read().config.workers, 1)
  assert.equal(read({ ...workers, DATABASE_URL: 'postgres://x/y' }).config.workers, 4)
  assert.match(refused(workers), /^TOWPATH_WORKERS=4 needs PostgreSQL, set DATABASE_URL/)
  for (const wrong of ['0', '65', '-1', '1.5', 'all']) {
    assert.match(refused({ TOWPATH_WORKERS: wrong }), /^TOWPATH_WORKERS must be a whole number from 1 to 64/)
  }
  const windows = host({ platform: 'win32' })
  const url = { DATABASE_URL: 'postgres://x/y' }
  assert.throws(() => readConfig({ ...workers, ...url }, {}, readFile, windows), /on Windows use replicas/)
  assert.equal(readConfig(url, {}, readFile, windows).config.workers, 1)
})

test('DATABASE_URL wins over POSTGRES_ variables', () => {
  const { config } = read({ DATABASE_URL: 'postgres://x/y', POSTGRES_HOST: 'db' })
  assert.equal(config.databaseUrl, 'postgres://x/y')
})

test('an encryption key is 32 bytes as base64 or as hexadecimal digits', () => {
  const bytes = Buffer.alloc(32, 7)
  for (const text of [bytes.toString('base64'), bytes.toString('hex')]) {
    assert.deepEqual(read({ TOWPATH_ENCRYPTION_KEY: text }).config.encryptionKey, bytes)
  }
})

test('the public URL loses its trailing slash, origins are normalised', () => {
  const { config } = read({
    TOWPATH_PUBLIC_URL: 'https://gw.example.com/base/',
    TOWPATH_ALLOWED_ORIGINS: 'https://APP.example.com, http://localhost:6274/'
  })
  assert.equal(config.publicUrl, 'https://gw.example.com/base')
  assert.deepEqual(config.allowedOrigins, ['https://app.example.com', 'http://localhost:6274'])
})

const secret = 'SENTINEL'
const bad: readonly [name: string, value: string][] = [
  ['PORT', '80 80'],
  ['PORT', '-1'],
  ['PORT', '65536'],
  ['PORT', '0x50'],
  ['SERVER_MODE', 'prod'],
  ['DATABASE_URL', `mysql://u:${secret}@h/db`],
  ['DATABASE_URL', secret],
  ['POSTGRES_HOST', 'a/b'],
  ['TOWPATH_ENCRYPTION_KEY', secret],
  ['TOWPATH_ENCRYPTION_KEY', Buffer.alloc(31).toString('base64')],
  ['TOWPATH_ADMIN_TOKEN', `${secret} with space`],
  ['TOWPATH_ADMIN_TOKEN', secret],
  ['TOWPATH_INIT_SECRET', `${secret}ü0123456789`],
  ['TOWPATH_STALE_LIMIT', '1h'],
  ['TOWPATH_DEMO', 'maybe'],
  ['OTEL_ENABLED', 'si'],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318'],
  ['TOWPATH_LOG_LEVEL', 'loud'],
  ['TOWPATH_PUBLIC_URL', 'gw.example.com'],
  ['TOWPATH_PUBLIC_URL', 'https://u:p@gw.example.com'],
  ['TOWPATH_ALLOWED_HOSTS', 'https://gw.example.com'],
  ['TOWPATH_ALLOWED_HOSTS', 'gw.example.com:8080'],
  ['TOWPATH_ALLOWED_ORIGINS', '*'],
  ['TOWPATH_ALLOWED_ORIGINS', 'https://gw.example.com/path'],
  ['TOWPATH_STDIO', 'never'],
  ['TOWPATH_STDIO_COMMANDS', 'npx'],
  ['TOWPATH_STDIO_UID', 'nobody'],
  ['TOWPATH_CALL_TIMEOUT_MS', '0'],
  ['TOWPATH_CALL_TIMEOUT_MS', '1.5'],
  ['TOWPATH_REST_BODY_BYTES', '1MB'],
  ['TOWPATH_JSON_DEPTH_LEVELS', '65']
]
for (const [name, value] of bad) {
  test(`${name}=${value} is refused in one line that names it and shows no secret`, () => {
    const message = refused({ [name]: value })
    assert.ok(message.startsWith(name), message)
    assert.doesNotMatch(message, new RegExp(`\n|${secret}`))
  })
}

test('a bad flag is named as it was written', () => {
  assert.match(refused({}, { port: 'http' }), /^--port must be a whole number from 0 to 65535, not "http"$/)
})

test('a value and its file are not both accepted, nor is a file that cannot be read', () => {
  assert.match(refused({ DATABASE_URL: 'postgres://x/y', DATABASE_URL_FILE: '/run/url' }), /both set/)
  assert.equal(refused({ DATABASE_URL_FILE: '/gone' }), 'DATABASE_URL_FILE: the file "/gone" cannot be read')
})

const enterprise = { SERVER_MODE: 'enterprise' }

test('enterprise mode is asked for by flag or by variable in any letter case', () => {
  assert.equal(read({}, { enterprise: true }).config.mode, 'enterprise')
  assert.equal(read({ SERVER_MODE: 'Enterprise' }).config.mode, 'enterprise')
  assert.equal(read({ SERVER_MODE: 'DEVELOPMENT' }).config.mode, 'development')
})

test('enterprise mode has its own defaults, which settings replace', () => {
  const { config, warnings } = read(enterprise)
  assert.deepEqual(
    [config.host, config.allowedHosts, config.allowedOrigins, config.otel, config.stdio.cwd, config.staleLimitS],
    ['0.0.0.0', null, [], true, undefined, 3_600]
  )
  assert.deepEqual(warnings, [])
  const given = { HOST: '127.0.0.1', TOWPATH_ALLOWED_HOSTS: 'gw.lan', OTEL_ENABLED: 'off', TOWPATH_STDIO_CWD: '/srv' }
  const other = read({ ...enterprise, ...given, TOWPATH_STALE_LIMIT: '0' }).config
  assert.deepEqual(
    [other.host, other.allowedHosts, other.otel, other.stdio.cwd, other.staleLimitS],
    ['127.0.0.1', ['gw.lan'], false, '/srv', 0]
  )
})

test('enterprise mode on PostgreSQL needs an encryption key, the embedded store makes one', () => {
  const url = { DATABASE_URL: `postgres://u:${secret}@h/db` }
  const message = refused({ ...enterprise, ...url })
  assert.match(message, /^TOWPATH_ENCRYPTION_KEY, or TOWPATH_ENCRYPTION_KEY_FILE, is required in enterprise mode/)
  assert.doesNotMatch(message, new RegExp(secret))
  const key = Buffer.alloc(32, 7).toString('base64')
  assert.equal(read({ ...enterprise, ...url, TOWPATH_ENCRYPTION_KEY: key }).config.mode, 'enterprise')
  assert.equal(read(url).config.encryptionKey, undefined)
  assert.equal(read(enterprise).config.encryptionKey, undefined)
})

test('SE-11 secrets in variables that stdio servers can read warn once in enterprise mode, without showing them', () => {
  const secrets = { TOWPATH_ADMIN_TOKEN: `${secret}-0123456789`, DATABASE_URL: `postgres://u:${secret}@h/db` }
  const env = { ...enterprise, ...secrets, TOWPATH_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64') }
  const { warnings } = read(env)
  assert.equal(warnings.length, 1)
  assert.match(warnings[0]!, /can read DATABASE_URL, TOWPATH_ENCRYPTION_KEY, TOWPATH_ADMIN_TOKEN from its environment/)
  assert.doesNotMatch(warnings[0]!, new RegExp(secret))
  for (const safe of [{ TOWPATH_STDIO: 'off' }, { TOWPATH_STDIO_UID: '1000' }])
    assert.deepEqual(read({ ...env, ...safe }).warnings, [])
  assert.deepEqual(read({ ...enterprise, TOWPATH_ADMIN_TOKEN_FILE: '/run/token' }).warnings, [])
})

test('the administrator token and the init secret come from files too, and have no effect in development mode', () => {
  const given = { TOWPATH_ADMIN_TOKEN_FILE: '/run/token', TOWPATH_INIT_SECRET_FILE: '/run/token' }
  const { config } = read({ ...enterprise, ...given })
  assert.deepEqual([config.adminToken, config.initSecret], ['a-token-from-a-file', 'a-token-from-a-file'])
  assert.match(read(given).warnings.join(), /TOWPATH_ADMIN_TOKEN_FILE has no effect in development mode/)
})

test('DA-12 a bind wider than loopback warns, loopback does not', () => {
  assert.match(read({ HOST: '0.0.0.0' }).warnings.join(), /listening on 0\.0\.0\.0 without authentication/)
  for (const host of ['127.0.0.1', 'localhost', '::1']) assert.deepEqual(read({}, { host }).warnings, [])
})

test('a variable with our prefix that this version does not know is reported', () => {
  const { warnings } = read({ [`${ENV_PREFIX}PROT`]: '1', OTHER: 'x' })
  assert.deepEqual(warnings, ['TOWPATH_PROT is not a setting of this version and has no effect'])
})

test('a password in --database-url warns without showing it', () => {
  const { warnings } = read({}, { databaseUrl: `postgres://u:${secret}@h/db` })
  assert.match(warnings.join(), /DATABASE_URL_FILE/)
  assert.doesNotMatch(warnings.join(), new RegExp(secret))
})

test('docs/reference/configuration.md is what `npm run openapi` writes', () => {
  const path = new URL('../../docs/reference/configuration.md', import.meta.url)
  assert.equal(readFileSync(path, 'utf8'), configurationReference())
})

test('the version is the one in package.json', () => {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  assert.equal((JSON.parse(text) as { version: string }).version, VERSION)
})

test('traces are sent where there is a place for them, unless OpenTelemetry is off', () => {
  const OTEL_EXPORTER_OTLP_ENDPOINT = 'http://collector:4318'
  const of = (env: Record<string, string>) => {
    const { config } = readConfig(env, {}, () => '')
    return [config.otel, config.traces]
  }
  assert.deepEqual(of({}), [false, false])
  assert.deepEqual(of({ OTEL_EXPORTER_OTLP_ENDPOINT }), [false, true])
  assert.deepEqual(of({ OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_ENABLED: 'on' }), [true, true])
  assert.deepEqual(of({ OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_ENABLED: 'off' }), [false, false])
})

test('a file with policies is refused where there are no policies', () => {
  const file = { TOWPATH_POLICY_FILE: '/etc/towpath/policies.yaml' }
  assert.match(refused(file), /^TOWPATH_POLICY_FILE needs SERVER_MODE=enterprise$/)
})

test('sign-in with a password is refused where nobody signs in, and needs no OpenID provider', () => {
  const local = { SERVER_MODE: 'enterprise', TOWPATH_LOCAL_SIGN_IN: 'on' }
  assert.match(refused(local), /^TOWPATH_LOCAL_SIGN_IN=on needs TOWPATH_AUTH=embedded$/)
  const embedded = { ...local, TOWPATH_AUTH: 'embedded', TOWPATH_PUBLIC_URL: 'https://gw.example.com' }
  const { auth } = readConfig(embedded, {}, () => '').config
  assert.deepEqual([auth.localSignIn, auth.oidc], [true, undefined])
})

test('SCIM needs people who sign in at a provider, and provisioning by SCIM a token', () => {
  const provider = {
    SERVER_MODE: 'enterprise',
    TOWPATH_AUTH: 'embedded',
    TOWPATH_PUBLIC_URL: 'https://gw.example.com',
    TOWPATH_OIDC_ISSUER: 'https://idp.example.com',
    TOWPATH_OIDC_CLIENT_ID: 'towpath'
  }
  const scimToken = { TOWPATH_SCIM_TOKEN: 'scim-token-0123456789' }
  assert.match(refused({ ...provider, ...scimToken, TOWPATH_AUTH: 'tokens' }), /^TOWPATH_SCIM_TOKEN needs/)
  const withoutProvider = { TOWPATH_OIDC_ISSUER: '', TOWPATH_OIDC_CLIENT_ID: '' }
  assert.match(refused({ ...provider, ...scimToken, ...withoutProvider }), /^TOWPATH_SCIM_TOKEN needs/)
  const external = { ...provider, TOWPATH_AUTH: 'external' }
  assert.match(refused({ ...external, TOWPATH_OIDC_ISSUER: '' }), /^TOWPATH_AUTH=external needs TOWPATH_OIDC_ISSUER/)
  assert.match(refused({ ...external, TOWPATH_PUBLIC_URL: '' }), /^TOWPATH_AUTH=external needs TOWPATH_PUBLIC_URL/)
  assert.match(refused({ ...external, TOWPATH_EXTERNAL_AUDIENCE: ' , ' }), /^TOWPATH_EXTERNAL_AUDIENCE must list/)
  assert.match(refused({ ...external, TOWPATH_EXTERNAL_SCOPES: 'a  b' }), /^TOWPATH_EXTERNAL_SCOPES must list/)
  assert.match(refused({ ...external, TOWPATH_LOCAL_SIGN_IN: 'on' }), /^TOWPATH_LOCAL_SIGN_IN=on needs/)
  assert.match(refused({ ...external, TOWPATH_ID_JAG_ISSUERS: 'https://a.example' }), /^TOWPATH_ID_JAG_ISSUERS needs/)
  const issuers = { TOWPATH_ID_JAG_ISSUERS: 'https://a.example, https://b.example/realm' }
  assert.match(refused({ ...provider, ...issuers, TOWPATH_AUTH: 'tokens' }), /^TOWPATH_ID_JAG_ISSUERS needs/)
  assert.match(refused({ ...provider, ...issuers, ...withoutProvider }), /^TOWPATH_ID_JAG_ISSUERS needs/)
  assert.match(refused({ ...provider, TOWPATH_ID_JAG_ISSUERS: 'http://a.example' }), /^TOWPATH_ID_JAG_ISSUERS must be/)
  const provision = { TOWPATH_OIDC_PROVISION: 'scim' }
  assert.equal(refused({ ...provider, ...provision }), 'TOWPATH_OIDC_PROVISION=scim needs TOWPATH_SCIM_TOKEN')
  const { auth } = readConfig({ ...provider, ...provision, ...scimToken }, {}, () => '').config
  assert.deepEqual([auth.oidc?.provision, auth.scimToken], ['scim', 'scim-token-0123456789'])
})
