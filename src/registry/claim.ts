import { randomBytes } from 'node:crypto'
import { loadKey } from './key.ts'
import { StartRefusal } from './refusal.ts'
import { keyId, open, seal, SealError, sealedKeyId, type Keyring } from './sealed.ts'
import type { Db } from './tables.ts'

export interface ClaimOptions {
  readonly mode: 'development' | 'enterprise'
  readonly encryptionKey?: Buffer | undefined
  /** The key that was in use before, while values are still sealed with it. */
  readonly previousKey?: Buffer | undefined
  readonly dataDir: string
}

export interface Claimed {
  readonly keys: Keyring
  /** What keys for other purposes are derived from: it stays when the encryption key is changed. */
  readonly root: Buffer
}

/** The root key, sealed: whoever opens it has the key of this database. */
export const canaryPlace = { table: 'gateway', row: '1', column: 'canary' }
const ROOT_BYTES = 32

/** Binds a new database to its mode and key, and checks both on a used one. Throws StartRefusal. */
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
  // Another process may have been first: what counts is what is stored.
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
