import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Payload } from '../../src/json/payload.ts'
import { adaptError, adaptResult, errorMessage, type Adaptation } from '../../src/upstream/era-bridge.ts'
import { UpstreamFailure } from '../../src/protocol/upstream-failure.ts'

const us = '{"name":"towpath","version":"1"}'
const theirs = '{"name":"alpha","version":"2"}'
const INFO = '"io.modelcontextprotocol/serverInfo"'
const way = (from: 'legacy' | 'modern', to: 'legacy' | 'modern', method = 'tools/call'): Adaptation => ({
  method,
  from,
  to,
  server: 'alpha',
  serverInfo: us
})
const adapt = (text: string, adaptation: Adaptation) => adaptResult(Payload.of(text), adaptation).toString()
const isBad = (error: unknown) => error instanceof UpstreamFailure && error.reason === 'bad_response'

/**
 * Data that every conversion must preserve: long numbers, white space, escapes, order, unknown members and block types.
 */
const payload =
  '"content": [ {"type":"text","text":"ü€😀\\u00e9\\/"},{"type":"hologram","x":1.0} ],' +
  '"structuredContent":{"n":12345678901234567890.10, "n":2},"isError":false,"z":null'

test('between legacy and legacy a result is not touched', () => {
  const text = `{"_meta":{"a":1},${payload},"resultType":"mine","ttlMs":5}`
  assert.equal(adapt(text, way('legacy', 'legacy')), text)
  assert.equal(adapt('{"content":[],"x":1}', way('legacy', 'legacy')), '{"content":[],"x":1}')
  assert.equal(adapt('{"completion":{}}', way('legacy', 'legacy', 'completion/complete')), '{"completion":{}}')
})

test('from legacy to modern a result says that it is complete and whose it is, the rest is byte for byte', () => {
  assert.equal(
    adapt(`{${payload},"_meta":{"a": 1.0}}`, way('legacy', 'modern')),
    `{${payload},"resultType":"complete","_meta":{${INFO}:${us},"a": 1.0}}`
  )
})

test('from modern to modern our identity takes the place of theirs, which moves', () => {
  assert.equal(
    adapt(`{"resultType":"complete",${payload},"_meta":{${INFO}:${theirs},"a":1}}`, way('modern', 'modern')),
    `{"resultType":"complete",${payload},"_meta":{${INFO}:${us},` +
      `"towpath/upstream":{"server":"alpha","serverInfo":${theirs}},"a":1}}`
  )
})

test('an upstream cannot speak for us: a forged towpath/upstream is dropped', () => {
  const text = adapt('{"content":[],"_meta":{"towpath/upstream":{"server":"other"}}}', way('legacy', 'modern'))
  assert.deepEqual((JSON.parse(text) as { _meta: object })._meta, {
    'io.modelcontextprotocol/serverInfo': JSON.parse(us)
  })
})

test('from modern to legacy exactly what the era adds is taken out', () => {
  const modern = `{"resultType":"complete",${payload},"_meta":{${INFO}:${theirs},"a":1.0}}`
  assert.equal(adapt(modern, way('modern', 'legacy')), `{${payload},"_meta":{"a":1.0}}`)
  const bare = `{"resultType":"complete",${payload},"_meta":{${INFO}:${theirs}}}`
  assert.equal(adapt(bare, way('modern', 'legacy')), `{${payload}}`)
  assert.equal(adapt(`{${payload},"_meta":{}}`, way('modern', 'legacy')), `{${payload},"_meta":{}}`)
})

test('cache hints belong to reads: theirs is kept from modern, zero from legacy, and nobody else may keep it', () => {
  const read = (from: 'legacy' | 'modern', hints: string) =>
    JSON.parse(adapt(`{"contents":[]${hints}}`, way(from, 'modern', 'resources/read'))) as Record<string, unknown>
  assert.deepEqual([read('modern', ',"ttlMs":60,"cacheScope":"public"').ttlMs, read('modern', '').ttlMs], [60, 0])
  assert.equal(read('modern', ',"cacheScope":"public"').cacheScope, 'private')
  assert.equal(read('legacy', ',"ttlMs":60').ttlMs, 0)
  for (const bad of ['-1', '1.5', '"60"', 'null', '{}']) assert.equal(read('modern', `,"ttlMs":${bad}`).ttlMs, 0, bad)
  assert.equal(
    adapt(
      '{"contents":[],"resultType":"complete","ttlMs":60,"cacheScope":"public"}',
      way('modern', 'legacy', 'resources/read')
    ),
    '{"contents":[]}'
  )
})

test('members called like cache hints stay where they mean nothing', () => {
  const result = JSON.parse(adapt('{"content":[],"ttlMs":9,"cacheScope":"x"}', way('legacy', 'modern'))) as object
  assert.deepEqual({ ttlMs: 9, cacheScope: 'x' }, Object.fromEntries(Object.entries(result).slice(1, 3)))
})

test('a result without what its method must have is no answer', () => {
  for (const [method, member] of [
    ['tools/call', 'content'],
    ['prompts/get', 'messages'],
    ['resources/read', 'contents']
  ] as const) {
    for (const from of ['legacy', 'modern'] as const) {
      for (const to of ['legacy', 'modern'] as const) {
        assert.throws(() => adapt('{"other":[]}', way(from, to, method)), isBad, `${method} ${from} ${to}`)
        assert.doesNotThrow(() => adapt(`{"${member}":[]}`, way(from, to, method)))
      }
    }
  }
  assert.throws(() => adapt('[]', way('legacy', 'modern')), isBad)
  assert.throws(() => adapt('{"content":[', way('legacy', 'modern')), isBad)
})

test('a kind of result that is unknown is no answer, and only the modern era has kinds', () => {
  assert.throws(() => adapt('{"resultType":"other","content":[]}', way('modern', 'modern')), isBad)
  assert.throws(() => adapt('{"resultType":"other","content":[]}', way('modern', 'legacy')), isBad)
  assert.doesNotThrow(() => adapt('{"resultType":"other","content":[]}', way('legacy', 'modern')))
})

test('an error passes byte for byte, with its status', () => {
  const text = '{"code": -32602, "message":"no", "data":{"n":12345678901234567890}}'
  for (const era of ['legacy', 'modern'] as const) {
    const { body, status } = adaptError(Payload.of(text), era)
    assert.deepEqual([body.toString(), status], [text, 200])
  }
})

test('codes that the caller reads as something else are translated, and nothing but the code', () => {
  const rows = [
    ['modern', -32002, -32602, 200],
    ['modern', -32020, -32603, 200],
    ['modern', -32022, -32603, 200],
    ['modern', -32021, -32021, 400],
    ['modern', -32000, -32603, 200],
    ['modern', -32019, -32603, 200],
    ['modern', -32042, -32603, 200],
    ['modern', -32603, -32603, 200],
    ['modern', 4, 4, 200],
    ['legacy', -32002, -32002, 200],
    ['legacy', -32000, -32000, 200],
    ['legacy', -32042, -32042, 200],
    ['legacy', -32021, -32603, 200],
    ['legacy', -32020, -32603, 200],
    ['legacy', -32022, -32603, 200]
  ] as const
  for (const [era, code, expected, httpStatus] of rows) {
    const rest = ',"message":"ü","data":{"uri":"x","n":12345678901234567890}}'
    const { body, status } = adaptError(Payload.of(`{"code":${code}${rest}`), era)
    assert.deepEqual([body.toString(), status], [`{"code":${expected}${rest}`, httpStatus], `${era} ${code}`)
  }
})

test('an error that is none is a bad response, not a failure of ours', () => {
  for (const text of ['null', '5', '[]', '{}', '{"code":"1","message":"x"}', '{"code":1}', '{']) {
    assert.throws(() => adaptError(Payload.of(text), 'legacy'), isBad, text)
  }
})

test("REST tells an upstream's own message, and copes with none", () => {
  const message = (text: string) => errorMessage({ kind: 'error', body: Payload.of(text) })
  assert.equal(message('{"code":1,"message":"ü"}'), 'ü')
  for (const text of ['{"code":1}', 'null', '{"message":5}', '{']) assert.equal(message(text), 'unknown error', text)
})
