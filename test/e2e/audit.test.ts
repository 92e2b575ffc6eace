import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addUpstream, skip, startEnterprise } from './enterprise.ts'
import { until } from '../until.ts'

type Entry = Record<string, unknown>

test('who changed which principal is in the audit log, and no token is', { skip }, async (t) => {
  const gateway = await startEnterprise(t)
  const { admin } = gateway
  const second = await admin.post('/api/v0/users', { name: 'second', role: 'admin' })
  const other = gateway.as(second.body.access_token as string)
  const rotated = await other.put('/api/v0/users/user', {})
  await other.put('/api/v0/clients/cli-a', { allowed_servers: ['alpha', 'beta'] })
  await other.remove('/api/v0/clients/cli-b')
  await other.remove('/api/v0/users/user')

  const { text, body, headers } = await admin.get('/api/v0/audit')
  assert.equal(headers.get('cache-control'), 'no-store')
  const rows = (body.entries as Entry[]).map(({ actor_kind, actor, action, target, changed }) => [
    ...[actor_kind, actor, action, target],
    changed
  ])
  const token = ['access_token']
  assert.deepEqual(rows.slice(0, 5), [
    ['admin', 'second', 'user.remove', 'user', ['role']],
    ['admin', 'second', 'client.remove', 'cli-b', ['allowed_servers']],
    ['admin', 'second', 'client.change', 'cli-a', ['allowed_servers']],
    ['admin', 'second', 'user.rotate', 'user', token],
    ['admin', 'admin', 'user.create', 'second', ['role', ...token]]
  ])
  assert.deepEqual(rows.at(-1)!.slice(0, 4), ['admin', 'admin', 'gateway.initialize', 'admin'])
  const [, , change] = body.entries as [Entry, Entry, Entry]
  assert.deepEqual(
    [change.before, change.after],
    [{ allowed_servers: ['alpha'] }, { allowed_servers: ['alpha', 'beta'] }]
  )
  for (const entry of body.entries as Entry[]) assert.ok(entry.address === '127.0.0.1' && entry.request_id)
  for (const secret of [...Object.values(gateway.tokens), rotated.body.access_token, second.body.access_token]) {
    assert.equal(text.includes(secret as string), false)
  }
})

test('the audit log is for administrators, and who else asks is in it', { skip }, async (t) => {
  const gateway = await startEnterprise(t)
  for (const [actor, status] of [
    [gateway.user, 403],
    [gateway.cliAll, 403],
    [gateway.as(), 401],
    [gateway.as('wrong-token-wrong-token'), 401]
  ] as const) {
    assert.equal((await actor.get('/api/v0/audit')).status, status)
  }
  const rows = await until('the refusals', async () => {
    const { body } = await gateway.admin.get('/api/v0/audit?outcome=refused')
    return body.entries.length === 4 && (body.entries as Entry[])
  })
  assert.deepEqual(
    (rows as Entry[]).map(({ actor_kind, actor, target }) => [actor_kind, actor, target]),
    [
      ['anonymous', 'anonymous', 'GET /api/v0/audit'],
      ['anonymous', 'anonymous', 'GET /api/v0/audit'],
      ['client', 'cli-all', 'GET /api/v0/audit'],
      ['user', 'user', 'GET /api/v0/audit']
    ]
  )
})

test(
  'what a client may not use is refused as if it were not there, and the attempt is recorded',
  { skip },
  async (t) => {
    const gateway = await startEnterprise(t)
    await addUpstream(t, gateway, 'alpha')
    const { requests } = await addUpstream(t, gateway, 'beta')
    const before = requests.length
    const session = await gateway.cliA.initialize()
    await gateway.cliA.modern('tools/call', { name: 'beta__echo' })
    await gateway.cliA.legacy('tools/call', { name: 'beta__echo', arguments: {} }, session)
    await gateway.cliA.modern('prompts/get', { name: 'beta__greet' })
    await gateway.cliA.modern('tools/call', { name: 'nowhere__echo' })
    await gateway.cliA.modern('tools/call', { name: 'alpha__echo', arguments: { text: 'x' } })
    assert.equal(requests.length, before)

    const rows = await until('the refusals', async () => {
      const { body } = await gateway.admin.get('/api/v0/audit?actor=cli-a')
      return body.entries.length >= 3 && (body.entries as Entry[])
    })
    assert.deepEqual(
      (rows as Entry[]).map((row) => [row.action, row.target, row.endpoint, row.outcome, row.address]),
      ['prompt.refused beta__greet', 'tool.refused beta__echo', 'tool.refused beta__echo'].map((text) => [
        ...text.split(' '),
        ...['global', 'refused', '127.0.0.1']
      ])
    )
  }
)
