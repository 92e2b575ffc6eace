import { Migrator, type MigrationResultSet } from 'kysely'
import { migrations } from '../../migrations/index.ts'
import { StartRefusal } from './refusal.ts'
import { translating } from './failures.ts'
import { openStore, type Store, type StoreOptions } from './store.ts'

/** Applies what is missing and returns its names; of several processes that start at once one applies it. */
export const migrateToLatest = (store: Pick<Store, 'maintain'>): Promise<string[]> =>
  run(store, (migrator) => migrator.migrateToLatest())

/** The same for a database that nobody serves from yet. */
export async function migrateDatabase(options: StoreOptions): Promise<string[]> {
  const store = await openStore(options)
  try {
    return await translating(() => migrateToLatest(store))
  } finally {
    await store.close()
  }
}

/** Takes the last migration back; returns its name, or nothing when there is none. */
export const migrateDown = (store: Pick<Store, 'maintain'>): Promise<string[]> =>
  run(store, (migrator) => migrator.migrateDown())

async function run(store: Pick<Store, 'maintain'>, step: (migrator: Migrator) => Promise<MigrationResultSet>) {
  const provider = { getMigrations: async () => ({ ...migrations }) }
  const { error, results = [] } = await store.maintain((db) => step(new Migrator({ db, provider })))
  if (error !== undefined) throw explain(error)
  return results.map((result) => result.migrationName)
}

/** Kysely calls a database that is ahead of this program corrupted. */
function explain(error: unknown): unknown {
  if (!(error instanceof Error) || !error.message.startsWith('corrupted migrations')) return error
  return new StartRefusal('the database was written by a newer version: start that version', { cause: error })
}
