import { randomBytes } from 'node:crypto'
import { loadKey } from './key.ts'
import { StartRefusal } from './refusal.ts'
import { keyId, open, seal, SealError, sealedKeyId, type Keyring } from './sealed.ts'
import type { Db } from './tables.ts'

export interface ClaimOptions {
  readonly mode: 'development' | 'enterprise'
  readonly encryptionKey?: Buffer | undefined
  /** Previous encryption key, while values are still encrypted with it */
  readonly previousKey?: Buffer | undefined
  readonly dataDir: string
}

export interface Claimed {
  readonly keys: Keyring
  /** Root of the derived keys; it stays the same when the encryption key is rotated */
  readonly root: Buffer
}

/** Location of the encrypted root key; being able to decrypt it proves that the encryption key is this database's */
export const canaryPlace = { table: 'gateway', row: '1', column: 'canary' }
const ROOT_BYTES = 32

/**
 * Stores the mode and root key in a new database, and checks mode and key of an existing one. Throws StartRefusal if
 * they do not match.
 */
export async function claim(db: Db, { mode, encryptionKey, previousKey, dataDir }: ClaimOptions): Promise<Claimed> {
  const before = await stored(db)
  if (before) checkMode(before.mode, mode)
  const current = await loadKey({ encryptionKey, dataDir, inUse: before !== undefined })
  const keys = { current, previous: previousKey }
  if (!before) {
    const row = { id: 1, mode, canary: seal(keys, randomBytes(ROOT_BYTES), canaryPlace) }
    await db
      .insertInto('gateway')
      .values(row)
      .onConflict((conflict) => conflict.doNothing())
      .execute()
  }
  // Another process may have inserted its row first, so the stored row is authoritative.
  const now = before ?? (await stored(db))!
  checkMode(now.mode, mode)
  return { keys, root: openRoot(now.canary, keys) }
}

const stored = (db: Db) => db.selectFrom('gateway').select(['mode', 'canary']).executeTakeFirst()

function checkMode(found: string, asked: string): void {
  if (found === asked) return
  throw new StartRefusal(
    `the database was initialised in ${found} mode and cannot be started in ${asked} mode: ` +
      `start it in ${found} mode, or use another database`
  )
}

function openRoot(canary: Uint8Array, keys: Keyring): Buffer {
  const ours = [keys.current, ...(keys.previous ? [keys.previous] : [])].map(keyId).join(', previous ')
  try {
    const root = open(keys, canary, canaryPlace)
    if (root.length !== ROOT_BYTES) throw new SealError(`the root key has ${root.length} bytes`)
    return root
  } catch (cause) {
    throw new StartRefusal(
      `the encryption key does not match this database (key id ${ours}, expected ${sealedKeyId(canary)})`,
      { cause }
    )
  }
}
