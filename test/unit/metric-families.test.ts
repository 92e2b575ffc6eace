import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createCount, createFamily, createHistogram, record } from '../../src/plugins/telemetry/families.ts'

const definition = {
  name: 'things_total',
  type: 'counter',
  about: 'Things',
  labels: { place: 'any', outcome: 'any' }
} as const

test('the same values of the labels are the same series, others are another', () => {
  const things = createFamily(definition, createCount)
  things.at('here', 'ok').value++
  things.at('here', 'ok').value++
  things.at('here', 'bad').value++
  things.at('ok', 'here').value++
  assert.deepEqual(things.series, [
    { labels: { place: 'here', outcome: 'ok' }, value: { value: 2 } },
    { labels: { place: 'here', outcome: 'bad' }, value: { value: 1 } },
    { labels: { place: 'ok', outcome: 'here' }, value: { value: 1 } }
  ])
})

test('a metric without labels has one series', () => {
  const things = createFamily({ ...definition, labels: {} }, createCount)
  things.at().value++
  things.at().value++
  assert.deepEqual(things.series, [{ labels: {}, value: { value: 2 } }])
})

test('beyond the limit series are counted together, and those that are known go on by themselves', () => {
  const things = createFamily(definition, createCount, 2)
  for (const place of ['a', 'b', 'c', 'd', 'a', 'c']) things.at(place, 'ok').value++
  assert.deepEqual(
    things.series.map(({ labels, value }) => [Object.values(labels).join(), value.value]),
    [
      ['a,ok', 2],
      ['b,ok', 1],
      ['true', 3]
    ]
  )
  assert.deepEqual(things.series[2]!.labels, { otel_metric_overflow: 'true' })
})

test('a value on a bound belongs to the bucket below it, one above all bounds to the last', () => {
  const histogram = createHistogram([1, 5])
  for (const value of [0, 1, 1.001, 5, 6, 100]) record(histogram, value)
  assert.deepEqual(histogram.counts, [2, 2, 2])
  assert.equal(histogram.count, 6)
  assert.ok(Math.abs(histogram.sum - 113.001) < 1e-9)
})
