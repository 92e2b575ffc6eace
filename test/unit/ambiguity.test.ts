import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ambiguityOf } from '../../src/protocol/ambiguity.ts'

test('arguments with a member that some programs take for the prototype can be read in two ways', () => {
  for (const args of [
    '{"__proto__":{"namespace":"production"}}',
    '{"a":[{"b":1,"__proto__":{}}]}',
    '{"a":{"\\u005f_proto__":{}}}'
  ])
    assert.match(ambiguityOf(args) ?? '', /__proto__/, args)
  for (const args of ['{}', '{"a":"__proto__"}', '{"a":["__proto__"],"b":"\\u005f_proto__"}', '{"proto":1}'])
    assert.equal(ambiguityOf(args), undefined, args)
})
