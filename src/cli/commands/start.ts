import { Option, type Command } from 'commander'
import { ConfigError, readConfig, type Config, type Environment, type StartFlags } from '../../config.ts'
import { PRODUCT } from '../../domain/product.ts'
import { endWithNpm } from '../npm-parent.ts'
import { createLogOutput } from '../readable-log.ts'

/** The outside world, handed in so that a test needs no process. */
export interface StartWorld {
  readonly env: Environment
  readonly readFile: (path: string) => string
  readonly out: (line: string) => void
  readonly error: (line: string) => void
  readonly ended: (code: number) => void
}

/** What flags, variables and files say; where it cannot be used, says so and returns nothing. */
export function configure(flags: StartFlags, { env, readFile, error }: StartWorld) {
  try {
    return readConfig(env, flags, readFile)
  } catch (cause) {
    if (!(cause instanceof ConfigError)) throw cause
    error(`${PRODUCT}: ${cause.message}`)
    return undefined
  }
}

export function addStart(program: Command, world: StartWorld): void {
  program
    .command('start')
    .description('Start the gateway')
    .option('-p, --port <port>', 'port to listen on (PORT, 8080)')
    .option('--host <address>', 'address to listen on (HOST, 127.0.0.1)')
    .option('--enterprise', 'enterprise mode: users, clients and tokens (SERVER_MODE)')
    // as MCPJungle once spelled it
    .addOption(new Option('--prod', 'enterprise mode').hideHelp())
    .option('--database-url <url>', 'PostgreSQL instead of the embedded store (DATABASE_URL)')
    .option('--data-dir <folder>', 'folder of the embedded store (TOWPATH_DATA_DIR, ./.towpath)')
    .option('--otel', 'serve GET /metrics (OTEL_ENABLED)')
    .option('--demo', 'register the bundled demo server (TOWPATH_DEMO)')
    .option('--log-level <level>', 'fatal, error, warn, info, debug, trace or silent (TOWPATH_LOG_LEVEL, info)')
    .action(async ({ prod, ...flags }: StartFlags & { readonly prod?: true }) => {
      const configured = configure(prod ? { ...flags, enterprise: true } : flags, world)
      if (!configured) {
        world.ended(2)
        return
      }
      await serve(configured.config, configured.warnings, world)
    })
}

async function serve(config: Config, warnings: readonly string[], { env, out }: StartWorld): Promise<void> {
  endWithNpm(env)
  // nothing of the server is loaded for `--help`, or for a command that talks to one
  const { startServer } = await import('../../server.ts')
  await startServer(config, warnings, { out, log: createLogOutput(process.stderr) })
}
