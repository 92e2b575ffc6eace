import { hkdfSync, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { createAtomically, createPrivateFolder, readIfExists } from '../store/files.ts'
import { StartupError } from '../../lib/startup-error.ts'

const KEY_BYTES = 32

export interface KeyOptions {
  /** Configured key, 32 bytes */
  readonly encryptionKey?: Buffer | undefined
  readonly dataDir: string
  /** True if the database was used before: its key then exists, and a new one could not open it */
  readonly isDatabaseUsed: boolean
  /** True if all files of the data directory were checked when the store in it was opened */
  readonly isStoreChecked: boolean
}

/** Returns the master key: the configured one, or that of the key file, which is created if the database is new. */
export async function loadMasterKey({
  encryptionKey,
  dataDir,
  isDatabaseUsed,
  isStoreChecked
}: KeyOptions): Promise<Buffer> {
  if (encryptionKey) return requireKeyLength(encryptionKey, 'the encryption key')
  const path = join(dataDir, 'encryption.key')
  const exists = (await readIfExists(path)) !== undefined
  if (exists || !isDatabaseUsed) await createPrivateFolder(dataDir, isStoreChecked ? 'key' : 'all')
  if (!exists && !isDatabaseUsed) {
    await createAtomically(path, `${randomBytes(KEY_BYTES).toString('base64')}\n`)
  }
  const text = await readIfExists(path)
  if (text === undefined) {
    throw new StartupError(
      `the encryption key file ${path} is missing, and the database has values encrypted with it: restore the file`
    )
  }
  return requireKeyLength(Buffer.from(text.trim(), 'base64'), `the encryption key file ${path}`)
}

/** Derives a 32-byte key for one purpose, which reveals neither the root nor keys for other labels. */
export const deriveKey = (root: Buffer, label: string): Buffer =>
  Buffer.from(hkdfSync('sha256', root, Buffer.alloc(0), label, KEY_BYTES))

function requireKeyLength(key: Buffer, source: string): Buffer {
  if (key.length !== KEY_BYTES) throw new StartupError(`${source} must have ${KEY_BYTES} bytes, it has ${key.length}`)
  return key
}
