import { randomBytes } from 'node:crypto'
import { loadMasterKey } from './crypto/master-key.ts'
import { StartupError } from '../lib/startup-error.ts'
import {
  keyId,
  decryptEnvelope,
  encryptEnvelope,
  DecryptionError,
  envelopeKeyId,
  type MasterKeys
} from './crypto/envelope-encryption.ts'
import type { Db } from './model/tables.ts'

export interface IdentityOptions {
  readonly mode: 'development' | 'enterprise'
  readonly encryptionKey?: Buffer | undefined
  /** Previous encryption key, while values are still encrypted with it */
  readonly previousKey?: Buffer | undefined
  readonly dataDir: string
  /** Undefined for the embedded store. */
  readonly databaseUrl?: string | undefined
}

export interface DatabaseIdentity {
  readonly keys: MasterKeys
  /** Root of the derived keys; it stays the same when the encryption key is rotated */
  readonly rootKey: Buffer
}

/** Location of the encrypted root key; being able to decrypt it proves that the encryption key is this database's */
export const canaryLocation = { table: 'gateway', row: '1', column: 'canary' }
const ROOT_BYTES = 32

/**
 * Stores the mode and root key in a new database, and checks mode and key of an existing one. Throws StartupError if
 * they do not match.
 */
export async function loadDatabaseIdentity(
  db: Db,
  { mode, encryptionKey, previousKey, dataDir, databaseUrl }: IdentityOptions
): Promise<DatabaseIdentity> {
  const before = await readIdentityRow(db)
  if (before) checkMode(before.mode, mode)
  const isDatabaseUsed = before !== undefined
  // a new store was created after the check
  const isStoreChecked = databaseUrl === undefined && isDatabaseUsed
  const current = await loadMasterKey({ encryptionKey, dataDir, isDatabaseUsed, isStoreChecked })
  const keys = { current, previous: previousKey }
  if (!before) {
    const row = { id: 1, mode, canary: encryptEnvelope(keys, randomBytes(ROOT_BYTES), canaryLocation) }
    await db
      .insertInto('gateway')
      .values(row)
      .onConflict((conflict) => conflict.doNothing())
      .execute()
  }
  // Another process may have inserted its row first, so the stored row is authoritative.
  const now = before ?? (await readIdentityRow(db))!
  checkMode(now.mode, mode)
  return { keys, rootKey: decryptRootKey(now.canary, keys) }
}

const readIdentityRow = (db: Db) => db.selectFrom('gateway').select(['mode', 'canary']).executeTakeFirst()

function checkMode(stored: string, requested: string): void {
  if (stored === requested) return
  throw new StartupError(
    `the database was initialised in ${stored} mode and cannot be started in ${requested} mode: ` +
      `start it in ${stored} mode, or use another database`
  )
}

function decryptRootKey(canary: Uint8Array, keys: MasterKeys): Buffer {
  const availableIds = [keys.current, ...(keys.previous ? [keys.previous] : [])].map(keyId).join(', previous ')
  try {
    const root = decryptEnvelope(keys, canary, canaryLocation)
    if (root.length !== ROOT_BYTES) throw new DecryptionError(`the root key has ${root.length} bytes`)
    return root
  } catch (cause) {
    throw new StartupError(
      `the encryption key does not match this database (key id ${availableIds}, expected ${envelopeKeyId(canary)})`,
      { cause }
    )
  }
}
