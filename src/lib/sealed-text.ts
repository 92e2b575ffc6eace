import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

const CIPHER = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** Encrypts texts that others keep for us, such as cookies, so that they can neither be read nor changed. */
export interface Sealer {
  /** Returns base64url. */
  seal(text: string): string
  /** Undefined if the text was not sealed with this key and purpose. */
  open(sealed: string): string | undefined
}

/** `key`: 32 bytes. `purpose`: a text sealed for one purpose cannot be opened for another. */
export function createSealer(key: Buffer, purpose: string): Sealer {
  return {
    seal(text) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(purpose))
      return Buffer.concat([nonce, cipher.update(text), cipher.final(), cipher.getAuthTag()]).toString('base64url')
    },
    open(sealed) {
      const bytes = Buffer.from(sealed, 'base64url')
      if (bytes.length <= NONCE_BYTES + TAG_BYTES) return undefined
      try {
        const nonce = bytes.subarray(0, NONCE_BYTES)
        const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES })
        decipher.setAAD(Buffer.from(purpose)).setAuthTag(bytes.subarray(-TAG_BYTES))
        return decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)).toString() + decipher.final().toString()
      } catch {
        return undefined
      }
    }
  }
}
