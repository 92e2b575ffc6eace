import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPoolSizer, allocateSessions } from '../../src/upstream/sessions/spare-pool-sizing.ts'

const IDLE_MS = 60_000
const REPLACE_MS = 300

function demandOf(most: number, ...calls: number[]) {
  const demand = createPoolSizer(most, IDLE_MS)
  for (const at of calls) demand.recordCall(at, REPLACE_MS)
  return demand
}

test('one call deserves no spare session, the second within a minute does, and the end of that minute ends it', () => {
  assert.equal(demandOf(4, 0).targetAt(1).target, 0)
  const demand = demandOf(4, 0, 59_000)
  assert.equal(demand.targetAt(59_001).target, 1)
  assert.equal(demand.expiresAt, 119_000)
  assert.equal(demand.targetAt(118_999).target, 1)
  assert.equal(demand.targetAt(119_000).target, 0)
  demand.recordCall(125_000, REPLACE_MS)
  assert.equal(demand.targetAt(125_001).target, 0, 'it begins anew')
  assert.equal(demandOf(4, 0, 60_000).targetAt(60_001).target, 0)
})

test('as many are wanted as calls came while one would be replaced, but no more than there may be', () => {
  assert.equal(demandOf(4, 0, 400, 800, 1_200).targetAt(1_201).target, 1)
  assert.equal(demandOf(4, 0, 200, 400, 600).targetAt(601).target, 2)
  assert.equal(demandOf(4, 0, 10, 20).targetAt(21).target, 3)
  assert.equal(demandOf(4, 0, 1, 2, 3, 4, 5, 6).targetAt(7).target, 4)
})

test('what was wanted at the worst moment is wanted for a minute', () => {
  const demand = demandOf(8, 0, 10, 20)
  for (let at = 5_000; at < 60_000; at += 5_000) {
    demand.recordCall(at, REPLACE_MS)
    assert.equal(demand.targetAt(at).target, 3)
  }
  demand.recordCall(60_020, REPLACE_MS)
  assert.equal(demand.targetAt(60_021).target, 1)
})

test('who calls more often weighs more, and what is long ago counts little', () => {
  const often = demandOf(1, 0, 100, 200, 300)
  const seldom = demandOf(1, 0, 300)
  assert.ok(often.targetAt(300).load > seldom.targetAt(300).load)
  assert.ok(Math.abs(often.targetAt(15_300).load - often.targetAt(300).load / 2) < 1e-9)
  seldom.recordCall(45_000, REPLACE_MS)
  assert.ok(seldom.targetAt(45_000).load > often.targetAt(45_000).load)
})

test('each kind of caller has a spare before any has a second, the busiest first', () => {
  const claims = [
    { target: 2, load: 1, count: 0 },
    { target: 5, load: 9, count: 0 },
    { target: 0, load: 20, count: 0 },
    { target: 1, load: 3, count: 0 }
  ]
  assert.deepEqual(allocateSessions(claims, 0), [0, 0, 0, 0])
  assert.deepEqual(allocateSessions(claims, 1), [0, 1, 0, 0])
  assert.deepEqual(allocateSessions(claims, 2), [0, 1, 0, 1])
  assert.deepEqual(allocateSessions(claims, 4), [1, 2, 0, 1])
  assert.deepEqual(allocateSessions(claims, 6), [2, 3, 0, 1])
  assert.deepEqual(allocateSessions(claims, 100), [2, 5, 0, 1])
})

test('of two that are alike the one that has a spare keeps it, and twice as much traffic takes it away', () => {
  const holder = { target: 1, load: 10, count: 1 }
  assert.deepEqual(allocateSessions([holder, { target: 1, load: 11, count: 0 }], 1), [1, 0])
  assert.deepEqual(allocateSessions([holder, { target: 1, load: 21, count: 0 }], 1), [0, 1])
})
