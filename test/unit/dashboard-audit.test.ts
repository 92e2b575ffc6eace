import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AuditLine } from '../../dashboard/src/audit/audit-line.ts'
import { changeText } from '../../dashboard/src/audit/change-text.ts'
import { csvCell, toCsv, toJsonLines } from '../../dashboard/src/audit/export.ts'
import { auditFilterOf } from '../../dashboard/src/audit/filter.ts'

const change = (before: Record<string, unknown>, after: Record<string, unknown>) =>
  changeText({ changed: [...new Set([...Object.keys(before), ...Object.keys(after)])], before, after })

test('a change is told in words: what came, what left, what is set', () => {
  assert.deepEqual(change({ allowed_servers: ['files'] }, { allowed_servers: ['files', 'github'] }), [
    'allowed servers: + github'
  ])
  assert.deepEqual(change({ tools: ['a', 'b'] }, { tools: ['b', 'c'] }), ['tools: + c − a'])
  assert.deepEqual(change({ tools: ['a', 'b'] }, { tools: ['b', 'a'] }), ['tools: in another order'])
  assert.deepEqual(change({}, { name: 'ops', tools: [] }), ['name: ops'])
  assert.deepEqual(change({ enabled: true }, { enabled: false }), ['enabled: off'])
  assert.deepEqual(change({ role: 'user' }, { role: 'admin' }), ['role: user → admin'])
  assert.deepEqual(change({}, { description: 'new' }), ['description: new'])
  assert.deepEqual(change({ description: 'old' }, {}), ['description: removed'])
  assert.deepEqual(change({ tools_enabled: { echo: true } }, { tools_enabled: { echo: false } }), [
    'tools enabled: echo off'
  ])
  assert.deepEqual(change({ tools: [] }, { tools: ['a', 'b', 'c', 'd', 'e', 'f', 'g'] }), [
    'tools: + a, b, c, d, e and 2 more'
  ])
})

test('a change names no secret, and one whose values are not recorded is only named', () => {
  assert.deepEqual(change({}, { bearer_token: '***' }), ['bearer token: set'])
  assert.deepEqual(change({ bearer_token: '***' }, { bearer_token: '***' }), ['bearer token: changed'])
  assert.deepEqual(change({ bearer_token: '***' }, {}), ['bearer token: removed'])
  assert.deepEqual(change({}, { env: { A: '***' } }), ['env: + A'])
  assert.deepEqual(change({ env: { A: '***' } }, { env: { A: '***', B: '***' } }), ['env: + B, A changed'])
  assert.deepEqual(changeText({ changed: ['env'], before: {}, after: {} }), ['env: changed'])
  assert.deepEqual(changeText({ changed: ['tools', 'locks'], before: {}, after: { tools: {}, locks: [] } }), [])
  assert.deepEqual(changeText({}), [])
})

const entry: AuditLine = {
  id: '7',
  at: '2026-11-24T00:00:00.000Z',
  actor_kind: 'user',
  actor: '=HYPERLINK("https://evil.example")',
  action: 'server.enable',
  target: 'a, "b"',
  outcome: 'ok',
  count: 1,
  changed: ['enabled'],
  before: { enabled: false },
  after: { enabled: true }
}

test('a cell that a spreadsheet would run is harmless, and one with separators is quoted', () => {
  for (const text of ['=1+1', '+1', '-1', '@sum', '\tx', '\rx']) assert.match(csvCell(text), /^"?'/, text)
  assert.equal(csvCell('plain'), 'plain')
  assert.equal(csvCell('a,"b"\n'), '"a,""b""\n"')
  const [names, row, rest] = toCsv([entry]).split('\r\n')
  assert.match(names!, /^id,at,actor_kind,actor,action,target,outcome,count,change,/)
  assert.match(
    row!,
    /^7,2026-11-24T00:00:00\.000Z,user,"'=HYPERLINK\(""https:\/\/evil\.example""\)",server\.enable,"a, ""b""",ok,1,enabled: on,/
  )
  assert.equal(rest, '')
})

test('exported JSON lines are the entries, one a line', () => {
  assert.deepEqual(
    toJsonLines([entry, entry])
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown),
    [entry, entry]
  )
})

test('the filter of the address keeps what the REST interface knows', () => {
  const now = Date.parse('2026-11-24T00:00:00Z')
  assert.deepEqual(auditFilterOf({ actor: 'alice', outcome: 'refused', range: '1h' }, now), {
    actor: 'alice',
    outcome: 'refused',
    from: '2026-11-23T23:00:00.000Z'
  })
  assert.deepEqual(auditFilterOf({ outcome: 'maybe', range: 'all', target: '' }, now), {})
  assert.deepEqual(auditFilterOf({ range: 'constructor' }, now), { from: '2026-11-17T00:00:00.000Z' })
})
