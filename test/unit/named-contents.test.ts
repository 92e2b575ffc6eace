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

test('addresses of other servers name the sender in any spelling, however the resource was read', () => {
  for (const form of ['own', 'alias'] as const) {
    for (const [own, address] of [
      ['ui://beta/x', 'ui://fs/beta/x'],
      ['uI://beta/x', 'uI://fs/beta/x'],
      ['SkIll://beta/x', 'SkIll://fs/beta/x'],
      ['sKILL://beta/x', 'sKILL://fs/beta/x'],
      ['u\ti://beta/x', 'ui://fs/beta/x'],
      ['towpath://beta/file:///x', 'towpath://fs/towpath://beta/file:///x'],
      ['TOWPATH://beta/file:///x', 'towpath://fs/TOWPATH://beta/file:///x'],
      ['towPatH:%2f/beta/x', 'towpath://fs/towPatH:%2f/beta/x'],
      ['towpath:\\\\beta/x', 'towpath://fs/towpath:\\\\beta/x']
    ]) {
      const result = Payload.of(JSON.stringify({ contents: [{ uri: own, text: '' }] }))
      const named = namedContents(result, { server, uri: 'file:///a', form }).toString()
      assert.deepEqual(JSON.parse(named), { contents: [{ uri: address, text: '' }] })
    }
  }
})
