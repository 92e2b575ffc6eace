import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Payload } from '../../src/json/payload.ts'
import { isErrorResult } from '../../src/protocol/is-error.ts'

const says = (text: string) => isErrorResult(Payload.of(text))

test('a result is an error where its own member says so, wherever that stands', () => {
  for (const text of [
    '{"content":[],"isError":true}',
    '{"isError":true,"content":[]}',
    '{ "content" : [ ] ,\n "isError" :\t true }',
    '{"content":[{"type":"text","text":"é \\"isError\\":false"}],"isError":true,"_meta":{"isError":false}}'
  ]) {
    assert.equal(says(text), true, text)
  }
})

test('what a result says further in, or in a text, does not make it an error', () => {
  for (const text of [
    '{"content":[]}',
    '{"content":[],"isError":false}',
    '{"content":[],"isError":null}',
    '{"content":[],"isError":"true"}',
    '{"content":[{"type":"text","text":"\\"isError\\":true"}]}',
    '{"content":[],"structuredContent":{"isError":true}}',
    '{"content":[],"structuredContent":{"isError":true},"isError":false}',
    '{"content":[],"structuredContent":{"a":"isError"},"b":["isError",true]}',
    '{"isError"'
  ]) {
    assert.equal(says(text), false, text)
  }
})

test('text that is no JSON is no error of a tool', () => {
  assert.equal(says('{"isError":true'), false)
  assert.equal(says('"isError":true'), false)
})
