import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decode, isBatch, paramsFragment, ProtocolError, readMessage } from '../../src/protocol/jsonrpc.ts'

const limits = { depth: 64, elements: 1_000 }
const read = (text: string) => readMessage(text, limits)
const refusal = (text: string): [number, number, string] => {
  try {
    read(text)
  } catch (error) {
    assert.ok(error instanceof ProtocolError, `${text}: ${String(error)}`)
    return [error.status, error.code, error.id]
  }
  assert.fail(`${text} was read`)
}

test('messages are told apart by their members', () => {
  const kind = (members: string) => read(`{"jsonrpc":"2.0",${members}}`).kind
  assert.equal(kind('"id":1,"method":"ping"'), 'request')
  assert.equal(kind('"id":"a","method":"ping","params":{}'), 'request')
  assert.equal(kind('"method":"notifications/x"'), 'notification')
  assert.equal(kind('"id":1,"result":{}'), 'response')
  assert.equal(kind('"id":1,"error":{"code":1,"message":"x"}'), 'response')
  assert.equal(kind('"id":1,"method":"ping","result":{}'), 'request')
})

test('an id comes back as it was given: string, zero, negative, or longer than a double holds', () => {
  const ids = ['0', '-1', '"0"', '""', '"a\\"b"', '"ü😀"', '12345678901234567890', '9007199254740993']
  for (const id of ids) assert.equal(read(`{"jsonrpc":"2.0","method":"ping","id": ${id} }`).id, id)
})

test('what is no message of JSON-RPC 2.0 is refused by its kind of fault, with its id where that can be read', () => {
  const parse: [number, number, string] = [400, -32700, 'null']
  const invalid = (id = 'null'): [number, number, string] => [400, -32600, id]
  for (const text of ['', ' ', '{', '{}x', "'x'", 'x', '"x', '\ufeff{}', '{"a":01}', '{"a":"\n"}', '{"\\x":1}']) {
    assert.deepEqual(refusal(text), parse, text)
  }
  for (const text of ['{}', '"x"', ' 5', 'null', '[]']) assert.deepEqual(refusal(text), invalid(), text)
  assert.deepEqual(refusal('{"jsonrpc":"1.0","id":3,"method":"ping"}'), invalid('3'))
  assert.deepEqual(refusal('{"jsonrpc":"2.0","id":null,"method":"ping"}'), invalid())
  assert.deepEqual(refusal('{"jsonrpc":"2.0","id":{},"method":"ping"}'), invalid())
  assert.deepEqual(refusal('{"jsonrpc":"2.0","id":1e999,"method":"ping"}'), invalid())
  assert.deepEqual(refusal('{"jsonrpc":"2.0","id":3}'), invalid('3'))
  assert.deepEqual(refusal('{"jsonrpc":"2.0","id":3,"method":5}'), invalid('3'))
  assert.deepEqual(refusal('{"jsonrpc":"2.0","id":3,"method":"ping","params":[]}'), invalid('3'))
  assert.deepEqual(refusal('{"jsonrpc":"2.0","id":3,"method":"ping","params":0}'), invalid('3'))
})

test('an envelope that says something twice is refused, so that no upstream reads another name than was allowed', () => {
  const texts = [
    '{"jsonrpc":"2.0","id":3,"method":"tools/call","method":"ping"}',
    '{"jsonrpc":"2.0","id":3,"id":4,"method":"ping"}',
    '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"a","name":"b"}}',
    '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"a","na\\u006de":"b"}}',
    '{"jsonrpc":"2.0","id":3,"method":"ping","params":{},"par\\u0061ms":{}}'
  ]
  for (const text of texts) assert.deepEqual(refusal(text).slice(0, 2), [400, -32600], text)
  assert.equal(read('{"jsonrpc":"2.0","id":3,"method":"x","params":{"arguments":{"a":1,"a":2}}}').kind, 'request')
})

test('64 levels of the whole body pass, 65 do not, nor do more elements than allowed', () => {
  const body = (levels: number) =>
    `{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":${'['.repeat(levels - 2)}${']'.repeat(levels - 2)}}}`
  assert.equal(read(body(64)).kind, 'request')
  assert.deepEqual(refusal(body(65)), [400, -32600, 'null'])
  assert.throws(() => read(body(65)), /deeper than 64 levels/)
  const flat = Array.from({ length: 600 }, (_, i) => `"k${i}":1`).join(',')
  const wide = `{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":{${flat}},"b":{${flat}}}}`
  assert.deepEqual(refusal(wide), [400, -32600, 'null'])
})

test('a body of ten thousand names in one object costs milliseconds', () => {
  const wide = { depth: 64, elements: 100_000 }
  const flat = Array.from({ length: 90_000 }, (_, i) => `"k${i}":1`).join(',')
  const before = process.cpuUsage()
  assert.equal(readMessage(`{"jsonrpc":"2.0","id":1,"method":"x","params":{${flat}}}`, wide).kind, 'request')
  assert.throws(() => readMessage(`{${flat}}`, wide), ProtocolError)
  assert.ok(process.cpuUsage(before).user < 3_000_000)
})

test('a body that is not UTF-8 is no JSON', () => {
  assert.equal(decode(Buffer.from('{"a":"ü"}')), '{"a":"ü"}')
  assert.throws(() => decode(Buffer.from('{"a":"\xff"}', 'latin1')), { code: -32700, status: 400, id: 'null' })
})

test('a batch is told by its bracket', () => {
  assert.equal(isBatch(' \r\n[{}]'), true)
  assert.equal(isBatch('{"a":[]}'), false)
})

test('parameters go on as the text that came, without _meta, names exchanged', () => {
  const params = '{ "name" : "one__a", "_meta":{"a":1}, "arguments" : {"n":12345678901234567890, "n":1.0}, "x":[ ] }'
  const message = read(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`)
  assert.equal(
    paramsFragment(message, { name: '"a"' }),
    '"name" : "a","arguments" : {"n":12345678901234567890, "n":1.0},"x":[ ]'
  )
  assert.equal(paramsFragment(read('{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{}}}')), '')
  assert.equal(paramsFragment(read('{"jsonrpc":"2.0","id":1,"method":"x"}')), '')
})

test('a parameter that a reader without regard to letter case takes for another one is refused', () => {
  const call = (params: string) => `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{${params}}}`
  for (const key of [
    'Name',
    'NAME',
    'n\\u0041me',
    'URI',
    'Ref',
    '_META',
    'Argument\u017f',
    'requeststate',
    'inputResponseS'
  ]) {
    assert.deepEqual(refusal(call(`"name":"one__a","${key}":"b"`)), [400, -32600, '7'], key)
  }
  const message = read(call('"name":"one__a","names":1,"Title":2'))
  assert.equal(paramsFragment(message, { name: '"a"' }), '"name":"a","names":1,"Title":2')
})

const META = 'io.modelcontextprotocol/'

test('SR-L12 a member that can be taken for another is refused in params and in _meta, however it differs', () => {
  const call = (params: string) => `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{${params}}}`
  const variants = (key: string) => [
    key.toUpperCase(),
    `${key}\\u0000`,
    `${key}\\u0000more`,
    `${key}\\u200b`,
    `\\ufeff${key}`,
    `${key} `,
    `\\t${key}`,
    key.replace(/[a-z]$/, (last) => String.fromCharCode(last.charCodeAt(0) + 0xfee0)),
    `${key[0]}\\u00ad${key.slice(1)}`
  ]
  const params = ['name', 'uri', 'ref', 'type', 'arguments', 'requestState', 'inputResponses', '_meta']
  for (const key of params) {
    for (const variant of variants(key)) {
      assert.deepEqual(refusal(call(`"${variant}":1`)), [400, -32600, '3'], `${key} as ${variant}`)
    }
  }
  const ofMeta = [
    'progressToken',
    ...['protocolVersion', 'clientInfo', 'clientCapabilities', 'logLevel', 'subscriptionId', 'serverInfo'].map(
      (name) => META + name
    )
  ]
  for (const key of ofMeta) {
    for (const variant of [...variants(key), key.replace('/c', '/C').replace('T', 't').replace('/l', '/L')]) {
      if (variant === key) continue
      assert.deepEqual(refusal(call(`"_meta":{"${variant}":1}`)), [400, -32600, '3'], `${key} as ${variant}`)
    }
    assert.equal(read(call(`"_meta":{"${key}":1}`)).hasMeta, true)
  }
})

test('SR-L12 other members of _meta, and the arguments of a tool, may have any name', () => {
  const meta = '"_meta":{"example.com/Name":1,"name":2,"clientInfo":3,"ünï ":4,"":5}'
  const text = `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"arguments":{"Name":1,"URI ":2},${meta}}}`
  assert.equal(read(text).metaText('name'), '2')
})
