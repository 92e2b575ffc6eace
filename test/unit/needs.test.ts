import assert from 'node:assert/strict'
import { test } from 'node:test'
import { needs } from '../needs.ts'

test('a test that this machine cannot run is skipped with a reason, and with CI set is an error', (t) => {
  const before = process.env['CI']
  t.after(() => {
    if (before === undefined) delete process.env['CI']
    else process.env['CI'] = before
  })
  delete process.env['CI']
  assert.equal(needs('psql', true), false, 'what is there is no reason to skip')
  assert.equal(needs('psql', false), 'needs psql', 'the reason names what is missing')
  process.env['CI'] = 'true'
  assert.equal(needs('psql', true), false, 'what is there is no error')
  assert.throws(() => needs('psql', false), /no psql/, 'a missing program is no error with CI set')
})
