import { Migrator, sql, type MigrationResultSet } from 'kysely'
import { migrations } from '../../../migrations/index.ts'
import { StartupError } from '../../lib/startup-error.ts'
import { isMissingTable, withErrorTranslation } from './failures.ts'
import { openStore, type Store, type StoreOptions } from './store.ts'

/** Applies pending migrations and returns their names; if several processes start at once, only one applies them. */
export const migrateToLatest = async (store: Pick<Store, 'db' | 'runMaintenance'>): Promise<string[]> =>
  (await isLatest(store)) ? [] : runMigrator(store, (migrator) => migrator.migrateToLatest())

/**
 * Returns true if no migration is pending and the history matches; Kysely needs ten queries and a lock to find that
 * out.
 */
async function isLatest({ db }: Pick<Store, 'db'>): Promise<boolean> {
  try {
    const { rows } = await sql<{ name: string }>`select name from kysely_migration order by timestamp, name`.execute(db)
    return rows.map(({ name }) => name).join() === Object.keys(migrations).toSorted().join()
  } catch (error) {
    if (isMissingTable(error)) return false
    throw error
  }
}

/** Opens the database, applies pending migrations, returns their names and closes it. */
export async function migrateDatabase(options: StoreOptions): Promise<string[]> {
  const store = await openStore(options)
  try {
    return await withErrorTranslation(() => migrateToLatest(store))
  } finally {
    await store.close()
  }
}

/** Reverts the last migration and returns its name, or nothing if there is none. */
export const migrateDown = (store: Pick<Store, 'runMaintenance'>): Promise<string[]> =>
  runMigrator(store, (migrator) => migrator.migrateDown())

async function runMigrator(
  store: Pick<Store, 'runMaintenance'>,
  step: (migrator: Migrator) => Promise<MigrationResultSet>
) {
  const provider = { getMigrations: async () => ({ ...migrations }) }
  const { error, results = [] } = await store.runMaintenance((db) => step(new Migrator({ db, provider })))
  if (error !== undefined) throw explainMigrationError(error)
  return results.map((result) => result.migrationName)
}

/** Replaces Kysely's "corrupted migrations" error for a database newer than this program. */
function explainMigrationError(error: unknown): unknown {
  if (!(error instanceof Error) || !error.message.startsWith('corrupted migrations')) return error
  return new StartupError('the database was written by a newer version: start that version', { cause: error })
}
