import { Option, type Command } from 'commander'
import { ConfigError, readConfig, type Config, type Environment, type StartFlags } from '../../config/config.ts'
import { PRODUCT } from '../../domain/product.ts'
import { exitWithNpm } from '../io/npm-parent.ts'
import { canOpenBrowser, openBrowser } from '../io/browser.ts'
import { createLogOutput, createNoticeOutput } from '../io/readable-log.ts'
import { prepareEmbedded } from '../../registry/store/pglite.ts'

/** Environment of the command, passed in so that tests need no process. */
export interface StartIo {
  readonly env: Environment
  readonly readFile: (path: string) => string
  readonly out: (line: string) => void
  readonly error: (line: string) => void
  readonly onExit: (code: number) => void
}

/** Reads the configuration. Prints the error and returns undefined if it is invalid. */
export function configure(flags: StartFlags, { env, readFile, error }: StartIo) {
  try {
    return readConfig(env, flags, readFile)
  } catch (cause) {
    if (!(cause instanceof ConfigError)) throw cause
    error(`${PRODUCT}: ${cause.message}`)
    return undefined
  }
}

export function addStart(program: Command, io: StartIo): void {
  program
    .command('start')
    .description('Start the gateway')
    .option('-p, --port <port>', 'port to listen on (PORT, 8080)')
    .option('--host <address>', 'address to listen on (HOST, 127.0.0.1)')
    .option('--enterprise', 'enterprise mode: users, clients and tokens (SERVER_MODE)')
    // MCPJungle's older name of `--enterprise`
    .addOption(new Option('--prod', 'enterprise mode').hideHelp())
    .option('--database-url <url>', 'use PostgreSQL instead of the embedded store (DATABASE_URL)')
    .option('--data-dir <folder>', 'folder of the embedded store (TOWPATH_DATA_DIR)')
    .option('--otel', 'serve GET /metrics (OTEL_ENABLED)')
    .option('--no-open', 'do not open the dashboard in a browser (TOWPATH_OPEN_BROWSER)')
    .option('--demo', 'register the bundled demo server (TOWPATH_DEMO)')
    .option(
      '--log-level <level>',
      'lowest level to log: fatal, error, warn, info, debug, trace or silent (TOWPATH_LOG_LEVEL, info)'
    )
    .action(async ({ prod, ...flags }: StartFlags & { readonly prod?: true }) => {
      const configured = configure(prod ? { ...flags, enterprise: true } : flags, io)
      if (!configured) {
        io.onExit(2)
        return
      }
      await serve(configured.config, configured.warnings, io)
    })
}

/** A clone has no `towpath` on the PATH, and neither has who runs the package with npx. */
const typedCommand = ({ npm_lifecycle_event: script }: Environment) =>
  script === 'start' || script === 'npx' ? `npx ${PRODUCT}` : PRODUCT

async function serve(config: Config, warnings: readonly string[], { env }: StartIo): Promise<void> {
  exitWithNpm(env)
  const { stdin, stdout, stderr } = process
  const isForPeople = (stream: { readonly isTTY?: boolean }) => stream.isTTY || config.mode === 'development'
  const formatFor = (stream: { readonly isTTY?: boolean }) =>
    config.logFormat ?? (isForPeople(stream) ? 'text' : 'json')
  if (config.databaseUrl === undefined) prepareEmbedded(config.dataDir, config.timeouts.databaseConnectMs)
  // `--help` and client commands do not load the server
  const { startServer } = await import('../../server.ts')
  const url = await startServer(config, warnings, {
    out: createNoticeOutput(stdout, formatFor(stdout)),
    log: createLogOutput(stderr, formatFor(stderr)),
    command: typedCommand(env)
  })
  const isAttended = stdin.isTTY && stdout.isTTY && config.mode === 'development' && config.openBrowser
  if (url !== undefined && isAttended && canOpenBrowser({ env })) await openBrowser({ env }, url)
}
