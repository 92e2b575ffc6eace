import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto'

/** Master keys; new values are encrypted with `current` */
export interface Keyring {
  readonly current: Buffer
  /** Present during a key rotation */
  readonly previous?: Buffer | undefined
}

/** Location of an encrypted value, bound to it: a value moved to another table, row or column cannot be decrypted */
export interface Place {
  readonly table: string
  readonly row: string
  readonly column: string
}

/** The value was encrypted with another key, moved or altered. */
export class SealError extends Error {
  constructor(message: string, options: ErrorOptions = {}) {
    super(message, options)
    this.name = 'SealError'
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

/** Returns the id of the key that a value was encrypted with. Throws SealError if the value has an unknown format. */
export function sealedKeyId(sealed: Uint8Array): string {
  return checked(sealed).subarray(1, WRAP_AT).toString('hex')
}

/**
 * Encrypts a value with envelope encryption (security-model.md#secrets-at-rest). Result: format version, key id, wrap
 * nonce, wrapped data key and tag, payload nonce, payload and tag.
 */
export function seal({ current }: Keyring, plain: Buffer, place: Place): Buffer {
  const dataKey = randomBytes(KEY_BYTES)
  return Buffer.concat([wrap(current, dataKey, place), encrypt(dataKey, plain, payloadAad(place))])
}

/** Decrypts a value encrypted for the same place, with either key. Throws SealError. */
export function open(keys: Keyring, sealed: Uint8Array, place: Place): Buffer {
  const bytes = checked(sealed)
  const dataKey = unwrap(keys, bytes, place)
  return unaltered(() => decrypt(dataKey, bytes.subarray(PAYLOAD_AT), payloadAad(place)))
}

/** Wraps a value's data key with the current master key; the payload stays unchanged. Throws SealError. */
export function rewrap(keys: Keyring, sealed: Uint8Array, place: Place): Buffer {
  const bytes = checked(sealed)
  return Buffer.concat([wrap(keys.current, unwrap(keys, bytes, place), place), bytes.subarray(PAYLOAD_AT)])
}

/** Returns the part that a key rotation does not change. Nonces are random, so equal payloads are the same value. */
export const payloadOf = (sealed: Uint8Array): Uint8Array => sealed.subarray(PAYLOAD_AT)

function wrap(master: Buffer, dataKey: Buffer, place: Place): Buffer {
  const id = idBytes(master)
  return Buffer.concat([Buffer.of(FORMAT), id, encrypt(master, dataKey, wrapAad(place, id))])
}

function unwrap({ current, previous }: Keyring, bytes: Buffer, place: Place): Buffer {
  const id = bytes.subarray(1, WRAP_AT)
  const known = [current, ...(previous ? [previous] : [])]
  const master = known.find((key) => id.equals(idBytes(key)))
  if (!master) {
    const ours = known.map(keyId).join(' and ')
    throw new SealError(`sealed with another key (key id ${id.toString('hex')}, ours is ${ours})`)
  }
  return unaltered(() => decrypt(master, bytes.subarray(WRAP_AT, PAYLOAD_AT), wrapAad(place, id)))
}

function unaltered(decryption: () => Buffer): Buffer {
  try {
    return decryption()
  } catch (cause) {
    throw new SealError('the sealed value was altered or moved', { cause })
  }
}

const idBytes = (master: Buffer) =>
  createHmac('sha256', master).update('towpath key id').digest().subarray(0, KEY_ID_BYTES)

function checked(sealed: Uint8Array): Buffer {
  const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength)
  if (bytes[0] !== FORMAT || bytes.length < PAYLOAD_AT + NONCE_BYTES + TAG_BYTES) {
    throw new SealError('the sealed value has an unknown format')
  }
  return bytes
}

/** Additional authenticated data. Each part is prefixed with its length, so that no two places yield the same bytes. */
function payloadAad({ table, row, column }: Place): Buffer {
  return withLengths([Buffer.of(FORMAT), Buffer.from(table), Buffer.from(row), Buffer.from(column)])
}

const wrapAad = (place: Place, id: Buffer) => Buffer.concat([payloadAad(place), withLengths([id])])

function withLengths(parts: readonly Buffer[]): Buffer {
  return Buffer.concat(
    parts.flatMap((part) => {
      const length = Buffer.alloc(4)
      length.writeUInt32BE(part.length)
      return [length, part]
    })
  )
}

function encrypt(key: Buffer, plain: Buffer, aad: Buffer): Buffer {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES }).setAAD(aad)
  return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()])
}

function decrypt(key: Buffer, box: Buffer, aad: Buffer): Buffer {
  const end = box.length - TAG_BYTES
  const nonce = box.subarray(0, NONCE_BYTES)
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES }).setAAD(aad)
  decipher.setAuthTag(box.subarray(end))
  return Buffer.concat([decipher.update(box.subarray(NONCE_BYTES, end)), decipher.final()])
}
