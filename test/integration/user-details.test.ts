import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectClient, startSignInGateway } from '../fixtures/identity-provider/gateway.ts'

test('the list of users tells where they come from, why they have their role and when they were seen', async (t) => {
  const gateway = await startSignInGateway(t, { env: { TOWPATH_OIDC_AUDITOR_GROUPS: 'sre, sales-leads' } })
  const since = new Date().toISOString().slice(0, 10)
  await connectClient(gateway, { person: 'alice' })
  await connectClient(gateway, { person: 'bob' })
  assert.equal((await gateway.api('POST', '/users', { name: 'robot', role: 'user' })).status, 201)
  const { status, body } = await gateway.api('GET', '/users?include=details')
  assert.equal(status, 200)
  const of = (name: string) => body.find((each: { name: string }) => each.name === name)
  const { last_seen_on, groups_read_at, ...alice } = of('alice')
  assert.ok(last_seen_on >= since && groups_read_at >= since)
  assert.deepEqual(
    { role: alice.role, reason: alice.role_reason, by: alice.role_groups, source: alice.source },
    { role: 'auditor', reason: 'groups', by: ['sre'], source: 'jit' }
  )
  const { role, role_reason: reason } = of('bob')
  assert.deepEqual({ role, reason }, { role: 'user', reason: 'default' })
  assert.deepEqual(of('robot'), {
    name: 'robot',
    username: 'robot',
    role: 'user',
    source: 'static',
    groups: [],
    teams: [],
    role_reason: 'manual'
  })
  assert.deepEqual((await gateway.api('GET', '/users/robot')).body, of('robot'))
  const plain = await gateway.api('GET', '/users')
  assert.deepEqual(
    plain.body.find((each: { name: string }) => each.name === 'robot'),
    {
      name: 'robot',
      username: 'robot',
      role: 'user'
    }
  )
  assert.equal((await gateway.api('GET', '/users?include=tokens')).status, 400)
})
