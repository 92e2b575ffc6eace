import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createClientInfoCache } from '../../src/mcp/messages/client-info.ts'
import { readMessage } from '../../src/protocol/jsonrpc.ts'
import { memoize } from '../../src/lib/memoize.ts'

const limits = { depth: 64, elements: 1_000 }
const said = (meta: object) =>
  readMessage(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping', params: { _meta: meta } }), limits)
const member = (name: string, value: unknown) => ({ [`io.modelcontextprotocol/${name}`]: value })

test('a text is read once, until too many others were new, and a long one each time', () => {
  const read: string[] = []
  const memo = memoize((text) => {
    read.push(text)
    return { text }
  })
  assert.equal(memo('a'), memo('a'))
  assert.deepEqual(read, ['a'])
  for (let at = 0; at < 64; at++) memo(`other ${at}`)
  assert.deepEqual(memo('a'), { text: 'a' })
  assert.equal(read.length, 66, 'it was forgotten')
  const long = 'x'.repeat(5_000)
  assert.notEqual(memo(long), memo(long))
  memo('a')
  assert.equal(read.length, 68, 'and what is long takes no place')
})

test('each client is whom it says it is, however many there are', () => {
  const { client } = createClientInfoCache()
  for (let round = 0; round < 2; round++) {
    for (let at = 0; at < 100; at++) {
      const { name, info } = client(said(member('clientInfo', { name: `one\u202e ${at}`, version: '1' })))
      assert.equal(name, `one\\u{202e} ${at}`)
      assert.deepEqual(info, { name: `one\u202e ${at}`, version: '1' })
    }
  }
  for (const meta of [{}, member('clientInfo', null), member('clientInfo', 'x'), member('clientInfo', { name: 1 })]) {
    assert.equal(client(said(meta)).name, undefined)
  }
})

test('what clients declare goes upstream, and never as that of another', () => {
  const { capabilities } = createClientInfoCache()
  const declared = [{}, { roots: {} }, { elicitation: {}, tasks: {} }, { sampling: { tools: {} } }]
  for (let round = 0; round < 2; round++) {
    const told = declared.map((given) => capabilities(said(member('clientCapabilities', given))).text)
    assert.deepEqual(told, ['{}', '{"roots":{}}', '{"elicitation":{}}', '{"sampling":{"tools":{}}}'])
  }
  assert.equal(capabilities(said({})).text, '{}')
})
