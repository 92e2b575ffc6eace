import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import {
  cancelledParams,
  errorText,
  notificationText,
  requestText,
  RESPONSE_TAIL,
  responseHead,
  responseText
} from '../../src/protocol/jsonrpc-text.ts'

test('a request carries its id and params unchanged and leaves out empty params', () => {
  assert.equal(requestText(7, 'ping'), '{"jsonrpc":"2.0","id":7,"method":"ping"}')
  assert.equal(
    requestText('"a\\"b"', 'tools/call', '{"n":1.0}'),
    '{"jsonrpc":"2.0","id":"a\\"b","method":"tools/call","params":{"n":1.0}}'
  )
})

test('a notification has no id and leaves out empty params', () => {
  assert.equal(notificationText('notifications/x'), '{"jsonrpc":"2.0","method":"notifications/x"}')
  assert.equal(notificationText('n', '{}'), '{"jsonrpc":"2.0","method":"n","params":{}}')
})

test('a method or reason with quotes adds no members to the message', () => {
  const hostile = 'x","id":"1","result":{},"a":"\n'
  assert.deepEqual(JSON.parse(requestText(1, hostile, '{}')), { jsonrpc: '2.0', id: 1, method: hostile, params: {} })
  assert.deepEqual(JSON.parse(notificationText(hostile)), { jsonrpc: '2.0', method: hostile })
  assert.deepEqual(JSON.parse(cancelledParams('"i"', hostile)), { requestId: 'i', reason: hostile })
})

test('a response is its head, its body and its tail', () => {
  for (const kind of ['result', 'error'] as const) {
    assert.equal(responseText('1', kind, '{"a":1}'), `{"jsonrpc":"2.0","id":1,"${kind}":{"a":1}}`)
    assert.equal(responseText('1', kind, '{}'), `${responseHead('1', kind)}{}${RESPONSE_TAIL}`)
  }
})

test('an error leaves out absent data and keeps falsy data', () => {
  assert.equal(errorText('1', -1, 'x'), '{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"x"}}')
  assert.equal(errorText('"a"', -1, 'x', 0), '{"jsonrpc":"2.0","id":"a","error":{"code":-1,"message":"x","data":0}}')
  assert.equal(
    errorText('null', -1, '"', null),
    '{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"\\"","data":null}}'
  )
})

test('no other module writes the envelope by hand', () => {
  const root = new URL('../../src/', import.meta.url)
  const writers = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.ts') && /"jsonrpc":"2\.0"/.test(readFileSync(new URL(name, root), 'utf8'))
  )
  // message.ts compares received text with this layout, it writes none
  assert.deepEqual(writers.toSorted(), ['protocol/jsonrpc-text.ts', 'upstream/transport/message.ts'])
})
