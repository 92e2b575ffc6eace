import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { createCallLog } from '../../src/observe/call-log.ts'
import type { CallObservation } from '../../src/observe/observation.ts'
import type { CallRow } from '../../src/registry/logs/calls.ts'

const observed = {
  kind: 'tool',
  caller: { kind: 'development', name: 'development' },
  endpoint: '/mcp',
  via: 'modern',
  server: 'alpha',
  item: 'echo',
  outcome: 'ok',
  startedAt: 0,
  totalMs: 1,
  upstreamMs: 1,
  stderr: '',
  params: '"name":"echo","arguments":{"text":"hi"}',
  result: null,
  redact: (text: string) => text
} as unknown as CallObservation

test('a flood of calls leaves a row for each, and contents of the first 200 in a second', async () => {
  const rows: CallRow[] = []
  const log = createCallLog(
    { queued: 0, record: (row) => rows.push(row) },
    { contents: true, isRecorded: () => false, heldSince: () => undefined }
  )
  for (let n = 0; n < 5_000; n++) log.onCall(observed)
  await setImmediate()
  assert.equal(rows.length, 5_000)
  const recorded = rows.filter((row) => row.arguments === '{"text":"hi"}').length
  // a machine that stands still within the flood begins another second
  assert.ok(recorded >= 200 && recorded < 2_500, `${recorded} with contents`)
})
