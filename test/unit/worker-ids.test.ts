import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { makeOwned, ownerOf } from '../../src/domain/worker-ids.ts'
import { createSessionIds } from '../../src/mcp/sessions/session-ids.ts'

const claims = { p: 'client:a', e: '/mcp', r: '2025-11-25', c: {} }

test('a session id leads to the worker that issued it, and any worker can verify it', () => {
  const key = randomBytes(32)
  for (const count of [2, 3, 64]) {
    for (let index = 0; index < count; index += 7) {
      const id = createSessionIds(key, (candidate) => ownerOf(candidate, count) === index).issue(claims)
      assert.equal(ownerOf(id, count), index)
      const { t: _t, n: _n, ...known } = createSessionIds(key).verify(id)!
      assert.deepEqual(known, claims)
    }
  }
})

test('ids of other origin are spread over all workers', () => {
  for (const count of [2, 5, 64]) {
    const hits = Array.from({ length: count }, () => 0)
    for (let n = 0; n < 2_000; n++) hits[ownerOf(randomBytes(32).toString('base64url'), count)]!++
    assert.ok(
      hits.every((hit) => hit > 0),
      String(hits)
    )
  }
})

test('every text has an owner, also one that is no id', () => {
  for (const id of ['', 'a', 'ab', 'abc', '....', 'é'.repeat(9), '\u{1f600}'.repeat(4), 'x'.repeat(100_000)]) {
    const owner = ownerOf(id, 7)
    assert.ok(Number.isInteger(owner) && owner >= 0 && owner < 7, id.slice(0, 10))
  }
})

test('ids are made until one is owned', () => {
  let made = 0
  assert.equal(
    makeOwned(
      () => String(++made),
      (id) => id === '4'
    ),
    '4'
  )
})
