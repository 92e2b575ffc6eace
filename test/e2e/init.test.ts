import assert from 'node:assert/strict'
import { test } from 'node:test'
import { actorAt, skip, startEmpty } from './enterprise.ts'

test('AN-10 the first POST /init makes an administrator, every other one is refused', { skip }, async (t) => {
  const gateway = await startEmpty(t)
  const first = await gateway.post('/init')
  assert.equal(first.status, 200)
  const { status, admin_access_token: token, ...rest } = first.body
  assert.deepEqual([status, rest], ['initialized', {}])
  assert.match(token, /^twp_[\w-]{43}$/)
  assert.equal(first.headers.get('cache-control'), 'no-store')
  const admin = actorAt(t, gateway.url, token)
  assert.equal((await admin.get('/api/v0/server_configs')).status, 200)
  assert.deepEqual((await admin.get('/api/v0/users/whoami')).body, { name: 'admin', role: 'admin' })
  const second = await gateway.post('/init')
  assert.deepEqual([second.status, second.body], [409, { error: 'the server is already initialized' }])
  assert.equal(gateway.output().includes(token), false)
})
