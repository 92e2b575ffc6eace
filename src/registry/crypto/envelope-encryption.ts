import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto'

/** Master keys; new values are encrypted with `current` */
export interface MasterKeys {
  readonly current: Buffer
  /** Present during a key rotation */
  readonly previous?: Buffer | undefined
}

/** Location of an encrypted value, bound to it: a value moved to another table, row or column cannot be decrypted */
export interface ValueLocation {
  readonly table: string
  readonly row: string
  readonly column: string
}

/** The value was encrypted with another key, moved or altered. */
export class DecryptionError extends Error {
  constructor(message: string, options: ErrorOptions = {}) {
    super(message, options)
    this.name = 'DecryptionError'
  }
}

const FORMAT = 1
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
const KEY_ID_BYTES = 8
const WRAP_AT = 1 + KEY_ID_BYTES
const WRAP_BYTES = NONCE_BYTES + KEY_BYTES + TAG_BYTES
const PAYLOAD_AT = WRAP_AT + WRAP_BYTES

/** Returns the id of a master key, 16 hexadecimal digits that do not reveal it. */
export const keyId = (master: Buffer): string => idBytes(master).toString('hex')

/** Returns the id of the key that a value was encrypted with. Throws DecryptionError for an unknown format. */
export function envelopeKeyId(sealed: Uint8Array): string {
  return requireEnvelope(sealed).subarray(1, WRAP_AT).toString('hex')
}

/**
 * Encrypts a value with envelope encryption (security-model.md#secrets-at-rest). Result: format version, key id, wrap
 * nonce, wrapped data key and tag, payload nonce, payload and tag.
 */
export function encryptEnvelope({ current }: MasterKeys, plaintext: Buffer, location: ValueLocation): Buffer {
  const dataKey = randomBytes(KEY_BYTES)
  return Buffer.concat([wrapDataKey(current, dataKey, location), encrypt(dataKey, plaintext, payloadAad(location))])
}

/** Decrypts a value encrypted for the same place, with either key. Throws DecryptionError. */
export function decryptEnvelope(keys: MasterKeys, sealed: Uint8Array, location: ValueLocation): Buffer {
  const bytes = requireEnvelope(sealed)
  const dataKey = unwrapDataKey(keys, bytes, location)
  return asDecryptionError(() => decrypt(dataKey, bytes.subarray(PAYLOAD_AT), payloadAad(location)))
}

/** Wraps a value's data key with the current master key; the payload stays unchanged. Throws DecryptionError. */
export function rewrapDataKey(keys: MasterKeys, sealed: Uint8Array, location: ValueLocation): Buffer {
  const bytes = requireEnvelope(sealed)
  return Buffer.concat([
    wrapDataKey(keys.current, unwrapDataKey(keys, bytes, location), location),
    bytes.subarray(PAYLOAD_AT)
  ])
}

/** Returns the part that a key rotation does not change. Nonces are random, so equal payloads are the same value. */
export const envelopePayload = (sealed: Uint8Array): Uint8Array => sealed.subarray(PAYLOAD_AT)

function wrapDataKey(master: Buffer, dataKey: Buffer, location: ValueLocation): Buffer {
  const id = idBytes(master)
  return Buffer.concat([Buffer.of(FORMAT), id, encrypt(master, dataKey, wrapAad(location, id))])
}

function unwrapDataKey({ current, previous }: MasterKeys, bytes: Buffer, location: ValueLocation): Buffer {
  const id = bytes.subarray(1, WRAP_AT)
  const masters = [current, ...(previous ? [previous] : [])]
  const master = masters.find((key) => id.equals(idBytes(key)))
  if (!master) {
    const availableIds = masters.map(keyId).join(' and ')
    throw new DecryptionError(`encrypted with another key (key id ${id.toString('hex')}, ours is ${availableIds})`)
  }
  return asDecryptionError(() => decrypt(master, bytes.subarray(WRAP_AT, PAYLOAD_AT), wrapAad(location, id)))
}

function asDecryptionError(decryption: () => Buffer): Buffer {
  try {
    return decryption()
  } catch (cause) {
    throw new DecryptionError('the encrypted value was altered or moved', { cause })
  }
}

const idBytes = (master: Buffer) =>
  createHmac('sha256', master).update('towpath key id').digest().subarray(0, KEY_ID_BYTES)

function requireEnvelope(sealed: Uint8Array): Buffer {
  const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength)
  if (bytes[0] !== FORMAT || bytes.length < PAYLOAD_AT + NONCE_BYTES + TAG_BYTES) {
    throw new DecryptionError('the encrypted value has an unknown format')
  }
  return bytes
}

/** Additional authenticated data. Each part is prefixed with its length, so that no two places yield the same bytes. */
function payloadAad({ table, row, column }: ValueLocation): Buffer {
  return withLengths([Buffer.of(FORMAT), Buffer.from(table), Buffer.from(row), Buffer.from(column)])
}

const wrapAad = (location: ValueLocation, id: Buffer) => Buffer.concat([payloadAad(location), withLengths([id])])

function withLengths(parts: readonly Buffer[]): Buffer {
  return Buffer.concat(
    parts.flatMap((part) => {
      const length = Buffer.alloc(4)
      length.writeUInt32BE(part.length)
      return [length, part]
    })
  )
}

function encrypt(key: Buffer, plaintext: Buffer, aad: Buffer): Buffer {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES }).setAAD(aad)
  return Buffer.concat([nonce, cipher.update(plaintext), cipher.final(), cipher.getAuthTag()])
}

function decrypt(key: Buffer, ciphertext: Buffer, aad: Buffer): Buffer {
  const end = ciphertext.length - TAG_BYTES
  const nonce = ciphertext.subarray(0, NONCE_BYTES)
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES }).setAAD(aad)
  decipher.setAuthTag(ciphertext.subarray(end))
  return Buffer.concat([decipher.update(ciphertext.subarray(NONCE_BYTES, end)), decipher.final()])
}
