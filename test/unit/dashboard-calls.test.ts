import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CallEntry } from '../../src/schemas/call.ts'
import {
  explanation,
  calledItem,
  callerText,
  endpointText,
  headline,
  phasesOf,
  phaseText,
  protocolText
} from '../../dashboard/src/calls/call-text.ts'

const call = (more: Partial<CallEntry> = {}): CallEntry => ({
  ...{ id: '1', at: '2026-01-01T00:00:00Z', kind: 'tool', caller_kind: 'development', caller: 'development' },
  ...{ endpoint: '/mcp', via: 'modern', server: 'a', item: 'echo', outcome: 'ok' },
  ...{ total_ms: 10, upstream_ms: 9, request_bytes: 1, response_bytes: 1 },
  ...more
})
const told = (more: Partial<CallEntry>) => phasesOf(call(more)).map((phase) => [phase.label, phaseText(phase)])

test('the phases of a call are those that there were, and the call itself takes what is left', () => {
  assert.deepEqual(told({}), [['Call', '9 ms']])
  assert.deepEqual(told({ queue_ms: 0, start_ms: 2, initialize_ms: 3 }), [
    ['Queue', '<1 ms'],
    ['Start', '2 ms'],
    ['Initialize', '3 ms'],
    ['Call', '4 ms']
  ])
})

test('a call that ended early says where, and that its server was not reached', () => {
  assert.deepEqual(told({ queue_ms: 1, start_ms: 2, initialize_ms: 1_400, ended_in: 'initialize' }).slice(2), [
    ['Initialize', 'ended after 1.4 s'],
    ['Call', 'not reached']
  ])
  assert.deepEqual(told({ ended_in: 'queue' }), [
    ['Queue', 'ended'],
    ['Call', 'not reached']
  ])
  assert.deepEqual(told({ upstream_ms: 0, outcome: 'refused' }), [['Call', 'not reached']])
})

test('a headline tells what happened, and what the client was answered where it failed', () => {
  assert.match(headline(call({ outcome: 'failed', ended_in: 'initialize' })), /before answering initialize/)
  assert.match(headline(call({ outcome: 'timeout' })), /in time/)
  assert.match(headline(call({ outcome: 'cancelled', ended_in: 'queue' })), /cancelled the call/)
  assert.match(explanation(call({ outcome: 'failed', via: 'rest' })), /an HTTP error/)
  assert.match(explanation(call({ outcome: 'failed' })), /a JSON-RPC error/)
  assert.equal(explanation(call()), '')
})

test('protocols are told once where both sides speak the same', () => {
  const legacy = { via: 'legacy', client_protocol: '2025-06-18' } as const
  assert.equal(protocolText(call({ ...legacy, server_protocol: '2025-06-18' })), '2025-06-18, legacy era')
  assert.equal(protocolText(call({ ...legacy, server_protocol: '2026-07-28' })), '2025-06-18 → 2026-07-28')
  assert.equal(
    protocolText(call({ client_protocol: '2026-07-28', server_protocol: '2026-07-28' })),
    '2026-07-28, modern era'
  )
  assert.equal(protocolText(call({ via: 'rest', server_protocol: '2025-11-25' })), 'REST → 2025-11-25')
  assert.equal(protocolText(call({ via: 'rest' })), 'REST')
})

test('who called is who the client says it is, else the principal', () => {
  assert.equal(callerText(call({ client: 'cursor' })), 'cursor')
  assert.equal(callerText(call()), '—')
  assert.equal(callerText(call({ caller_kind: 'client', caller: 'ci' })), 'ci')
})

test('names are short: qualified items, groups by name', () => {
  assert.equal(calledItem(call()), 'a__echo')
  assert.equal(calledItem(call({ kind: 'resource', item: 'x://1' })), 'x://1')
  assert.equal(endpointText('/v0/groups/support/mcp'), 'support')
  assert.equal(endpointText('/mcp'), '/mcp')
})
