import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hasDuplicateMembers } from '../../src/json/duplicates.ts'
import { createKeyFold, LongKeysError } from '../../src/protocol/jsonrpc.ts'

const has = (text: string) => hasDuplicateMembers(text, createKeyFold())

test('a member that an object names twice is found at any depth and in any spelling', () => {
  for (const text of [
    '{"a":1,"a":2}',
    '{"a":1,"\\u0061":2}',
    '{"a":1, "A" :2}',
    '[{"x":[{"b":1,"c":{"d":1,"d":1}}]}]',
    `${'{"a":['.repeat(30)}{"b":1,"b":2}${']}'.repeat(30)}`
  ])
    assert.ok(has(text), text)
})

test('equal names in different objects, and texts that look like names, are no duplicates', () => {
  for (const text of [
    '{"a":{"a":1},"b":{"a":1}}',
    '[{"a":1},{"a":1}]',
    '{"a":"a","b":"a\\":","c":["a","a"]}',
    '{"a":"{\\"a\\":1,\\"a\\":2}"}',
    '{}',
    '[]',
    '1'
  ])
    assert.ok(!has(text), text)
})

test('keys in other scripts are folded, and too many of them are refused', () => {
  assert.ok(has('{"stra\u00dfe":1,"STRASSE":2}'))
  assert.ok(has('{"a\u0301":1,"\u00e1":2}'))
  assert.ok(has('{"na\u200bme":1,"name":2}'))
  assert.throws(() => has(`{"${'\u00e1'.repeat(20_000)}":1}`), LongKeysError)
  const keys = Array.from({ length: 200 }, (_, i) => `"${i}${'\u00e1'.repeat(100)}":1`)
  assert.throws(() => has(`{${keys.join(',')}}`), LongKeysError)
  assert.ok(!has(`{"${'a'.repeat(100_000)}":1,"${'b'.repeat(100_000)}":1}`), 'plain keys have no limit')
})

test('only marks, and the two half-width marks, can be reordered when they are folded', () => {
  // otherwise a run of them would be normalized in quadratic time
  const others: string[] = []
  for (let point = 0x80; point < 0x110000; point++) {
    if (point >= 0xd800 && point < 0xe000) continue
    const character = String.fromCodePoint(point)
    const isMark = /[\p{M}\uff9e\uff9f]/u.test(character)
    // the iota subscript has the highest class: marks of all others move in front of it
    const text = `\u0345${character.normalize('NFKD')}`
    if (!isMark && text.normalize('NFKD') !== text) others.push(point.toString(16))
  }
  assert.deepEqual(others, [])
})
