import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hasInexactNumber } from '../../src/json/numbers.ts'

test('numbers that a double keeps are exact, however they are written', () => {
  for (const text of [
    '0',
    '-0.0',
    '5',
    '1.50',
    '0.1',
    '1e3',
    '12.5E-3',
    '9007199254740991',
    '-1.0e+2',
    '0e999',
    '"1e999"'
  ])
    assert.equal(hasInexactNumber(`{"a":[${text}],"9007199254740993":1}`), false, text)
})

test('numbers with more digits than a double keeps, or beyond its safe integers, are found at any depth', () => {
  for (const text of [
    '9007199254740992',
    '9007199254740993',
    '-1234567890123456789',
    '9007199254740991.9',
    '5.00000000000000001',
    '0.1000000000000000055511151231257827',
    '1e400',
    '1e-400',
    `1.${'0'.repeat(100)}`
  ])
    assert.equal(hasInexactNumber(`{"a":[{"b":"x","c":${text}}]}`), true, text)
})
