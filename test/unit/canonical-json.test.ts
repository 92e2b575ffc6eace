import assert from 'node:assert/strict'
import { test } from 'node:test'
import { canonicalText, readCanonical } from '../../src/domain/definitions/canonical-json.ts'

const canonical = (json: string) => canonicalText(readCanonical(json))

test('equal JSON values have one canonical text, whatever their spelling', () => {
  for (const [a, b] of [
    ['{"b":1,"a":"\\u0041"}', ' { "a" : "A" , "b" : 1.0 } '],
    ['"\\/\\n"', '"/\\u000a"'],
    ['"\\ud83d\\ude00"', '"😀"'],
    ['"a\\\\"', '"\\u0061\\u005c"'],
    ['"\\\\\\""', '"\\u005c\\u0022"'],
    ['{"é":0,"z":0,"10":0,"9":0}', '{"9":0,"10":0,"z":0,"\\u00e9":0}'],
    ['[1e2,100,""]', '[100.0,1E+2,""]']
  ] as const) {
    assert.equal(canonical(a), canonical(b))
    assert.deepEqual(JSON.parse(canonical(a)), JSON.parse(a))
  }
})

test('lone surrogates stay escaped, and members are sorted by code unit', () => {
  assert.equal(canonical('"\ud800"'), '"\\ud800"')
  assert.equal(canonical('"\\ud800"'), '"\\ud800"')
  assert.equal(canonical('{"\uffff":0,"😀":0,"a":0,"Z":0}'), '{"Z":0,"a":0,"😀":0,"\uffff":0}')
})

test('malformed texts have no canonical text', () => {
  for (const json of [
    '"',
    '"\\"',
    '"\\',
    '"a\\\\\\"',
    '"\n"',
    '{"a\u0000":1}',
    '"\\q"',
    '{"a":1',
    '[1,]',
    '',
    '"a" 1'
  ]) {
    assert.throws(() => canonical(json), SyntaxError, JSON.stringify(json))
  }
})
