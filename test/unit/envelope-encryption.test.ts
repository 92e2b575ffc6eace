import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { deriveKey } from '../../src/registry/crypto/master-key.ts'
import {
  keyId,
  decryptEnvelope,
  envelopePayload,
  rewrapDataKey,
  encryptEnvelope,
  DecryptionError,
  envelopeKeyId,
  type ValueLocation
} from '../../src/registry/crypto/envelope-encryption.ts'

const master = randomBytes(32)
const keys = { current: master }
const place: ValueLocation = { table: 'servers', row: '0b0c5b3e-5a1c-4f7e-9a39-0d6c7f1b2a10', column: 'sealed' }
const plain = Buffer.from('{"bearer_token":"s3cret-value"}')

test('a sealed value opens in its own place with its own key', () => {
  assert.deepEqual(decryptEnvelope(keys, encryptEnvelope(keys, plain, place), place), plain)
  assert.deepEqual(decryptEnvelope(keys, encryptEnvelope(keys, Buffer.alloc(0), place), place), Buffer.alloc(0))
})

test('a sealed value that comes back as a plain byte array opens too', () => {
  assert.deepEqual(decryptEnvelope(keys, new Uint8Array(encryptEnvelope(keys, plain, place)), place), plain)
})

test('a sealed value shows neither its content nor its key, and no two are alike', () => {
  const sealed = encryptEnvelope(keys, plain, place)
  assert.equal(sealed.includes('s3cret-value'), false)
  assert.equal(sealed.includes(master), false)
  assert.notDeepEqual(sealed, encryptEnvelope(keys, plain, place))
})

test('a sealed value holds format, key id, wrapped key and payload in that order', () => {
  const sealed = encryptEnvelope(keys, plain, place)
  assert.equal(sealed[0], 1)
  assert.equal(sealed.subarray(1, 9).toString('hex'), keyId(master))
  assert.equal(envelopeKeyId(sealed), keyId(master))
  assert.equal(sealed.length, 1 + 8 + (12 + 32 + 16) + (12 + plain.length + 16))
})

test('a value moved to another table, row or column does not open', () => {
  const sealed = encryptEnvelope(keys, plain, place)
  for (const other of [{ table: 'users' }, { row: '1' }, { column: 'settings' }]) {
    assert.throws(() => decryptEnvelope(keys, sealed, { ...place, ...other }), DecryptionError)
  }
})

test('places whose parts join to the same text are different places', () => {
  const sealed = encryptEnvelope(keys, plain, { table: 'ab', row: 'c', column: 'd' })
  assert.throws(() => decryptEnvelope(keys, sealed, { table: 'a', row: 'bc', column: 'd' }), DecryptionError)
})

test('a value with any byte altered does not open', () => {
  const sealed = encryptEnvelope(keys, plain, place)
  for (let at = 0; at < sealed.length; at++) {
    const altered = Buffer.from(sealed)
    altered[at]! ^= 1
    assert.throws(() => decryptEnvelope(keys, altered, place), DecryptionError, `byte ${at}`)
  }
})

test('a value that is cut short or empty does not open', () => {
  const sealed = encryptEnvelope(keys, plain, place)
  for (const length of [0, 1, 9, 69, 90, sealed.length - 1]) {
    assert.throws(() => decryptEnvelope(keys, sealed.subarray(0, length), place), DecryptionError, `${length} bytes`)
  }
})

test('parts of two values of one place do not fit together', () => {
  const first = encryptEnvelope(keys, plain, place)
  const second = encryptEnvelope(keys, plain, place)
  const mixed = Buffer.concat([first.subarray(0, 69), second.subarray(69)])
  assert.throws(() => decryptEnvelope(keys, mixed, place), DecryptionError)
})

test('another key does not open a value, and both key ids are named', () => {
  const other = randomBytes(32)
  assert.throws(() => decryptEnvelope({ current: other }, encryptEnvelope(keys, plain, place), place), {
    name: 'DecryptionError',
    message: `encrypted with another key (key id ${keyId(master)}, ours is ${keyId(other)})`
  })
})

test('a key id has 16 digits and stays the same for one key', () => {
  assert.match(keyId(master), /^[0-9a-f]{16}$/)
  assert.equal(keyId(master), keyId(Buffer.from(master)))
  assert.notEqual(keyId(master), keyId(randomBytes(32)))
})

test('derived keys differ by label and by master key, and are stable', () => {
  const key = deriveKey(master, 'session ids')
  assert.equal(key.length, 32)
  assert.deepEqual(key, deriveKey(Buffer.from(master), 'session ids'))
  assert.notDeepEqual(key, deriveKey(master, 'cursors'))
  assert.notDeepEqual(key, deriveKey(randomBytes(32), 'session ids'))
  assert.notDeepEqual(key, master)
})

test('either key of two opens, and what is sealed now is sealed with the current one', () => {
  const both = { current: randomBytes(32), previous: master }
  assert.deepEqual(decryptEnvelope(both, encryptEnvelope(keys, plain, place), place), plain)
  assert.equal(envelopeKeyId(encryptEnvelope(both, plain, place)), keyId(both.current))
  assert.throws(
    () =>
      decryptEnvelope(
        { current: randomBytes(32), previous: randomBytes(32) },
        encryptEnvelope(keys, plain, place),
        place
      ),
    {
      name: 'DecryptionError',
      message: /^encrypted with another key \(key id [0-9a-f]{16}, ours is [0-9a-f]{16} and [0-9a-f]{16}\)$/
    }
  )
})

test('a value that is wrapped anew opens with the current key alone, and its payload is the same', () => {
  const both = { current: randomBytes(32), previous: master }
  const sealed = encryptEnvelope(keys, plain, place)
  const moved = rewrapDataKey(both, sealed, place)
  assert.deepEqual(decryptEnvelope({ current: both.current }, moved, place), plain)
  assert.throws(() => decryptEnvelope(keys, moved, place), DecryptionError)
  assert.deepEqual(envelopePayload(moved), envelopePayload(sealed))
  assert.notDeepEqual(envelopePayload(encryptEnvelope(keys, plain, place)), envelopePayload(sealed))
  assert.throws(() => rewrapDataKey(both, sealed, { ...place, row: 'other' }), DecryptionError)
  assert.throws(() => rewrapDataKey({ current: both.current }, sealed, place), DecryptionError)
})
