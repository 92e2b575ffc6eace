import assert from 'node:assert/strict'
import { test } from 'node:test'
import { costOfCalls, costOfRegistration } from '../../src/control/start-costs.ts'
import { modeCommands, startCostText } from '../../src/domain/start-cost.ts'
import { StartMeter } from '../../src/upstream/sessions/start-meter.ts'

const metered = (starts: readonly number[], calls: readonly number[]) => {
  const meter = new StartMeter()
  for (const ms of starts) meter.recordStart(ms)
  for (const ms of calls) meter.recordCall(ms)
  return meter.times()
}
const repeat = (ms: number, count = 5) => Array.from({ length: count }, () => ms)
const modes = { session_modes: ['stateful', 'shared'] }

test('a meter says nothing before five starts and five calls', () => {
  assert.equal(metered([], []), undefined)
  assert.equal(metered(repeat(60, 4), repeat(4, 9)), undefined)
  assert.equal(metered(repeat(60, 9), repeat(4, 4)), undefined)
  assert.deepEqual(metered(repeat(60), repeat(4)), { startMs: 60, callMs: 4 })
})

test('a call that waited for a person and a start on a busy machine do not move the figures', () => {
  assert.deepEqual(metered([...repeat(60), 9_000, 9_000], [...repeat(4), 300_000, 300_000]), { startMs: 60, callMs: 4 })
})

test('a meter forgets what was long ago', () => {
  const times = metered([...repeat(2_000, 100), ...repeat(60, 32)], [...repeat(900, 100), ...repeat(4, 32)])
  assert.deepEqual(times, { startMs: 60, callMs: 4 })
})

test('starts are mentioned if they take ten milliseconds and longer than calls', () => {
  assert.deepEqual(costOfCalls({ startMs: 61.04, callMs: 3.96 }), {
    start_cost: { start_ms: 61, call_ms: 4, ...modes }
  })
  assert.deepEqual(costOfCalls({ startMs: 10, callMs: 9 }), { start_cost: { start_ms: 10, call_ms: 9, ...modes } })
  for (const [startMs, callMs] of [
    [9.9, 0.1],
    [60, 60],
    [60, 900]
  ] as const)
    assert.deepEqual(costOfCalls({ startMs, callMs }), {})
  assert.deepEqual(costOfCalls(undefined), {})
})

test('at a registration only slow starts of stdio servers that start for each call are mentioned', () => {
  const stdio = { transport: 'stdio', session_mode: 'stateless' } as const
  const slow = { start: 20, initialize: 180, lists: 6 }
  assert.deepEqual(costOfRegistration(stdio, slow), { start_cost: { start_ms: 200, lists_ms: 6, ...modes } })
  assert.deepEqual(costOfRegistration(stdio, { ...slow, initialize: 79 }), {})
  assert.deepEqual(costOfRegistration(stdio, { ...slow, lists: 200 }), {})
  assert.deepEqual(costOfRegistration(stdio, undefined), {})
  assert.deepEqual(costOfRegistration({ ...stdio, session_mode: 'stateful' }, slow), {})
  assert.deepEqual(costOfRegistration({ ...stdio, transport: 'sse' }, slow), {})
})

test('the figures are a sentence, and the commands are those of the modes that are offered', () => {
  const cost = { start_ms: 61, call_ms: 4, session_modes: ['stateful', 'shared'] } as const
  assert.equal(startCostText('stdio', cost), 'starting a process takes 61 ms, a call 4 ms')
  assert.equal(
    startCostText('sse', { ...cost, start_ms: 2_360, call_ms: 0.4 }),
    'opening a session takes 2.4 s, a call less than 1 ms'
  )
  const first = { start_ms: 812, lists_ms: 6, session_modes: ['stateful'] } as const
  assert.equal(startCostText('stdio', first), 'starting a process took 812 ms, reading the lists 6 ms')
  assert.equal(
    modeCommands('files', first),
    '`towpath update server files --session-mode stateful` keeps one for each client'
  )
  assert.match(
    modeCommands('files', cost),
    /stateful` keeps .*; `towpath update server files --session-mode shared` shares/
  )
})
