import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mergeTexts } from '../../src/plugins/telemetry/merged-text.ts'

const first = `# HELP calls_total Calls, with a {brace}
# TYPE calls_total counter
calls_total{tool="a{b}",outcome="ok"} 3 1700000000000
calls_total{tool="c \\"d\\"",outcome="ok"} 1
# HELP sessions Sessions
# TYPE sessions gauge
sessions 4
`
const second = `# HELP sessions Sessions
# TYPE sessions gauge
sessions 5
# HELP seconds Seconds
# TYPE seconds histogram
seconds_bucket{le="+Inf"} 2
seconds_sum 0.5
seconds_count 2
`

test('texts of workers become one, with each family once and the worker in each sample', () => {
  const merged = mergeTexts(
    new Map([
      [1, second],
      [0, first]
    ])
  )
  assert.equal(
    merged,
    `# HELP calls_total Calls, with a {brace}
# TYPE calls_total counter
calls_total{worker="0",tool="a{b}",outcome="ok"} 3 1700000000000
calls_total{worker="0",tool="c \\"d\\"",outcome="ok"} 1
# HELP sessions Sessions
# TYPE sessions gauge
sessions{worker="0"} 4
sessions{worker="1"} 5
# HELP seconds Seconds
# TYPE seconds histogram
seconds_bucket{worker="1",le="+Inf"} 2
seconds_sum{worker="1"} 0.5
seconds_count{worker="1"} 2
`
  )
})

test('without any metrics the merged text is empty', () => {
  assert.equal(mergeTexts(new Map([[0, '']])), '')
})
