import { sql } from 'kysely'
import { AppError } from '../../lib/errors.ts'
import { keyId, type MasterKeys } from './envelope-encryption.ts'
import type { Db } from '../model/tables.ts'

/** Id of the database's current key: that of its canary, which follows the first byte (envelope-encryption.ts) */
export const databaseKeyId = sql<string>`encode(substring(canary from 2 for 8), 'hex')`

/**
 * Returns the keys with the database's key as `current`, or undefined if it is not among them. All replicas encrypt
 * with the same key and switch to another one when the canary does.
 */
export function findEncryptionKeys(keys: MasterKeys, database: string): MasterKeys | undefined {
  const { current, previous } = keys
  if (keyId(current) === database) return keys
  return previous && keyId(previous) === database ? { current: previous, previous: current } : undefined
}

/**
 * Returns the keys to encrypt with. Throws a 503 AppError without the database's key, since values encrypted with a
 * retired key could not be decrypted later.
 */
export function requireEncryptionKeys(keys: MasterKeys, database: string): MasterKeys {
  const found = findEncryptionKeys(keys, database)
  if (found) return found
  const text = `the database now uses another encryption key (key id ${database}): configure it on this replica and restart it`
  throw new AppError(503, text, { code: 'encryption_key_changed' })
}

/**
 * Runs work that encrypts outside a registry write. Its lock prevents a key rotation in the meantime, and briefly
 * blocks writes.
 */
export const withKeyLock = <T>(db: Db, work: (trx: Db, database: string) => Promise<T>): Promise<T> =>
  db.transaction().execute(async (trx) => {
    const { key } = await trx.selectFrom('gateway').select(databaseKeyId.as('key')).forShare().executeTakeFirstOrThrow()
    return work(trx, key)
  })
