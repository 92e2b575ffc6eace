import assert from 'node:assert/strict'
import { test } from 'node:test'
import { serverError, withoutServer } from '../../src/domain/server-error.ts'

test('what is said of a server says the same without its name, and what is said of none stays', () => {
  for (const message of ['gone', 'server "b": gone', '"quoted": gone', '']) {
    assert.equal(withoutServer(serverError('a-b_1', message)), message)
  }
  for (const error of ['gone', 'the server "a": gone', 'server "a" is gone']) assert.equal(withoutServer(error), error)
})
