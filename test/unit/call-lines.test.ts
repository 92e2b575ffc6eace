import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createCallBacklog, LINE_CALLS, rowsOf, type CallLine } from '../../src/registry/logs/call-lines.ts'
import type { CallRow } from '../../src/registry/logs/calls.ts'

const call = (item: string, more: Partial<CallRow> = {}): CallRow => ({
  ...{
    at: 1,
    kind: 'tool',
    caller_kind: 'client',
    caller: 'é',
    endpoint: '/mcp',
    via: 'legacy',
    server: 'alpha',
    item
  },
  ...{ outcome: 'ok', total_ms: 5, upstream_ms: 4, request_bytes: 20, response_bytes: 30, error: undefined },
  ...{ request_id: 'r-1' },
  ...more
})

function start(size: number) {
  const backlog = createCallBacklog(size)
  let last = 0
  const add = (count: number, more?: Partial<CallRow>) => {
    for (let n = 0; n < count; n++) backlog.add(call(String(last++), more))
  }
  return { backlog, add }
}

const itemsOf = (lines: readonly CallLine[]) => (JSON.parse(rowsOf(lines)) as CallRow[]).map(({ item }) => Number(item))
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => from + n)

test('calls become lines of JSON in their order, each of as many calls as one statement stores', () => {
  const { backlog, add } = start(Infinity)
  add(1_007)
  assert.equal(backlog.length, 1_007)
  const lines = backlog.oldest()
  assert.deepEqual(
    lines.map(({ calls }) => calls),
    [LINE_CALLS, LINE_CALLS, LINE_CALLS, LINE_CALLS, 7]
  )
  assert.deepEqual(itemsOf(lines), range(0, 1_007))
  for (const { calls, bytes } of lines) {
    const text = bytes.toString()
    assert.equal(text.indexOf('\n'), text.length - 1)
    assert.equal((JSON.parse(text) as unknown[]).length, calls)
  }
  assert.deepEqual(JSON.parse(rowsOf(lines.slice(4)))[0], JSON.parse(JSON.stringify(call('1000'))))
})

test('lines that are being written do not change, and are removed alone', () => {
  const { backlog, add } = start(2)
  add(30)
  const first = backlog.oldest()
  const text = rowsOf(first)
  add(400)
  assert.equal(rowsOf(first), text)
  // the write has failed: it is tried again with more
  const again = backlog.oldest()
  assert.deepEqual(
    again.map(({ calls }) => calls),
    [30, 250]
  )
  assert.equal(backlog.removeOldest(), 280)
  assert.deepEqual([backlog.removeOldest(), backlog.length], [0, 150])
  // into buffers that were used before
  add(400)
  assert.deepEqual(itemsOf(backlog.oldest()), range(280, 780))
  backlog.removeOldest()
  assert.deepEqual(itemsOf(backlog.oldest()), range(780, 830))
  assert.equal(backlog.removeOldest() + backlog.length, 50)
})

test('calls with long contents of any characters are kept whole', () => {
  const { backlog, add } = start(Infinity)
  const texts = ['x'.repeat(4_096), '\u{1f600}"\\\n'.repeat(1_000), '漢'.repeat(4_096), '\ud800'.repeat(600)]
  for (let n = 0; n < 200; n++) add(1, { arguments: texts[n % texts.length], result: texts[(n + 1) % texts.length] })
  const lines = backlog.oldest()
  const rows = JSON.parse(rowsOf(lines)) as CallRow[]
  assert.ok(lines.length > 1)
  assert.equal(rows.length, 200)
  for (const [n, row] of rows.entries()) {
    assert.equal(row.arguments, texts[n % texts.length])
    assert.equal(row.result, texts[(n + 1) % texts.length])
  }
})
