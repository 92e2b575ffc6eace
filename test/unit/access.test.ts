import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  accessProblem,
  isAdministrator,
  isAuditor,
  scopesFor,
  type Access,
  type Holder,
  type TokenScope
} from '../../src/domain/access/access.ts'

const holder = (kind: Holder['kind'], ...scopes: TokenScope[]): Holder =>
  scopes.length > 0 ? { kind, scopes } : { kind }
const all: readonly Access[] = ['public', 'self', 'user', 'call', 'auditor', 'admin', 'client']
const openTo = (caller: Holder) => all.filter((access) => accessProblem(caller, access) === undefined)

test('a token without scopes has the rights of its role, and opens no MCP endpoint but for a client', () => {
  assert.deepEqual(openTo(holder('admin')), ['public', 'self', 'user', 'call', 'auditor', 'admin'])
  assert.deepEqual(openTo(holder('auditor')), ['public', 'self', 'user', 'auditor'])
  assert.deepEqual(openTo(holder('user')), ['public', 'self', 'user', 'call'])
  assert.deepEqual(openTo(holder('client')), ['public', 'client'])
  assert.deepEqual(openTo(holder('development')), all)
})

test('a scope includes the narrower ones, and never adds to the role', () => {
  assert.deepEqual(openTo(holder('admin', 'mcp')), ['public', 'self', 'client'])
  assert.deepEqual(openTo(holder('admin', 'towpath:read')), ['public', 'self', 'user', 'auditor'])
  assert.deepEqual(openTo(holder('admin', 'towpath:call')), ['public', 'self', 'user', 'call', 'auditor'])
  assert.deepEqual(openTo(holder('admin', 'towpath:admin', 'mcp')), all)
  assert.deepEqual(openTo(holder('user', 'towpath:admin')), ['public', 'self', 'user', 'call'])
  assert.deepEqual(openTo(holder('user', 'towpath:read', 'mcp')), ['public', 'self', 'user', 'client'])
  // a role that was lowered after the token was created
  assert.deepEqual(openTo(holder('auditor', 'towpath:admin', 'mcp')), ['public', 'self', 'user', 'auditor'])
})

test('a refusal tells the missing scope, unless the role is the reason', () => {
  assert.deepEqual(accessProblem(holder('user', 'towpath:read'), 'call'), { kind: 'scope', scope: 'towpath:call' })
  assert.deepEqual(accessProblem(holder('user', 'towpath:read'), 'client'), { kind: 'scope', scope: 'mcp' })
  assert.deepEqual(accessProblem(holder('user', 'towpath:read'), 'admin'), { kind: 'role' })
  assert.deepEqual(accessProblem(holder('user'), 'client'), { kind: 'role' })
})

test('secrets are for administrators with all rights, everything else for auditors too', () => {
  const readers = [holder('admin'), holder('admin', 'towpath:read'), holder('auditor'), holder('user')]
  assert.deepEqual(
    readers.map((each) => [isAdministrator(each), isAuditor(each)]),
    [
      [true, true],
      [false, true],
      [false, true],
      [false, false]
    ]
  )
})

test('the scopes of a role open nothing that the role does not', () => {
  for (const role of ['admin', 'auditor', 'user'] as const) {
    for (const scope of scopesFor(role)) {
      const more = openTo(holder(role, scope)).filter((access) => !openTo(holder(role)).includes(access))
      assert.deepEqual(more, scope === 'mcp' ? ['client'] : [], `${role} ${scope}`)
    }
  }
})
