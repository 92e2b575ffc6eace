import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createDemand, share } from '../../src/gateway/upstream/demand.ts'

const IDLE_MS = 60_000
const REPLACE_MS = 300

function demandOf(most: number, ...calls: number[]) {
  const demand = createDemand(most, IDLE_MS)
  for (const at of calls) demand.called(at, REPLACE_MS)
  return demand
}

test('one call deserves no spare session, the second within a minute does, and the end of that minute ends it', () => {
  assert.equal(demandOf(4, 0).at(1).wanted, 0)
  const demand = demandOf(4, 0, 59_000)
  assert.equal(demand.at(59_001).wanted, 1)
  assert.equal(demand.endsAt, 119_000)
  assert.equal(demand.at(118_999).wanted, 1)
  assert.equal(demand.at(119_000).wanted, 0)
  demand.called(125_000, REPLACE_MS)
  assert.equal(demand.at(125_001).wanted, 0, 'it begins anew')
  assert.equal(demandOf(4, 0, 60_000).at(60_001).wanted, 0)
})

test('as many are wanted as calls came while one would be replaced, but no more than there may be', () => {
  assert.equal(demandOf(4, 0, 400, 800, 1_200).at(1_201).wanted, 1)
  assert.equal(demandOf(4, 0, 200, 400, 600).at(601).wanted, 2)
  assert.equal(demandOf(4, 0, 10, 20).at(21).wanted, 3)
  assert.equal(demandOf(4, 0, 1, 2, 3, 4, 5, 6).at(7).wanted, 4)
})

test('what was wanted at the worst moment is wanted for a minute', () => {
  const demand = demandOf(8, 0, 10, 20)
  for (let at = 5_000; at < 60_000; at += 5_000) {
    demand.called(at, REPLACE_MS)
    assert.equal(demand.at(at).wanted, 3)
  }
  demand.called(60_020, REPLACE_MS)
  assert.equal(demand.at(60_021).wanted, 1)
})

test('who calls more often weighs more, and what is long ago counts little', () => {
  const often = demandOf(1, 0, 100, 200, 300)
  const seldom = demandOf(1, 0, 300)
  assert.ok(often.at(300).weight > seldom.at(300).weight)
  assert.ok(Math.abs(often.at(15_300).weight - often.at(300).weight / 2) < 1e-9)
  seldom.called(45_000, REPLACE_MS)
  assert.ok(seldom.at(45_000).weight > often.at(45_000).weight)
})

test('each kind of caller has a spare before any has a second, the busiest first', () => {
  const claims = [
    { wanted: 2, weight: 1, held: 0 },
    { wanted: 5, weight: 9, held: 0 },
    { wanted: 0, weight: 20, held: 0 },
    { wanted: 1, weight: 3, held: 0 }
  ]
  assert.deepEqual(share(claims, 0), [0, 0, 0, 0])
  assert.deepEqual(share(claims, 1), [0, 1, 0, 0])
  assert.deepEqual(share(claims, 2), [0, 1, 0, 1])
  assert.deepEqual(share(claims, 4), [1, 2, 0, 1])
  assert.deepEqual(share(claims, 6), [2, 3, 0, 1])
  assert.deepEqual(share(claims, 100), [2, 5, 0, 1])
})

test('of two that are alike the one that has a spare keeps it, and twice as much traffic takes it away', () => {
  const holder = { wanted: 1, weight: 10, held: 1 }
  assert.deepEqual(share([holder, { wanted: 1, weight: 11, held: 0 }], 1), [1, 0])
  assert.deepEqual(share([holder, { wanted: 1, weight: 21, held: 0 }], 1), [0, 1])
})
