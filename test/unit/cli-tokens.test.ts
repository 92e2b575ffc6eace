import assert from 'node:assert/strict'
import { test } from 'node:test'
import { expiryOf } from '../../src/cli/account/tokens.ts'

const now = Date.parse('2026-11-22T12:00:00Z')

test('a token expires after days, at a time, or never', () => {
  assert.equal(expiryOf('90d', now), '2027-02-20T12:00:00.000Z')
  assert.equal(expiryOf('2027-06-30', now), '2027-06-30T00:00:00.000Z')
  assert.equal(expiryOf('never', now), undefined)
  for (const text of ['', '90', 'd', '-1d', 'soon']) {
    assert.throws(() => expiryOf(text, now), /--expires accepts 90d, an ISO 8601 time or never/, text)
  }
})
