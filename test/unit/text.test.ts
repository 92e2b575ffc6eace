import assert from 'node:assert/strict'
import test from 'node:test'
import { truncate, escapeText, isTimestamp, isStorable } from '../../src/domain/text/text.ts'

test('text from outside stays one line that says what it holds', () => {
  assert.equal(
    escapeText('a\r\nlevel=fatal\0\x1b[2J\u202Etxt\u2028', 200),
    'a\\u{d}\\u{a}level=fatal\\u{0}\\u{1b}[2J\\u{202e}txt\\u{2028}'
  )
  assert.equal(escapeText('ÄÖ 日本 🚀', 200), 'ÄÖ 日本 🚀')
  assert.equal(escapeText('x\uD800y', 200), 'x\\u{d800}y')
})

test('a text is cut between characters', () => {
  assert.equal(truncate('abc', 3), 'abc')
  assert.equal(truncate('abcd', 3), 'abc…')
  assert.equal(truncate('ab🚀cd', 3), 'ab…')
  assert.equal(isStorable(truncate('🚀'.repeat(9), 5)), true)
})

test('moments are ISO 8601 with a zone', () => {
  for (const text of ['2026-08-01', '2026-08-01T10:00Z', '2026-08-01T10:00:59.123+02:00'])
    assert.ok(isTimestamp(text), text)
  for (const text of ['', 'now', '2026-13-01', '2026-08-01T10:00', '2026-08-01 10:00Z', '1', '20260801']) {
    assert.equal(isTimestamp(text), false, text)
  }
})
