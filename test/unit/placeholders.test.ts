import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { expandPlaceholders } from '../../src/domain/placeholders.ts'

const env: Readonly<Record<string, string>> = { A: 'one', B: 'two', EMPTY: '', NESTED: '${A}', QUOTE: '"}, {"x": "' }
const lookup = (name: string) => (Object.hasOwn(env, name) ? env[name] : undefined)
const expand = (value: unknown) => expandPlaceholders(value, lookup)

test('a placeholder is replaced in every text, whole or in part, any number of times and at any depth', () => {
  const { value, unset } = expand({ a: '${A}', b: ['x${A}y${B}z', { c: { d: ['${B}'] } }], n: 1, t: true, z: null })
  assert.deepEqual(value, { a: 'one', b: ['xoneytwoz', { c: { d: ['two'] } }], n: 1, t: true, z: null })
  assert.deepEqual(unset, [])
})

test('only braces count, and only names of variables', () => {
  for (const text of ['$A', '${}', '${1A}', '${A-B}', '${ A }', '$ {A}', '${A', '{A}', '${A:-x}', '${env:A}'])
    assert.deepEqual(expand(text), { value: text, unset: [] })
})

test('keys stay as they are', () => {
  assert.deepEqual(expand({ '${A}': '${A}' }).value, { '${A}': 'one' })
  const odd = expand(JSON.parse('{"__proto__": "${A}"}')).value as object
  assert.deepEqual(Object.entries(odd), [['__proto__', 'one']])
})

test('an empty variable is set', () => {
  assert.deepEqual(expand('[${EMPTY}]'), { value: '[]', unset: [] })
})

test('what a value holds is not expanded again, and cannot break the JSON', () => {
  assert.equal(expand('${NESTED}').value, '${A}')
  assert.deepEqual(expand({ a: '${QUOTE}' }).value, { a: '"}, {"x": "' })
})

test('every name that is not set is told with its place', () => {
  const { unset } = expand({
    headers: { 'X-Key': '${NO} ${A} ${NOT}' },
    args: ['a', '${NO}'],
    plain: [{ deep: '${N}' }]
  })
  assert.deepEqual(unset, [
    { name: 'NO', path: '$.headers["X-Key"]' },
    { name: 'NOT', path: '$.headers["X-Key"]' },
    { name: 'NO', path: '$.args[1]' },
    { name: 'N', path: '$.plain[0].deep' }
  ])
  assert.deepEqual(expand('${NO}').unset, [{ name: 'NO', path: '$' }])
})

test('JSON without placeholders comes out as it went in', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const without = JSON.parse(JSON.stringify(value).replaceAll('${', '_'))
      const { value: expanded, unset } = expandPlaceholders(without, () => undefined)
      assert.equal(JSON.stringify(expanded), JSON.stringify(without))
      assert.deepEqual(unset, [])
    })
  )
})
