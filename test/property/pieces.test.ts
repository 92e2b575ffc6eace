import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { membersOfBytes } from '../../src/json/bytes.ts'
import { complete } from '../../src/lib/time-slice.ts'
import { Payload } from '../../src/json/payload.ts'
import { scanText } from '../../src/json/scan.ts'
import { BufferCollector, readJoined, sliceBuffers, includesText } from '../../src/json/buffer-list.ts'
import { holds } from './property.ts'

/** Few distinct letters, so that partial matches are frequent. */
const pieces = fc.array(
  fc.string({ unit: fc.constantFrom('a', 'b', '"'), maxLength: 7 }).map((text) => Buffer.from(text)),
  { maxLength: 8 }
)
const needle = fc.string({ unit: fc.constantFrom('a', 'b', '"'), minLength: 1, maxLength: 6 })

holds('what is looked for is found where several pieces meet, and nowhere else', [pieces, needle], (parts, text) => {
  assert.equal(includesText(parts, text), Buffer.concat(parts).includes(text))
})

holds(
  'what is cut out of pieces is what is cut out of the whole',
  [pieces, fc.nat(60), fc.nat(60)],
  (parts, from, to) => {
    const [start, end] = [Math.min(from, to), Math.max(from, to)]
    assert.ok(Buffer.concat(sliceBuffers(parts, start, end)).equals(Buffer.concat(parts).subarray(start, end)))
  }
)

const lengths = fc.array(fc.oneof(fc.nat(40), fc.constantFrom(16_383, 16_384, 65_530, 65_536, 70_000)), {
  maxLength: 30
})

holds(
  'what arrives is taken whole and in order, in chunks of any size',
  [lengths, lengths],
  (first, second) => {
    const arrivals = new BufferCollector()
    let next = 0
    for (const all of [first, second]) {
      const chunks = all.map((length) => Buffer.alloc(length, (next = (next + 1) % 251)))
      for (const chunk of chunks) arrivals.add(chunk)
      const whole = Buffer.concat(chunks)
      assert.equal(arrivals.length, whole.length)
      const taken = arrivals.take()
      assert.ok(Buffer.concat(taken).equals(whole))
      const check = function* (bytes: Buffer): Generator<void, boolean> {
        yield
        return bytes.equals(whole)
      }
      // while one text is in the scratch memory, another is copied elsewhere
      const [one, other] = [readJoined(taken, check), readJoined([...taken, Buffer.alloc(0)], check)]
      one.next()
      assert.ok(complete(other))
      assert.ok(complete(one))
    }
  },
  200
)

test('SR-H3 a text of megabytes in pieces is read in memory that is used again, apart from that of small texts', () => {
  const text = (bytes: number) => Buffer.alloc(bytes, 'a')
  const joined: Buffer[] = []
  const read = (buffers: Buffer[]) =>
    readJoined(buffers, function* (bytes) {
      joined.push(bytes)
      yield
      return bytes.buffer
    })
  const large = [text(16_000_000), text(777_216)]
  const small = [text(4_000_000), text(194_304)]
  // compared as booleans: a failure must not print megabytes
  const memory = complete(read(large))
  assert.ok(complete(read([text(5_000_000), text(1)])) === memory, 'used again')
  const memoryOfSmall = complete(read(small))
  assert.ok(memoryOfSmall !== memory)
  const held = read(large)
  while (joined.length < 4) held.next()
  assert.ok(complete(read(small)) === memoryOfSmall, 'not held by the large text')
  // the scan overwrites what follows a text
  scanText(joined.at(-1)!)
  assert.ok(joined[3]!.equals(Buffer.concat(large)))
  assert.ok(complete(read(large)) !== memory, 'held by the other')
  assert.ok(complete(held) === memory)
})

test('parts of one buffer that follow each other are collected as one', () => {
  const whole = Buffer.from('abcdefghij'.repeat(10_000))
  const collector = new BufferCollector()
  for (let at = 0; at < whole.length; at += 16_384) collector.add(whole.subarray(at, at + 16_384))
  const taken = collector.take()
  assert.equal(taken.length, 1)
  assert.equal(taken[0]!.buffer, whole.buffer)
  assert.ok(taken[0]!.equals(whole))
})

test('small chunks between large ones take little more memory than their bytes', () => {
  const collector = new BufferCollector()
  for (let i = 0; i < 200; i++) collector.add(Buffer.alloc(i % 2 === 0 ? 16_384 : 1))
  const { length } = collector
  const memory = new Set(collector.take().map(({ buffer }) => buffer))
  const bytes = [...memory].reduce((sum, { byteLength }) => sum + byteLength, 0)
  assert.ok(bytes < 1.1 * length, `${bytes} bytes for ${length}`)
})

const value = fc.oneof(fc.json({ maxDepth: 2 }), fc.constantFrom('"\\u00e9\\""', '1.50', '{"a" : [1 , 2]}', '"é€😀"'))
const key = fc.constantFrom('_meta', '\\u005fmeta', 'a', '__proto__', 'content', 'é', 'is\\u0045rror')
const object = fc.array(fc.tuple(key, value, fc.constantFrom('', ' ', '\n')), { maxLength: 6 })

holds(
  'an object is changed the same as text, as bytes and in pieces',
  [object, fc.array(fc.nat(9), { maxLength: 20 }), fc.subarray(['_meta', 'a', 'isError', '__proto__'])],
  (entries, sizes, wanted) => {
    const text = `{${entries.map(([name, json, space]) => `${space}"${name}"${space}:${json}${space}`).join(',')}}`
    const bytes = Buffer.from(text)
    const cuts: Buffer[] = []
    let at = 0
    for (const size of [...sizes, bytes.length]) cuts.push(bytes.subarray(at, (at += size)))
    const changes = Object.fromEntries(wanted.map((name, i) => [name, i % 2 === 0 ? null : '{"b":1}']))
    const forms = [Payload.of(text), Payload.ofLatin1(bytes.toString('latin1')), Payload.ofBuffers(cuts)]
    const changed = forms.map((form) => form.withChanges(changes, '"z":0').toString())
    assert.equal(new Set(changed).size, 1, changed.join('\n'))
    const expected = JSON.parse(text) as Record<string, unknown>
    for (const [name, json] of Object.entries(changes)) {
      if (json === null) delete expected[name]
      else if (Object.hasOwn(expected, name)) expected[name] = JSON.parse(json)
    }
    assert.deepEqual(JSON.parse(changed[0]!), { ...expected, z: 0 })
    for (const name of ['_meta', 'isError', 'a']) {
      const values = forms.map((form) => form.valueOf(name))
      assert.equal(new Set(values).size, 1)
    }
  }
)

holds(
  'parts of values are replaced in an object, and its members are where they stand then',
  [object, fc.array(fc.nat(9), { maxLength: 20 }), fc.array(fc.constantFrom('', '"new"', '{"longer":[1,2,3]}'))],
  (entries, sizes, given) => {
    const text = `{${entries.map(([name, json, space]) => `${space}"${name}"${space}:${json}${space}`).join(',')}}`
    const latin1 = Buffer.from(text).toString('latin1')
    const edits = membersOfBytes(Buffer.from(text)).flatMap(({ start, end }, i) =>
      i < given.length && given[i] !== '' ? [{ start, end, text: given[i]! }] : []
    )
    const expected = edits.reduceRight(
      (all, edit) => all.slice(0, edit.start) + edit.text + all.slice(edit.end),
      latin1
    )
    const cuts: Buffer[] = []
    let at = 0
    for (const size of [...sizes, latin1.length]) cuts.push(Buffer.from(latin1.slice(at, (at += size)), 'latin1'))
    const outer = Buffer.from(`[${latin1}`, 'latin1')
    const found = { members: membersOfBytes(outer, 1), base: 1 }
    for (const form of [Payload.ofLatin1(latin1), Payload.ofBuffers(cuts), Payload.ofBuffers(cuts, found)]) {
      const edited = form.withEdits(edits)
      const offsets = edited.ownMembers.map((each) => ({ ...each, members: undefined }))
      assert.equal(edited.latin1, expected)
      assert.deepEqual(
        offsets,
        membersOfBytes(Buffer.from(expected, 'latin1')).map((each) => ({ ...each, members: undefined }))
      )
    }
  }
)
