import assert from 'node:assert/strict'
import { test } from 'node:test'
import { serverError, withoutServerPrefix } from '../../src/domain/server-error.ts'

test('what is said of a server says the same without its name, and what is said of none stays', () => {
  for (const message of ['gone', 'server "b": gone', '"quoted": gone', '']) {
    assert.equal(withoutServerPrefix(serverError('a-b_1', message)), message)
  }
  for (const error of ['gone', 'the server "a": gone', 'server "a" is gone'])
    assert.equal(withoutServerPrefix(error), error)
})
