import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import {
  getAt,
  equalJson,
  numberOf,
  parseJson,
  plainJson,
  printJson,
  setAt,
  type Json
} from '../../dashboard/src/form/json.ts'

test('numbers that a double would change are printed as they were typed', () => {
  const text =
    '{"id":12345678901234567890,"list":[-9007199254740993,0.1234567890123456789,1e400],"s":"12345678901234567890"}'
  assert.equal(printJson(parseJson(text), 0), text)
})

test('numbers that a double can hold are numbers', () => {
  assert.deepEqual(parseJson('[0, -0.5, 1.0, 1e3, 9007199254740991]'), [0, -0.5, 1, 1000, 9007199254740991])
})

test('JSON of any kind is read and printed as JSON.parse and JSON.stringify do it', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom(0, 2), (value, indent) => {
      const text = JSON.stringify(value, null, indent)
      assert.equal(printJson(parseJson(text), indent), text)
    })
  )
})

test('quotes and digits inside of texts are left alone', () => {
  const text = String.raw`{"a\"12345678901234567890":"\\","b":"\\\"12345678901234567890"}`
  assert.equal(printJson(parseJson(text), 0), text)
})

test('what is no JSON is refused with the reason', () => {
  assert.throws(() => parseJson('{"a": 12345678901234567890,}'), SyntaxError)
  assert.throws(() => parseJson('012'), SyntaxError)
})

test('a typed number is one in the grammar of JSON, and nothing else is', () => {
  assert.equal(numberOf(' 42 '), 42)
  assert.equal(printJson(numberOf('98765432109876543210')!), '98765432109876543210')
  for (const text of ['', '-', '1.', '.5', '0x1', 'NaN', 'Infinity', '1,5', '01']) {
    assert.equal(numberOf(text), undefined, text)
  }
})

test('equality is that of JSON: no order of members, exact numbers by their value', () => {
  const same = (a: string, b: string) => equalJson(parseJson(a), parseJson(b))
  assert.ok(same('{"a":1,"b":[2]}', '{"b":[2.0],"a":1}'))
  assert.ok(same('12345678901234567890', '12345678901234567890.0'))
  assert.ok(!same('12345678901234567890', '12345678901234567891'))
  assert.ok(!same('{"a":1}', '{"b":1}'))
  assert.ok(!same('[1]', '[1,2]'))
  assert.ok(!same('{}', '[]'))
  assert.ok(!same('null', '{}'))
})

test('a value is put at a path in a copy, and what is missing on the way is made', () => {
  const before: Json = { a: { list: [1, 2, 3] }, b: true }
  assert.deepEqual(setAt(before, ['a', 'list', 1], 9), { a: { list: [1, 9, 3] }, b: true })
  assert.deepEqual(setAt(before, ['c', 'd'], 'x'), { a: { list: [1, 2, 3] }, b: true, c: { d: 'x' } })
  assert.deepEqual(setAt(undefined, ['list', 0, 'name'], 'x'), { list: [{ name: 'x' }] })
  assert.deepEqual(before, { a: { list: [1, 2, 3] }, b: true })
})

test('undefined takes a member or an item away', () => {
  assert.deepEqual(setAt({ a: 1, b: 2 }, ['a'], undefined), { b: 2 })
  assert.deepEqual(setAt({ list: [1, 2, 3] }, ['list', 0], undefined), { list: [2, 3] })
})

test('members are looked up among own names only, __proto__ included', () => {
  assert.equal(getAt({ a: 1 }, ['constructor']), undefined)
  assert.equal(getAt(setAt({}, ['__proto__'], 'own'), ['__proto__']), 'own')
  assert.equal(printJson(setAt({}, ['__proto__'], 1)!, 0), '{"__proto__":1}')
})

test('validators get doubles', () => {
  assert.deepEqual(plainJson(parseJson('{"a":[12345678901234567890,"x",null]}')), {
    a: [1.2345678901234567e19, 'x', null]
  })
})
