import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { createCursors } from '../../src/mcp/messages/cursor.ts'

const key = randomBytes(32)
const cursors = createCursors(key)

test('a cursor gives its place back, in the list and version that it was made for alone', () => {
  const cursor = cursors.encode('tool', '7', 1_000)
  assert.match(cursor, /^[\w-]+$/)
  assert.equal(cursors.decode(cursor, 'tool', '7'), 1_000)
  assert.equal(cursors.decode(cursor, 'prompt', '7'), undefined)
  assert.equal(cursors.decode(cursor, 'tool', '8'), undefined)
  assert.equal(createCursors(randomBytes(32)).decode(cursor, 'tool', '7'), undefined)
  assert.equal(createCursors(key).decode(cursor, 'tool', '7'), 1_000)
})

test('a cursor stays the same however many others there were, and good', () => {
  const cursor = cursors.encode('tool', '7', 1_000)
  for (let index = 0; index < 3_000; index++) cursors.encode('prompt', '7', index)
  assert.equal(cursors.decode(cursor, 'tool', '7'), 1_000)
  assert.equal(cursors.encode('tool', '7', 1_000), cursor)
  assert.equal(cursors.encode('tool', '7', 1_000), cursor)
})

test('a cursor with any byte changed, cut off or made up is none', () => {
  const cursor = cursors.encode('tool', '7', 1_000)
  const bytes = Buffer.from(cursor, 'base64url')
  for (let at = 0; at < bytes.length; at++) {
    const changed = Buffer.from(bytes)
    changed[at]! ^= 1
    assert.equal(cursors.decode(changed.toString('base64url'), 'tool', '7'), undefined)
    assert.equal(cursors.decode(bytes.subarray(0, at).toString('base64url'), 'tool', '7'), undefined)
  }
  for (const bad of ['', '0', '1000', 'tool:7:1000', 'ü', `${cursor}AAAA`]) {
    assert.equal(cursors.decode(bad, 'tool', '7'), undefined, bad)
  }
})
