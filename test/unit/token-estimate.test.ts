import assert from 'node:assert/strict'
import test from 'node:test'
import { estimateTokens } from '../../src/domain/token-estimate.ts'

test('the estimate is a quarter of the bytes of name, description and schema, rounded up', () => {
  assert.equal(estimateTokens({ name: 'abcd' }), 1)
  assert.equal(estimateTokens({ name: 'abcde' }), 2)
  assert.equal(estimateTokens({ name: 'ab', description: 'é€' }), 2)
  const input_schema = { type: 'object' }
  assert.equal(estimateTokens({ name: 'a', input_schema }), Math.ceil((1 + JSON.stringify(input_schema).length) / 4))
})
