import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hasDuplicateMembers } from '../../src/json/duplicates.ts'
import { foldKey } from '../../src/protocol/jsonrpc.ts'

const has = (text: string) => hasDuplicateMembers(text, foldKey)

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
