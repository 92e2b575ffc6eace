import { sql } from 'kysely'
import { AppError } from '../errors.ts'
import { keyId, type Keyring } from './sealed.ts'
import type { Db } from './tables.ts'

/** Id of the key that the database is on: that of its canary, which stands behind the first byte (sealed.ts). */
export const databaseKey = sql<string>`encode(substring(canary from 2 for 8), 'hex')`

/**
 * The keys with that of the database as the current one: all replicas seal with the same key, and change to another in the
 * moment in which the canary does. Undefined where it is not among them.
 */
export function sealingKeys(keys: Keyring, database: string): Keyring | undefined {
  const { current, previous } = keys
  if (keyId(current) === database) return keys
  return previous && keyId(previous) === database ? { current: previous, previous: current } : undefined
}

/** What is sealed with a key that the database has left could not be opened once that key is gone. */
export function requireSealingKeys(keys: Keyring, database: string): Keyring {
  const found = sealingKeys(keys, database)
  if (found) return found
  const text = `the database is on another encryption key now (key id ${database}): give it to this replica and start it again`
  throw new AppError(503, text, { code: 'encryption_key_changed' })
}

/** Work that seals but is no write of the registry. Its lock keeps the key what it is meanwhile, and holds up writes for that moment. */
export const whileKeyStays = <T>(db: Db, work: (trx: Db, database: string) => Promise<T>): Promise<T> =>
  db.transaction().execute(async (trx) => {
    const { key } = await trx.selectFrom('gateway').select(databaseKey.as('key')).forShare().executeTakeFirstOrThrow()
    return work(trx, key)
  })
