import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answerReader, type Answer } from '../../benchmarks/answer-reader.ts'
import { failed, isMet, type Outcome } from '../../benchmarks/outcome.ts'
import { interleaved, mean, median, medianRatio, percentile } from '../../benchmarks/statistics.ts'
import { table } from '../../benchmarks/table.ts'

const outcome = (changes: Partial<Outcome> = {}): Outcome => ({
  row: 1,
  work: '`tools/call` | 200 B',
  reference: 'raw byte proxy',
  measure: 'CPU per request',
  goal: { atMost: 1.35, unit: '×' },
  value: 1.3,
  unit: '×',
  errors: 0,
  note: '',
  ...changes
})

test('means, medians and percentiles lie between neighbours, and of nothing there are none', () => {
  assert.equal(median([3, 1, 2]), 2)
  assert.equal(median([4, 1, 2, 3]), 2.5)
  assert.equal(percentile([10, 20, 30], 75), 25)
  assert.equal(percentile([10, 20, 30], 100), 30)
  assert.ok(Number.isNaN(median([])))
  assert.equal(mean([1, 2, 6]), 3)
  assert.ok(Number.isNaN(mean([])))
})

test('a ratio is taken in each round, so that a round in which everything was slow changes nothing', () => {
  assert.equal(medianRatio([10, 1_000, 12], [5, 500, 6]), 2)
  assert.throws(() => medianRatio([1, 2], [1]), /as many rounds/)
})

test('every other round goes backwards', () => {
  assert.deepEqual(interleaved(['a', 'b'], 0), ['a', 'b'])
  assert.deepEqual(interleaved(['a', 'b'], 1), ['b', 'a'])
})

test('a goal is met up to its limit, and a single error misses it', () => {
  assert.equal(isMet(outcome({ value: 1.35 })), true)
  assert.equal(isMet(outcome({ value: 1.36 })), false)
  assert.equal(isMet(outcome({ goal: { atLeast: 40, unit: '×' }, value: 39 })), false)
  assert.equal(isMet(outcome({ errors: 1 })), false)
  assert.equal(isMet(outcome({ value: Number.NaN })), false)
  const { goal: _, ...documented } = outcome()
  assert.equal(isMet(documented), undefined)
  assert.equal(isMet({ ...documented, errors: 1 }), false)
})

test('the table is in the order of the rows and says what was missed', () => {
  const lines = table([failed(5, 'sessions', 'not done after 60 s'), outcome()]).split('\n')
  assert.deepEqual(lines.slice(2), [
    String.raw`| 1 | \`tools/call\` \| 200 B | raw byte proxy | CPU per request | ≤ 1.35× | 1.30× | met | 0 |  |`.replaceAll(
      '\\`',
      '`'
    ),
    '| 5 | sessions | – | to be measured at all | – | – | **missed** | 1 | not done after 60 s |'
  ])
})

/** Returns the responses parsed from chunks of `size` bytes. */
function read(texts: readonly string[], size: number): Answer[] {
  const answers: Answer[] = []
  const reader = answerReader('xx', (answer) => answers.push(answer))
  for (const bytes of texts.map((text) => Buffer.from(text))) {
    for (let at = 0; at < bytes.length; at += size) reader.read(bytes.subarray(at, at + size))
  }
  return answers
}

test('answers are read one after the other, by length and in chunks, however they are cut', () => {
  const plain = 'HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n{"xxx"'
  const chunked = 'HTTP/1.1 502 Bad\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n'
  const empty = 'HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n'
  for (const size of [1, 2, 7, 1_000]) {
    const answers = read([plain, chunked, empty, plain], size)
    assert.deepEqual(
      answers.map(({ status, bodyBytes }) => [status, bodyBytes]),
      [
        [200, 6],
        [502, 13],
        [202, 0],
        [200, 6]
      ],
      `pieces of ${size}`
    )
  }
  assert.equal(read([plain], 1_000)[0]?.hasMarker, true)
  assert.equal(read([chunked], 1_000)[0]?.hasMarker, false)
})
