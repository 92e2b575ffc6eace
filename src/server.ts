import { executionAsyncResource } from 'node:async_hooks'
import { statSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import type { FastifyInstance } from 'fastify'
import { buildApp } from './app.ts'
import type { Config } from './config.ts'
import { isLoopback } from './domain/loopback.ts'
import { PRODUCT, TITLE } from './domain/product.ts'
import { VERSION } from './domain/version.ts'
import { closeInherited } from './inherited-descriptors.ts'
import { ifThere } from './plugins/late.ts'
import { StartRefusal } from './registry/refusal.ts'
import { checkSecretFiles } from './secret-files.ts'

const OLDEST_SUPPORTED_NODE = 22
/** What closing may take beyond draining: children end, the database is let go. */
const CLOSE_MS = 10_000

/** Where the process talks to people (`out`) and to log collectors (`log`). */
export interface Outputs {
  readonly out: (line: string) => void
  readonly log: { write(line: string): void }
}

const baseUrl = ({ address, family, port }: AddressInfo) => {
  const shown = address === '0.0.0.0' || address === '::' ? 'localhost' : address
  return `http://${family === 'IPv6' && shown !== 'localhost' ? `[${shown}]` : shown}:${port}`
}

function banner(config: Config, url: string, warnings: readonly string[]): string {
  const base = config.publicUrl ?? url
  return [
    `${TITLE} ${VERSION} listens on ${url} (${config.mode} mode)`,
    `  MCP endpoint  ${base}/mcp`,
    `  REST API      ${base}/api/v0${config.docs === 'off' ? '' : `, described at ${base}/docs`}`,
    `  store         ${config.databaseUrl ? 'PostgreSQL' : `embedded, in ${config.dataDir}`}`,
    ...warnings.map((warning) => `  warning: ${warning}`)
  ].join('\n')
}

/** Whoever initialises an enterprise gateway rules it. Where the database comes later it is not known who did. */
function initWarnings({ gateway }: FastifyInstance, { mode, host, initSecret }: Config): string[] {
  if (mode === 'development' || ifThere(() => gateway.initialized) !== false) return []
  if (isLoopback(host) || initSecret !== undefined) return ['not initialized: POST /init makes the first administrator']
  return [
    'not initialized: whoever reaches this port first can make themselves its administrator; send POST /init now, ' +
      'and set TOWPATH_INIT_SECRET or TOWPATH_ADMIN_TOKEN next time'
  ]
}

function nodeWarnings(): string[] {
  const { node } = process.versions
  if (Number.parseInt(node, 10) >= OLDEST_SUPPORTED_NODE) return []
  return [`Node.js ${node} gets no more security fixes; use ${OLDEST_SUPPORTED_NODE} or newer`]
}

/** One line for the person who started it: what is wrong, not where in the code. */
function explain(error: unknown, { host, port }: Config): string {
  const { code, message, syscall } = error as NodeJS.ErrnoException
  if (code === 'EADDRINUSE') return `port ${port} on ${host} is in use by another process`
  if (code === 'EACCES' && syscall === 'listen') return `listening on ${host} port ${port} is not permitted`
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') return `${host} is not an address of this machine`
  return String(message).split('\n', 1)[0]!
}

/** Refused here and not when a server's process is first started, which may be days later. */
function checkFolders({ stdio: { cwd } }: Config): void {
  if (cwd === undefined || statSync(cwd, { throwIfNoEntry: false })?.isDirectory()) return
  throw new StartRefusal(`TOWPATH_STDIO_CWD is not a folder: ${JSON.stringify(cwd)}`)
}

/** npm passes a signal on that a terminal has sent to both of them. */
const ECHO_MS = 1_000

/** First signal: finish what is under way and end with 0. Second signal: end at once. */
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

/** A fault that nobody caught leaves an unknown state: say so and end, children and all, instead of going on. */
function endOnFaults(app: FastifyInstance): void {
  const end = (err: unknown) => {
    app.log.fatal({ err }, 'unexpected fault')
    setTimeout(() => process.exit(1), 2_000).unref()
    void app.close().finally(() => process.exit(1))
  }
  process.once('uncaughtException', end)
  process.once('unhandledRejection', end)
}

/**
 * V8 learns which allocations live long and then makes them in the old generation at once. It learns that of objects of a
 * call, and never unlearns it: dead, they keep all that they refer to until a full collection (measured: 6 kB a call).
 */
function keepCallsYoung(): void {
  setFlagsFromString('--no-allocation-site-pretenuring')
}

/**
 * V8 forgets the shape of objects of which none is left at a full collection, and code that was compiled for it stays slow.
 * So it goes with what `process.nextTick` queues (measured: 24 calls of V8's runtime for each call of a tool). One that is
 * kept keeps the shape.
 */
function keepTicksFast(): void {
  process.nextTick(() => {
    const tick = executionAsyncResource()
    process.once('exit', () => tick)
  })
}

/** Without Fastify's own log line about it: the banner says where it listens. */
async function listen(app: FastifyInstance, { host, port }: Config): Promise<void> {
  await app.ready()
  const { level } = app.log
  if (level === 'info') app.log.level = 'warn'
  await app.listen({ host, port })
  app.log.level = level
}

function refuseStart(error: unknown, config: Config): void {
  process.stderr.write(`${PRODUCT}: cannot start: ${explain(error, config)}\n`)
  process.exitCode = error instanceof StartRefusal ? error.exitCode : 1
  process.exit()
}

/** The database came after the start, and cannot be used. */
function endLate(app: FastifyInstance | undefined, error: unknown, config: Config): void {
  const end = () => refuseStart(error, config)
  setTimeout(end, CLOSE_MS).unref()
  if (app) app.close().then(end, end)
  else end()
}

/** Starts the gateway and serves until a signal. Ends the process with one line when it cannot start. */
export async function startServer(config: Config, warnings: readonly string[], { out, log }: Outputs): Promise<void> {
  // without a listener the signal opens Node's inspector to everybody on this machine
  process.on('SIGUSR1', () => {})
  process.title = PRODUCT
  closeInherited()
  keepCallsYoung()
  keepTicksFast()
  let app: FastifyInstance | undefined
  try {
    checkFolders(config)
    checkSecretFiles(config)
    out(`${TITLE} ${VERSION} is starting`)
    const onFailure = (error: unknown) => endLate(app, error, config)
    app = await buildApp(config, { log, tell: out, onFailure })
    stopOnSignals(app, config.timeouts.drainMs)
    endOnFaults(app)
    await listen(app, config)
  } catch (error) {
    await app?.close()
    return refuseStart(error, config)
  }
  out(
    banner(config, baseUrl(app.server.address() as AddressInfo), [
      ...warnings,
      ...initWarnings(app, config),
      ...nodeWarnings()
    ])
  )
}
