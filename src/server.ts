import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { buildApp } from './app.ts'
import type { Config } from './config/config.ts'
import { PRODUCT, TITLE } from './domain/product.ts'
import { VERSION } from './domain/version.ts'
import { StartupError } from './lib/startup-error.ts'
import { discardPrepared } from './registry/store/pglite.ts'
import { checkSecretFiles } from './secret-files.ts'
import { banner, baseUrl, initWarnings, nodeWarnings } from './start/banner.ts'
import type { Outputs } from './start/outputs.ts'
import { checkFolders, describeStartError } from './start/problems.ts'
import { CLOSE_MS, exitOnFaults, listen, prepareProcess } from './start/runtime.ts'
import { stopOnSignals } from './start/signals.ts'
import { closeAndExit } from './start/stop.ts'

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

/** First signal: drain and exit with 0. Second signal: exit at once. */
function drainOnSignals(app: FastifyInstance, drainMs: number): void {
  stopOnSignals((signal) => {
    app.log.info({ signal }, 'stopping')
    closeAndExit(app, drainMs)
  })
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
  prepareProcess(PRODUCT)
  let app: FastifyInstance | undefined
  try {
    checkFolders(config)
    checkSecretFiles(config)
    out(`${TITLE} ${VERSION} is starting`)
    const onFailure = (error: unknown) => exitAfterStart(app, error, config)
    app = await buildApp(config, { log, onProgress: out, onFailure })
    drainOnSignals(app, config.timeouts.drainMs)
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
