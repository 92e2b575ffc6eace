import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nextSort, parseSort, sortServers } from '../../dashboard/src/servers/server-order.ts'
import type { ServerView } from '../../src/schemas/dashboard/servers.ts'

const server = (name: string, status: ServerView['status'], tool_count: number, p95_ms?: number): ServerView => ({
  ...{ name, status, tool_count, transport: 'stdio', enabled: status !== 'disabled' },
  ...{
    prompt_count: 0,
    resource_count: 0,
    skill_count: 0,
    left_out_count: 0,
    held_count: 0,
    updated_at: '2026-01-01T00:00:00Z'
  },
  config_summary: { kind: 'stdio', session_mode: 'stateless' },
  ...(p95_ms !== undefined && {
    stats_24h: { calls: 4, failed: 1, p95_ms, from: '2026-01-01T00:00:00Z', half_hours: [] }
  })
})

const servers = [
  server('b', 'connected', 3, 20),
  server('d', 'failing', 9),
  server('a', 'disabled', 3),
  server('c', 'sign_in_needed', 1, 900)
]
const order = (text?: string) =>
  sortServers(servers, parseSort(text))
    .map(({ name }) => name)
    .join('')

test('servers that need attention are first, and every column sorts in both directions', () => {
  assert.equal(order(), 'cdab')
  assert.equal(order('nonsense'), 'cdab')
  assert.deepEqual([order('name'), order('-name')], ['abcd', 'dcba'])
  assert.deepEqual([order('status'), order('-status')], ['dcba', 'abcd'])
  assert.deepEqual([order('-tools'), order('tools')], ['dabc', 'cabd'])
  assert.deepEqual([order('-p95'), order('p95')], ['cbad', 'bcad'], 'unknown values are last')
})

test('clicks on a column sort by it, in the other direction, and as before', () => {
  assert.deepEqual([nextSort(undefined, 'name'), nextSort(parseSort('name'), 'name')], ['name', '-name'])
  assert.equal(nextSort(parseSort('-name'), 'name'), undefined)
  assert.deepEqual([nextSort(parseSort('name'), 'calls'), nextSort(parseSort('-calls'), 'calls')], ['-calls', 'calls'])
  assert.equal(nextSort(parseSort('calls'), 'calls'), undefined)
})
