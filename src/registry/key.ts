import { hkdfSync, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { createWhole, makePrivate, readIfThere } from './files.ts'
import { StartRefusal } from './refusal.ts'

const KEY_BYTES = 32

export interface KeyOptions {
  /** Configured key, 32 bytes */
  readonly encryptionKey?: Buffer | undefined
  readonly dataDir: string
  /** True if the database was used before: its key then exists, and a new one could not open it */
  readonly inUse: boolean
}

/** Returns the master key: the configured one, or that of the key file, which is created if the database is new. */
export async function loadKey({ encryptionKey, dataDir, inUse }: KeyOptions): Promise<Buffer> {
  if (encryptionKey) return checked(encryptionKey, 'the encryption key')
  const path = join(dataDir, 'encryption.key')
  const exists = (await readIfThere(path)) !== undefined
  if (exists || !inUse) await makePrivate(dataDir)
  if (!exists && !inUse) {
    await createWhole(path, `${randomBytes(KEY_BYTES).toString('base64')}\n`)
  }
  const text = await readIfThere(path)
  if (text === undefined) {
    throw new StartRefusal(
      `the encryption key file ${path} is missing, and the database holds values sealed with it: put the file back`
    )
  }
  return checked(Buffer.from(text.trim(), 'base64'), `the encryption key file ${path}`)
}

/** Derives a 32-byte key for one purpose, which reveals neither the root nor keys for other labels. */
export const deriveKey = (root: Buffer, label: string): Buffer =>
  Buffer.from(hkdfSync('sha256', root, Buffer.alloc(0), label, KEY_BYTES))

function checked(key: Buffer, what: string): Buffer {
  if (key.length !== KEY_BYTES) throw new StartRefusal(`${what} must hold ${KEY_BYTES} bytes, it has ${key.length}`)
  return key
}
