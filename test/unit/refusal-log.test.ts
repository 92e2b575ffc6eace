import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLineLimit } from '../../src/plugins/refusal-log.ts'

test('an address gets ten lines a minute, each address its own', () => {
  let now = 0
  const mayLog = createLineLimit(() => now)
  const lines = (address: string, requests: number) =>
    Array.from({ length: requests }, () => mayLog(address)).filter(Boolean).length
  assert.equal(lines('10.0.0.1', 1_000), 10)
  assert.equal(lines('10.0.0.2', 5), 5)
  now = 59_999
  assert.equal(lines('10.0.0.1', 10), 0)
  now = 60_000
  assert.equal(lines('10.0.0.1', 1_000), 10)
})

test('of ever so many addresses no more than ten thousand are remembered', () => {
  const mayLog = createLineLimit(() => 0)
  for (let i = 0; i < 10; i++) mayLog('first')
  assert.equal(mayLog('first'), false)
  for (let i = 0; i < 9_999; i++) mayLog(`address ${i}`)
  assert.equal(mayLog('first'), false)
  for (let i = 0; i < 2; i++) mayLog(`another ${i}`)
  assert.equal(mayLog('first'), true)
})
