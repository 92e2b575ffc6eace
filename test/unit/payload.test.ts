import assert from 'node:assert/strict'
import { test } from 'node:test'
import { members } from '../../src/json/json.ts'
import { LARGE_BYTES, Payload } from '../../src/json/payload.ts'

const filler = 'é'.repeat(LARGE_BYTES)
/** The same object as a string, as bytes, as a part of a larger text, and too large for a string. */
const forms = (rest: string): readonly (readonly [string, Payload])[] => {
  const text = `{"a": 1.0 , "b":"ü\\"}" ,"a2":[{"x":null}]${rest}}`
  const around = Buffer.from(`{"result":${text},"id":1}`).toString('latin1')
  const [result] = members(around, 0, undefined, ['result'])
  const large = `{"fill":"${filler}",${text.slice(1)}`
  return [
    [text, Payload.of(text)],
    [text, Payload.ofLatin1(Buffer.from(text).toString('latin1'))],
    [
      text,
      Payload.ofLatin1(around.slice(result!.start, result!.end), { members: result!.members!, base: result!.start })
    ],
    [large, Payload.of(large)]
  ]
}

test('a payload is the same bytes, whatever it was made of', () => {
  for (const [text, payload] of forms('')) {
    const bytes = Buffer.from(text)
    assert.equal(payload.length, bytes.length)
    assert.equal(payload.latin1, bytes.toString('latin1'))
    assert.ok(payload.bytes.equals(bytes))
    assert.ok(Buffer.concat(payload.buffers).equals(bytes))
    assert.equal(payload.toString(), text)
    assert.equal(payload.includes('"x"'), true)
    assert.equal(payload.includes('"y"'), false)
  }
})

test('members are read as they stand, the last of several', () => {
  for (const [, payload] of forms(',"a":2')) {
    assert.equal(payload.valueOf('a'), '2')
    assert.equal(Buffer.from(payload.valueOf('b')!, 'latin1').toString(), '"ü\\"}"')
    assert.equal(payload.valueOf('x'), undefined)
    assert.deepEqual(payload.members.map(({ key }) => key).slice(-4), ['a', 'b', 'a2', 'a'])
  }
})

test('what is not changed stays byte for byte, white space included', () => {
  for (const [text, payload] of forms(' , "z" : {} ')) {
    const head = text.slice(0, text.indexOf('"a": 1.0'))
    const changed = (...given: Parameters<Payload['withChanges']>) => payload.withChanges(...given).toString()
    assert.equal(changed({}, ''), text.replace('{} }', '{}}'))
    assert.equal(changed({ none: null }, '"m":1'), text.replace('{} }', '{} ,"m":1}'))
    assert.equal(changed({ a: null }, ''), text.replace('"a": 1.0 , ', '').replace('{} }', '{}}'))
    assert.equal(changed({ b: '7' }, ''), `${head}"a": 1.0,"b":7,"a2":[{"x":null}] , "z" : {}}`)
    assert.equal(changed({ z: null, a2: null }, '"m":1'), `${head}"a": 1.0 , "b":"ü\\"}","m":1}`)
    assert.equal(changed({ a: null, a2: null, b: null, z: null, fill: null }, '"m":1'), '{"m":1}')
  }
  assert.equal(Payload.of('{ }').withChanges({ a: null }, '').toString(), '{}')
})

test('what has been changed can be changed again', () => {
  for (const [, payload] of forms('')) {
    const once = payload.withChanges({ b: null }, '"c":"3"')
    assert.equal(once.valueOf('c'), '"3"')
    const twice = once.withChanges({ c: '4', a2: null }, '')
    assert.ok(twice.toString().endsWith('"a": 1.0,"c":4}'))
  }
})
