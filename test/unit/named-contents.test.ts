import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Payload } from '../../src/json/payload.ts'
import { namedContents } from '../../src/mcp/messages/named-contents.ts'
import { catalogOf, storedServer } from './stored.ts'

const server = catalogOf([storedServer('fs', [])]).server('fs')!
const named = (result: string, uri = 'file:///a') =>
  namedContents(Payload.of(result), { server, uri, form: 'alias' }).toString()

test('only the contents of the URI that was read get the alias, the rest stays byte for byte', () => {
  assert.equal(
    named('{"contents": [{"uri":"file:///a","text":"file:///a"}, {"uri":"file:///b","n":1.0}],"uri":"file:///a"}'),
    '{"contents": [{"uri":"towpath://fs/file:///a","text":"file:///a"},{"uri":"file:///b","n":1.0}],"uri":"file:///a"}'
  )
})

test('a URI that is written with escapes is the same URI', () => {
  assert.equal(
    named('{"contents":[{"uri":"file:\\/\\/\\/\\u0061"}]}'),
    '{"contents":[{"uri":"towpath://fs/file:///a"}]}'
  )
})

test('what is no list of contents passes as it is', () => {
  for (const result of ['{}', '{"contents":{}}', '{"contents":["file:///a",null,{}]}', '{"contents":[{"uri":7}]}']) {
    assert.equal(named(result), result)
  }
})
