import assert from 'node:assert/strict'
import { test } from 'node:test'
import { verdictOf } from '../interop/cells.ts'
import { explanationOf, readDifferences } from '../interop/known.ts'
import { type Outcome, type Outcomes, features, readOutcomes } from '../interop/outcomes.ts'
import { describe, plan } from '../interop/scenarios.ts'

const all = (outcome: Outcome['outcome']) =>
  Object.fromEntries(features.map((feature) => [feature, { outcome, note: '' }])) as unknown as Outcomes

test('interop: only what works directly and fails through the gateway is its fault', () => {
  const verdict = (direct: Outcome['outcome'], through: Outcome['outcome']) =>
    verdictOf('text', all(direct), all(through)).verdict
  assert.equal(verdict('ok', 'failed'), 'fault', 'works directly alone')
  assert.equal(verdict('ok', 'unsupported'), 'fault', 'hidden by the gateway')
  assert.equal(verdict('ok', 'ok'), 'same', 'works both ways')
  assert.equal(verdict('failed', 'failed'), 'limit', 'fails both ways')
  assert.equal(verdict('failed', 'ok'), 'better', 'works through the gateway alone')
  assert.equal(verdict('unsupported', 'ok'), 'none', 'not to be had')
})

test('interop: a client that ends early has failed in what it did not get to', () => {
  const outcomes = readOutcomes('noise\n{"feature":"init","outcome":"ok","note":"2025-11-25"}\n', 'SIGKILL')
  assert.equal(outcomes.init.outcome, 'ok', 'said')
  assert.deepEqual(outcomes.text, { outcome: 'failed', note: 'not reached' }, 'not said')
})

test('interop: every known difference is explained in the documentation and belongs to a row', async () => {
  const differences = await readDifferences()
  const rows = plan()
  for (const one of differences)
    assert.ok(
      one.features.every((feature) => rows.some((row) => explanationOf([one], row, feature))),
      `no row for ${JSON.stringify(one)}`
    )
})

test('interop: no two rows of the plan have one title', () => {
  const titles = plan().map(describe)
  assert.equal(new Set(titles).size, titles.length, 'titles')
})
