import { Option, type Command } from 'commander'
import { ConfigError, readConfig, type Config, type Environment, type StartFlags } from '../../config/config.ts'
import { PRODUCT } from '../../domain/product.ts'
import { exitWithNpm } from '../io/npm-parent.ts'
import { canOpenBrowser, openBrowser } from '../io/browser.ts'
import { createLogOutput, createNoticeOutput } from '../io/readable-log.ts'

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

type Lines = 'text' | 'json'

interface StartOutputs {
  readonly out: (line: string) => void
  readonly log: { write(line: string): void }
  readonly command: string
}

/** Starts the gateway, which `--help` and client commands do not load. Resolves with its URL. */
async function load(
  config: Config,
  warnings: readonly string[],
  outputs: StartOutputs,
  formats: { readonly out: Lines; readonly log: Lines }
): Promise<string | undefined> {
  if (config.workers === 1) {
    if (config.databaseUrl === undefined) {
      const { prepareEmbedded } = await import('../../registry/store/pglite.ts')
      prepareEmbedded(config.dataDir, config.timeouts.databaseConnectMs)
    }
    const { startServer } = await import('../../server.ts')
    return startServer(config, warnings, outputs)
  }
  const { startPrimary } = await import('../../workers/primary.ts')
  return startPrimary(config, warnings, { ...outputs, formats })
}

async function serve(config: Config, warnings: readonly string[], { env }: StartIo): Promise<void> {
  exitWithNpm(env)
  const { stdin, stdout, stderr } = process
  const isForPeople = (stream: { readonly isTTY?: boolean }) => stream.isTTY || config.mode === 'development'
  const formatFor = (stream: { readonly isTTY?: boolean }) =>
    config.logFormat ?? (isForPeople(stream) ? 'text' : 'json')
  const formats = { out: formatFor(stdout), log: formatFor(stderr) }
  const outputs = {
    out: createNoticeOutput(stdout, formats.out),
    log: createLogOutput(stderr, formats.log),
    command: typedCommand(env)
  }
  const url = await load(config, warnings, outputs, formats)
  const isAttended = stdin.isTTY && stdout.isTTY && config.mode === 'development' && config.openBrowser
  if (url !== undefined && isAttended && canOpenBrowser({ env })) await openBrowser({ env }, url)
}
