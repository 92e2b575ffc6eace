import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createUnsentResponses } from '../../src/mcp/sessions/unsent-responses.ts'

/** Returns the names of the closed connections, in order. */
function open(limit: number, total: number) {
  const unsent = createUnsentResponses(limit, total)
  const cut: string[] = []
  return { unsent, cut, answer: (principal: string, name: string) => unsent.open(principal, () => void cut.push(name)) }
}

test('SR-H2 past its share a principal loses the connection that has waited longest, others none', () => {
  const { unsent, cut, answer } = open(100, 1_000)
  answer('ann', 'a1').setBytes(90)
  for (let i = 1; i <= 4; i++) answer('bob', `b${i}`).setBytes(40)
  assert.deepEqual(cut, ['b1', 'b2'])
  assert.equal(unsent.bytes, 170)
})

test('SR-H2 past the total the principal with most loses, and a single answer passes whatever its size', () => {
  const { unsent, cut, answer } = open(1_000, 200)
  const ann = answer('ann', 'a1')
  ann.setBytes(50)
  for (let i = 1; i <= 3; i++) answer('bob', `b${i}`).setBytes(70)
  assert.deepEqual(cut, ['b1'])
  answer('carl', 'c1').setBytes(5_000)
  assert.deepEqual(cut, ['b1'])
  ann.setBytes(10)
  assert.deepEqual(cut, ['b1', 'c1'])
  assert.equal(unsent.bytes, 150)
})

test('SR-H2 what many answers hold together counts once, and is given back with the last of them', () => {
  const { unsent, cut, answer } = open(100, 100)
  const page = new ArrayBuffer(80)
  const answers = Array.from({ length: 50 }, (_, i) => answer(i % 2 ? 'ann' : 'bob', `${i}`))
  for (const each of answers) {
    each.addShared(page)
    each.addShared(page)
  }
  assert.deepEqual([unsent.bytes, cut], [80, []])
  for (const each of answers) {
    each.close()
    each.close()
  }
  assert.equal(unsent.bytes, 0)
})

test('SR-H2 an open answer whose client has read everything gives way to none', () => {
  const { cut, answer } = open(100, 1_000)
  const stream = answer('ann', 'read')
  stream.setBytes(70)
  stream.setBytes(0)
  answer('ann', 'unread').setBytes(90)
  answer('ann', 'newest').setBytes(20)
  assert.deepEqual(cut, ['unread'])
})
