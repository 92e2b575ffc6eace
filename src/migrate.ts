import type { Config } from './config/config.ts'
import { PRODUCT } from './domain/product.ts'
import { migrateDatabase } from './registry/store/migrate.ts'
import { StartupError } from './lib/startup-error.ts'

/** Runs database migrations, as `start` does first, without serving. Returns the exit code. */
export async function migrate(config: Config, out: (line: string) => void, error: (line: string) => void) {
  const { databaseUrl, directDatabaseUrl, dataDir, timeouts } = config
  try {
    const applied = await migrateDatabase({
      databaseUrl,
      directDatabaseUrl,
      dataDir,
      connectTimeoutMs: timeouts.databaseConnectMs,
      queryTimeoutMs: timeouts.databaseQueryMs,
      onIdleError: () => {}
    })
    out(applied.length === 0 ? 'the database is up to date' : `applied ${applied.join(', ')}`)
    return 0
  } catch (cause) {
    error(`${PRODUCT}: cannot migrate: ${String((cause as Error).message).split('\n', 1)[0]}`)
    return cause instanceof StartupError ? cause.exitCode : 1
  }
}
