import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  checkJson,
  checkUnique,
  elements,
  MAX_DEPTH,
  MAX_MEMBERS,
  members,
  skipValue,
  valueOf,
  withMembers
} from '../../src/json/json.ts'
import { type ByteLimits, membersOfBytes } from '../../src/json/bytes.ts'
import { isJson, problemOf } from '../json-outcomes.ts'

const limits = { depth: MAX_DEPTH, elements: 100_000 }

/** Returns a generator of the same numbers at each run (mulberry32). */
function createRandom(seed: number) {
  let state = seed
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let value = Math.imul(state ^ (state >>> 15), 1 | state)
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value
    return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32
  }
  return { below: (limit: number) => Math.floor(next() * limit) }
}
type Random = ReturnType<typeof createRandom>

const scalars = ['0', '-0', '12.50', '1e9', '-3.25E-2', '12345678901234567890', 'true', 'false', 'null']
const strings = ['""', '"a"', '"\\""', '"\\\\"', '"\\\\\\""', '"{[,:]}"', '"ü€😀"', '"\\u006e\\ud800"', '"a b\\n"']
/** At most one key with escapes: the V8 of Node 24 may confuse an escaped key with one parsed before. */
const keys = ['""', '"a"', '"{[,:]}"', '"ü€😀"', '"\\u006e\\ud800"', '"a b"']
const spaces = ['', '', '', ' ', '\n', '\t\r\n  ']
const pick = <T>(random: Random, list: readonly T[]): T => list[random.below(list.length)]!

/** Writes random JSON text with white space in every allowed place, repeated keys included. */
function write(random: Random, depth: number): string {
  const space = () => pick(random, spaces)
  const kind = random.below(depth === 0 ? 2 : 4)
  if (kind === 0) return pick(random, scalars)
  if (kind === 1) return pick(random, strings)
  const parts = Array.from({ length: random.below(5) }, () => {
    const key = kind === 2 ? `${pick(random, keys)}${space()}:${space()}` : ''
    return `${space()}${key}${write(random, depth - 1)}${space()}`
  })
  const inner = parts.length === 0 ? space() : parts.join(',')
  return kind === 2 ? `{${inner}}` : `[${inner}]`
}

test('random documents are read where JSON.parse reads them, and each span is exactly its value', () => {
  const random = createRandom(20260728)
  for (let round = 0; round < 2_000; round++) {
    const text = `${pick(random, spaces)}${write(random, 4)}${pick(random, spaces)}`
    assert.equal(
      problemOf(() => checkJson(text, limits)),
      undefined,
      text
    )
    const value: unknown = JSON.parse(text)
    if (Array.isArray(value)) {
      const found = elements(text).map(({ start, end }) => JSON.parse(text.slice(start, end)) as unknown)
      assert.deepEqual(found, value, text)
    } else if (typeof value === 'object' && value !== null) {
      const found = members(text)
      const entries = found.map(({ key, start, end }) => [key, JSON.parse(text.slice(start, end))] as const)
      assert.deepEqual(Object.fromEntries(entries), value, text)
      assert.ok(
        found.every(({ keyStart, start }) => text[keyStart] === '"' && text.slice(keyStart, start).includes(':'))
      )
    }
  }
})

test('with one character taken away, added or changed, what JSON.parse refuses is refused', () => {
  const marks = [',', ':', '{', '}', '[', ']', '-', '.', '0', 'e', '+', ' ', 'n', '']
  const outside = '{"a":[1,-2.5e3,true,{"b":null,"c":[[]]},""],"d":{"e":0.1}}'
  for (let at = 0; at < outside.length; at++) {
    for (const mark of marks) {
      for (const rest of [outside.slice(at), outside.slice(at + 1)]) {
        const text = outside.slice(0, at) + mark + rest
        assert.equal(problemOf(() => checkJson(text, limits)) === undefined, isJson(text), text)
      }
    }
  }
})

test('a text cut off anywhere is refused', () => {
  const text = '{"a": [1.5, "x\\"y", {"b": true}], "c": null}'
  for (let end = 0; end < text.length; end++) {
    assert.equal(
      problemOf(() => members(text.slice(0, end))),
      'syntax',
      text.slice(0, end)
    )
    assert.equal(
      problemOf(() => checkJson(text.slice(0, end), limits)),
      'syntax',
      text.slice(0, end)
    )
  }
})

test('malformed numbers, literals and commas are refused, as is text behind the value', () => {
  const bad = ['01', '-', '1.', '.5', '1e', '1e+', '--1', '1.2.3', '+1', '0x1', 'NaN', 'Infinity', 'nul', 'True', "'a'"]
  const more = [
    '[1,]',
    '[,1]',
    '[1 2]',
    '{"a":1,}',
    '{,}',
    '{"a"}',
    '{"a":}',
    '{a:1}',
    '{"a" 1}',
    '[}',
    '{]',
    '1 2',
    ''
  ]
  for (const text of [...bad, ...bad.map((value) => `{"a":${value}}`), ...more]) {
    assert.equal(isJson(text), false, text)
    assert.equal(
      problemOf(() => checkJson(text, limits)),
      'syntax',
      text
    )
  }
})

test('a key with a malformed escape is a syntax problem like any other', () => {
  assert.equal(
    problemOf(() => members('{"\\x":1}')),
    'syntax'
  )
})

test('64 levels pass and 65 do not; of members the values are measured', () => {
  const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)
  assert.equal(
    problemOf(() => checkJson(nested(64), limits)),
    undefined
  )
  assert.equal(
    problemOf(() => checkJson(nested(65), limits)),
    'depth'
  )
  assert.equal(
    problemOf(() => skipValue(nested(64), 0)),
    undefined
  )
  assert.equal(
    problemOf(() => members(`{"a":${nested(64)}}`)),
    undefined
  )
  assert.equal(
    problemOf(() => members(`{"a":${nested(65)}}`)),
    'depth'
  )
  assert.equal(
    problemOf(() => members('{"a":'.repeat(100_000))),
    'depth'
  )
})

test('elements and members are counted over the whole text', () => {
  const few = { depth: 64, elements: 10 }
  const list = (count: number) => `[${Array.from({ length: count }, () => '1').join(',')}]`
  assert.equal(
    problemOf(() => checkJson(list(11), few)),
    undefined
  )
  assert.equal(
    problemOf(() => checkJson(list(12), few)),
    'elements'
  )
  assert.equal(
    problemOf(() => members(`{"a":${list(6)},"b":${list(6)}}`, 0, few)),
    'elements'
  )
  const flat = `{${Array.from({ length: 20 }, (_, i) => `"k${i}":1`).join(',')}}`
  assert.equal(
    problemOf(() => members(flat, 0, few)),
    'elements'
  )
})

test('a repeated member is refused where members decide, however it is written', () => {
  assert.equal(
    problemOf(() => checkUnique(members('{"name":1,"x":2,"na\\u006de":3}'))),
    'duplicate'
  )
  assert.equal(
    problemOf(() => checkUnique(members('{"name":1,"Name":2,"__proto__":3}'))),
    undefined
  )
  const many = Array.from({ length: 50 }, (_, i) => `"k${i}":1`)
  assert.equal(
    problemOf(() => checkUnique(members(`{${many.join(',')}}`))),
    undefined
  )
  assert.equal(
    problemOf(() => checkUnique(members(`{${[...many, '"k\\u0037":1'].join(',')}}`))),
    'duplicate'
  )
})

test('a hundred thousand members are checked for repetition without looking at each pair', () => {
  const text = `{${Array.from({ length: 99_999 }, (_, i) => `"k${i}":1`).join(',')}}`
  const before = process.cpuUsage()
  const found = members(text, 0, limits)
  checkUnique(found)
  assert.equal(found.length, 99_999)
  assert.ok(process.cpuUsage(before).user < 3_000_000)
})

test('keys are read with their escapes, and of repeated ones the last value counts as with JSON.parse', () => {
  const text = '{"na\\u006de":"first","name":"last"}'
  assert.deepEqual(
    members(text).map(({ key }) => key),
    ['name', 'name']
  )
  assert.equal(valueOf(text, members(text), 'name'), '"last"')
  assert.equal(valueOf(text, members(text), 'constructor'), undefined)
})

test('offsets into the latin1 view of UTF-8 are offsets of bytes', () => {
  const bytes = Buffer.from('{"ü€😀":"ä\\"😀","result":{"x":"ÿ€"}}')
  const found = members(bytes.toString('latin1'))
  const { start, end } = found.find(({ key }) => key === 'result')!
  assert.equal(bytes.subarray(start, end).toString(), '{"x":"ÿ€"}')
  assert.equal(bytes.toString('utf8', found[0]!.start, found[0]!.end), '"ä\\"😀"')
})

test('replacing and taking out members leaves the text of all others as it is', () => {
  const text = ' { "a" : 1.00 , "name":"x", "n" : 12345678901234567890,"z":{ "name" : 1 } } '
  assert.equal(
    withMembers(text, { name: '"y"', missing: '1' }),
    '{"a" : 1.00,"name":"y","n" : 12345678901234567890,"z":{ "name" : 1 }}'
  )
  assert.equal(withMembers(text, { a: null, z: null }), '{"name":"x","n" : 12345678901234567890}')
  assert.equal(withMembers('{"constructor":1,"__proto__":2}', {}), '{"constructor":1,"__proto__":2}')
  assert.equal(withMembers('{"a":1,"na\\u006de":2,"name":3}', { name: '4' }), '{"a":1,"na\\u006de":4,"name":4}')
  assert.equal(withMembers('{}', { a: '1' }), '{}')
})

test('SR-H3 an object of more members than can be held is refused, as text and as bytes', () => {
  const wide = (count: number) => `{${'"":0,'.repeat(count - 1)}"":0}`
  for (const read of [members, (text: string) => membersOfBytes(Buffer.from(text))]) {
    assert.equal(read(wide(MAX_MEMBERS)).length, MAX_MEMBERS, 'as many as there may be')
    assert.throws(() => read(wide(MAX_MEMBERS + 1)), { problem: 'elements' }, 'one more')
  }
})

test('SR-H3 elements of large answers are counted over all values of the object', () => {
  const text = `{"a":[${'0,'.repeat(60)}0],"b":{"c":[${'0,'.repeat(38)}0]}}`
  for (const read of [
    members,
    (json: string, at: number, limits: ByteLimits) => membersOfBytes(Buffer.from(json), at, limits)
  ]) {
    assert.equal(read(text, 0, { depth: 64, elements: 99 }).length, 2, 'as many as there may be')
    assert.throws(() => read(text, 0, { depth: 64, elements: 98 }), { problem: 'elements' }, 'one more')
  }
})

test('an error of bad JSON has a message and no stack trace, other errors have theirs', () => {
  const thrown = (text: string) => {
    try {
      members(text)
    } catch (error) {
      return error as Error
    }
    return assert.fail('bad JSON was read')
  }
  const { message, stack } = thrown('{"a":')
  assert.match(message, /./)
  assert.doesNotMatch(stack ?? '', /\n\s+at /)
  assert.match(new Error('other').stack ?? '', /\n\s+at /)
})
