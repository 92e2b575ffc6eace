import { loadKey } from './key.ts'
import { StartRefusal } from './refusal.ts'
import { keyId, open, seal, sealedKeyId } from './sealed.ts'
import type { Db } from './tables.ts'

export interface ClaimOptions {
  readonly mode: 'development' | 'enterprise'
  readonly encryptionKey?: Buffer | undefined
  readonly dataDir: string
}

const place = { table: 'gateway', row: '1', column: 'canary' }
const CANARY = Buffer.from('towpath canary')

/** Binds a new database to its mode and key, and checks both on a used one. Returns the master key; throws StartRefusal. */
export async function claim(db: Db, { mode, encryptionKey, dataDir }: ClaimOptions): Promise<Buffer> {
  const before = await stored(db)
  if (before) checkMode(before.mode, mode)
  const master = await loadKey({ encryptionKey, dataDir, inUse: before !== undefined })
  if (!before) {
    const row = { id: 1, mode, canary: seal(master, CANARY, place) }
    await db
      .insertInto('gateway')
      .values(row)
      .onConflict((conflict) => conflict.doNothing())
      .execute()
  }
  // Another process may have been first: what counts is what is stored.
  const now = before ?? (await stored(db))!
  checkMode(now.mode, mode)
  checkKey(now.canary, master)
  return master
}

const stored = (db: Db) => db.selectFrom('gateway').select(['mode', 'canary']).executeTakeFirst()

function checkMode(found: string, asked: string): void {
  if (found === asked) return
  throw new StartRefusal(
    `the database was initialised in ${found} mode and cannot be started in ${asked} mode: ` +
      `start it in ${found} mode, or use another database`
  )
}

function checkKey(canary: Uint8Array, master: Buffer): void {
  try {
    open(master, canary, place)
  } catch (cause) {
    throw new StartRefusal(
      `the encryption key does not match this database (key id ${keyId(master)}, expected ${sealedKeyId(canary)})`,
      { cause }
    )
  }
}
