import { executionAsyncResource } from 'node:async_hooks'
import { statSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import type { FastifyInstance } from 'fastify'
import { buildApp } from './app.ts'
import type { Config } from './config/config.ts'
import { isLoopback } from './domain/network/loopback.ts'
import { PRODUCT, TITLE } from './domain/product.ts'
import { VERSION } from './domain/version.ts'
import { closeInheritedDescriptors } from './inherited-descriptors.ts'
import { ifAvailable } from './http/wait-for-database.ts'
import { StartupError } from './lib/startup-error.ts'
import { discardPrepared } from './registry/store/pglite.ts'
import { checkSecretFiles } from './secret-files.ts'

const OLDEST_SUPPORTED_NODE = 22
/** Time to stop child processes and close the database, after draining. */
const CLOSE_MS = 10_000

/** Output for people (`out`) and for log collectors (`log`). */
export interface Outputs {
  readonly out: (line: string) => void
  readonly log: { write(line: string): void }
  /** The command line program as a person types it, for the next step that the banner names. */
  readonly command: string
}

const baseUrl = ({ address, family, port }: AddressInfo) => {
  const shown = address === '0.0.0.0' || address === '::' ? 'localhost' : address
  return `http://${family === 'IPv6' && shown !== 'localhost' ? `[${shown}]` : shown}:${port}`
}

/** Names how the first person signs in at the console. */
function waysToSignIn({ auth, adminToken, adminTokenPlace }: Config): string {
  if (auth.oidc) return `people sign in at ${new URL(auth.oidc.issuer).host}`
  return adminToken === undefined
    ? 'it makes the first administrator, or you sign in with an access token'
    : `sign in with the access token in ${adminTokenPlace}`
}

/** Lines of the start: the address first, then what a person opens or types next. */
function banner(config: Config, url: string, command: string, warnings: readonly string[]): string {
  const base = config.publicUrl ?? url
  const isDevelopment = config.mode === 'development'
  const next = isDevelopment
    ? [`${command} setup`, 'adds the servers of your MCP clients']
    : config.console
      ? ['open the console', waysToSignIn(config)]
      : [`${command} login`, 'saves your access token for the command line']
  return [
    `${TITLE} ${VERSION} listens on ${url} (${config.mode} mode)`,
    ...(isDevelopment ? [`  Dashboard     ${base}`] : []),
    ...(config.console ? [`  Console       ${base}/console/`] : []),
    `  MCP endpoint  ${base}/mcp`,
    `  REST API      ${base}/api/v0${config.docs === 'off' ? '' : `, described at ${base}/docs`}`,
    `  Store         ${config.databaseUrl ? 'PostgreSQL' : `embedded, in ${config.dataDir}`}`,
    `  Next          ${next[0]}  (${next[1]})`,
    ...warnings.map((warning) => `  warning: ${warning}`)
  ].join('\n')
}

/**
 * Warns of an uninitialised enterprise gateway, whose first caller of `POST /init` becomes its administrator. No
 * warning while the database is unavailable, since the state is unknown.
 */
function initWarnings(app: FastifyInstance, { mode, host, initSecret }: Config): string[] {
  if (mode === 'development' || ifAvailable(() => app.gateway.initialized) !== false) return []
  if (isLoopback(host) || initSecret !== undefined)
    return ['not initialized: create the first administrator with `towpath init-server` or POST /init']
  return [
    'not initialized: anyone who reaches this port can claim the administrator account; run `towpath init-server` now, ' +
      'and next time set TOWPATH_INIT_SECRET or TOWPATH_ADMIN_TOKEN before the start'
  ]
}

function nodeWarnings(): string[] {
  const { node } = process.versions
  if (Number.parseInt(node, 10) >= OLDEST_SUPPORTED_NODE) return []
  return [`Node.js ${node} no longer gets security fixes; use ${OLDEST_SUPPORTED_NODE} or newer`]
}

/** Returns the reason in one line for the operator, without a stack. */
function describeStartError(error: unknown, { host, port }: Config): string {
  const { code, message, syscall } = error as NodeJS.ErrnoException
  if (code === 'EADDRINUSE') return `port ${port} on ${host} is in use by another process`
  if (code === 'EACCES' && syscall === 'listen') return `listening on ${host} port ${port} is not permitted`
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') return `${host} is not an address of this machine`
  return String(message).split('\n', 1)[0]!
}

/** Checks the folder at start rather than when the first stdio process is spawned, which may be days later. */
function checkFolders({ stdio: { cwd } }: Config): void {
  if (cwd === undefined || statSync(cwd, { throwIfNoEntry: false })?.isDirectory()) return
  throw new StartupError(`TOWPATH_STDIO_CWD is not a folder: ${JSON.stringify(cwd)}`)
}

/**
 * A repeat of a signal within this time counts once: npm forwards a signal that the terminal also sent to the gateway.
 */
const ECHO_MS = 1_000

/** First signal: drain and exit with 0. Second signal: exit at once. */
function stopOnSignals(app: FastifyInstance, drainMs: number): void {
  let first: { readonly signal: NodeJS.Signals; readonly at: number } | undefined
  const stop = (signal: NodeJS.Signals) => {
    const now = performance.now()
    if (first?.signal === signal && now - first.at < ECHO_MS) return
    if (first) process.exit(1)
    first = { signal, at: now }
    app.log.info({ signal }, 'stopping')
    setTimeout(() => process.exit(1), drainMs + CLOSE_MS).unref()
    app.close().then(
      () => process.exit(0),
      (error: unknown) => {
        app.log.error({ err: error }, 'stopping failed')
        process.exit(1)
      }
    )
  }
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, stop)
}

/** Logs an uncaught fault and exits, child processes included: the state of the process is unknown. */
function exitOnFaults(app: FastifyInstance): void {
  const end = (err: unknown) => {
    app.log.fatal({ err }, 'unexpected fault')
    setTimeout(() => process.exit(1), 2_000).unref()
    void app.close().finally(() => process.exit(1))
  }
  process.once('uncaughtException', end)
  process.once('unhandledRejection', end)
}

/**
 * Turns off V8's allocation-site pretenuring. V8 would allocate some objects of each call directly in the old
 * generation and never revise that; dead, they retain everything they refer to until a full collection (measured: 6 kB
 * per call).
 */
function disablePretenuring(): void {
  setFlagsFromString('--no-allocation-site-pretenuring')
}

/**
 * Keeps one object that `process.nextTick` queues alive. At a full collection V8 drops the hidden class of objects of
 * which none is alive, and code optimised for it stays slow (measured: 24 calls of V8's runtime per tool call).
 */
function keepTickShape(): void {
  process.nextTick(() => {
    const tick = executionAsyncResource()
    process.once('exit', () => tick)
  })
}

/** Listens without Fastify's own log line: the banner names the address. */
async function listen(app: FastifyInstance, { host, port }: Config): Promise<void> {
  await app.ready()
  const { level } = app.log
  if (level === 'info') app.log.level = 'warn'
  await app.listen({ host, port })
  app.log.level = level
}

function refuseStart(error: unknown, config: Config): void {
  process.stderr.write(`${PRODUCT}: cannot start: ${describeStartError(error, config)}\n`)
  process.exitCode = error instanceof StartupError ? error.exitCode : 1
  process.exit()
}

/** Exits because a database that became reachable after the start is unusable. */
function exitAfterStart(app: FastifyInstance | undefined, error: unknown, config: Config): void {
  const end = () => refuseStart(error, config)
  setTimeout(end, CLOSE_MS).unref()
  if (app) app.close().then(end, end)
  else end()
}

/**
 * Starts the gateway and serves until a signal. Prints one line and exits if the start fails. Resolves with the URL once
 * it listens.
 */
export async function startServer(
  config: Config,
  warnings: readonly string[],
  { out, log, command }: Outputs
): Promise<string | undefined> {
  // without a listener SIGUSR1 opens Node's inspector to every local user
  process.on('SIGUSR1', () => {})
  process.title = PRODUCT
  closeInheritedDescriptors()
  disablePretenuring()
  keepTickShape()
  let app: FastifyInstance | undefined
  try {
    checkFolders(config)
    checkSecretFiles(config)
    out(`${TITLE} ${VERSION} is starting`)
    const onFailure = (error: unknown) => exitAfterStart(app, error, config)
    app = await buildApp(config, { log, onProgress: out, onFailure })
    stopOnSignals(app, config.timeouts.drainMs)
    exitOnFaults(app)
    await listen(app, config)
  } catch (error) {
    await app?.close()
    await discardPrepared()
    refuseStart(error, config)
    return undefined
  }
  const url = baseUrl(app.server.address() as AddressInfo)
  out(banner(config, url, command, [...warnings, ...initWarnings(app, config), ...nodeWarnings()]))
  return config.publicUrl ?? url
}
