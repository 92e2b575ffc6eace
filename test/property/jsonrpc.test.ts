import assert from 'node:assert/strict'
import fc from 'fast-check'
import { decode, isBatch, paramsFragment, ProtocolError, readMessage } from '../../src/protocol/jsonrpc.ts'
import { document, jsonString, objectDocument } from './json-document.ts'
import { holds } from './property.ts'

const limits = { depth: 64, elements: 100_000 }

function outcome(text: string) {
  try {
    return readMessage(text, limits)
  } catch (error) {
    assert.ok(error instanceof ProtocolError, String(error))
    assert.equal(error.status, 400)
    assert.ok([-32700, -32600].includes(error.code), String(error.code))
    return error
  }
}

const string = jsonString.map(({ text }) => text)
/** Integers within and beyond the safe range of a double. */
const integer = fc.bigInt({ min: -(2n ** 80n), max: 2n ** 80n }).map(String)
const goodId = fc.oneof(integer, string)
const member = (key: string, value: fc.Arbitrary<string>) => value.map((text) => `"${key}":${text}`)

/** An object with these members in any order. */
const shuffled = (...parts: fc.Arbitrary<string>[]) =>
  fc
    .tuple(...parts)
    .chain((members) => fc.shuffledSubarray(members, { minLength: members.length }))
    .map((members) => `{${members.join(' , ')}}`)

const version = fc.constant('"jsonrpc":"2.0"')

holds('an id of any length comes back as it was given', [goodId], (id) => {
  const read = outcome(`{"jsonrpc":"2.0","id":${id},"method":"ping"}`)
  assert.ok(!(read instanceof ProtocolError))
  if (id.startsWith('"')) assert.equal(JSON.parse(read.id), JSON.parse(id))
  else assert.equal(read.id, id)
})

holds(
  'members may stand in any order, and decide what a message is',
  [
    shuffled(
      version,
      member('id', goodId),
      member('method', string),
      member(
        'params',
        objectDocument.map(({ text }) => text)
      )
    ),
    shuffled(version, member('method', string)),
    shuffled(
      version,
      member('id', goodId),
      member(
        'result',
        document.map(({ text }) => text)
      )
    )
  ],
  (request, notification, response) => {
    assert.equal(readMessage(notification, limits).kind, 'notification')
    assert.equal(readMessage(response, limits).kind, 'response')
    const read = outcome(request)
    if (read instanceof ProtocolError) assert.match(read.message, /given twice/)
    else assert.equal(read.kind, 'request')
  }
)

holds(
  'parameters go on byte for byte, unless one of them is given twice or looks like another',
  [objectDocument],
  (made) => {
    const keys = made.keys!
    const read = outcome(`{"jsonrpc":"2.0","id":1,"method":"x","params":${made.text}}`)
    if (new Set(keys).size < keys.length) return assert.ok(read instanceof ProtocolError)
    if (read instanceof ProtocolError) return assert.match(read.message, /can be mistaken for/)
    const kept = made.members!.filter((_, i) => keys[i] !== '_meta')
    assert.equal(paramsFragment(read), kept.join(','))
  }
)

const anyMember = fc.oneof(
  member(
    'jsonrpc',
    fc.oneof(
      fc.constant('"2.0"'),
      document.map(({ text }) => text)
    )
  ),
  member(
    'id',
    fc.oneof(
      goodId,
      document.map(({ text }) => text)
    )
  ),
  member(
    'method',
    fc.oneof(
      string,
      document.map(({ text }) => text)
    )
  ),
  member(
    'params',
    document.map(({ text }) => text)
  ),
  member(
    'result',
    document.map(({ text }) => text)
  )
)
const envelope = fc.array(anyMember, { maxLength: 6 }).map((members) => `{${members.join(',')}}`)

holds(
  'whatever is sent is read as JSON.parse reads it, or refused as the protocol says',
  [
    fc.oneof(
      envelope,
      document.map(({ text }) => text),
      fc.json(),
      fc.string({ unit: 'binary' })
    )
  ],
  (text) => {
    const read = outcome(text)
    if (read instanceof ProtocolError) {
      // an error response must itself be JSON
      assert.doesNotThrow(() => JSON.parse(read.id))
      return
    }
    const value = JSON.parse(text) as Record<string, unknown>
    assert.equal(value.jsonrpc, '2.0')
    assert.equal(read.kind === 'response' ? undefined : value.method, read.method || value.method)
    assert.deepEqual(read.params, read.kind === 'response' ? {} : (value.params ?? {}))
  }
)

holds(
  'bytes that are no UTF-8 are refused, all others are the text that they encode',
  [fc.uint8Array({ maxLength: 12 })],
  (bytes) => {
    const body = Buffer.from(bytes)
    const isText = Buffer.from(body.toString()).equals(body)
    try {
      assert.equal(decode(body), body.toString())
      assert.ok(isText)
    } catch (error) {
      assert.ok(error instanceof ProtocolError, String(error))
      assert.ok(!isText)
    }
  }
)

holds('what begins like an array is one, of all that is JSON', [document], ({ text }) => {
  assert.equal(isBatch(text), Array.isArray(JSON.parse(text)))
})
