import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startFaultProxy } from '../fixtures/fault-proxy.ts'
import type { CallEntry } from '../../src/schemas/call.ts'
import { firstOf } from '../matrix.ts'
import { engines, freshPlace, addCleanup } from '../store.ts'
import { addUpstream, skip, startEnterprise } from './enterprise.ts'
import { restart, startGateway } from './harness.ts'
import { until } from '../until.ts'
import { registrationOf, startUpstream } from './upstream.ts'

const names = (calls: readonly CallEntry[]) => calls.map(({ item, outcome }) => `${item} ${outcome}`)

for (const engine of firstOf(engines)) {
  test(`what was called just before SIGTERM is in the log after the next start (${engine})`, async (t) => {
    const gateway = await startGateway(t, { place: await freshPlace(t, engine) })
    await gateway.register(registrationOf('alpha', await startUpstream(t, 'alpha')))
    const answers = Array.from({ length: 40 }, () => gateway.post('/api/v0/tools/invoke', { name: 'alpha__echo' }))
    for (const answer of await Promise.all(answers)) assert.equal(answer.status, 200)
    assert.equal(await gateway.stop(), 0)
    const again = await restart(t, gateway)
    const { body } = await again.get('/api/v0/calls')
    assert.deepEqual([...new Set(names(body.calls as CallEntry[]))], ['echo ok'])
    assert.equal(body.calls.length, 40)
  })
}

test('calls go on without the database, and are in the log once it is back', { skip }, async (t) => {
  const { databaseUrl, dataDir } = await freshPlace(t, 'postgres')
  const proxy = await startFaultProxy(databaseUrl!)
  addCleanup(t, proxy.close)
  const gateway = await startGateway(t, { place: { databaseUrl: proxy.urlOf(databaseUrl!), dataDir } })
  await gateway.register(registrationOf('alpha', await startUpstream(t, 'alpha')))
  await proxy.cut()
  for (let n = 0; n < 5; n++) {
    assert.equal((await gateway.post('/api/v0/tools/invoke', { name: 'alpha__echo' })).status, 200)
  }
  assert.equal((await gateway.get('/api/v0/calls')).status, 503)
  await proxy.mend()
  const calls = await until(
    'the calls are stored',
    async () => {
      const { body } = await gateway.get('/api/v0/calls')
      return body.calls.length === 5 && (body.calls as CallEntry[])
    },
    30_000
  )
  assert.deepEqual([...new Set(names(calls as CallEntry[]))], ['echo ok'])
})

test('the call log tells who called, to administrators all of it and to users their own calls', { skip }, async (t) => {
  const gateway = await startEnterprise(t)
  await addUpstream(t, gateway, 'alpha')
  const session = await gateway.cliA.initialize()
  await gateway.cliA.legacy('tools/call', { name: 'alpha__echo', arguments: {} }, session)
  await gateway.user.post('/api/v0/tools/invoke', { name: 'alpha__echo' })
  const calls = (await until('both', async () => {
    const { body } = await gateway.admin.get('/api/v0/calls?server=alpha')
    return body.calls.length === 2 && body.calls
  })) as CallEntry[]
  assert.deepEqual(
    calls.map(({ caller_kind, caller, via }) => [caller_kind, caller, via]),
    [
      ['user', 'user', 'rest'],
      ['client', 'cli-a', 'legacy']
    ]
  )
  const one = await gateway.admin.get('/api/v0/calls?caller=cli-a')
  assert.equal(one.body.calls.length, 1)
  const [own, other] = calls.map(({ id }) => `/api/v0/calls/${id}`) as [string, string]
  const { user, cliAll } = gateway
  // users read their own calls
  const statuses = { '/api/v0/calls': 200, [own]: 200, [other]: 404, '/api/v0/stats': 403 }
  for (const [path, status] of Object.entries(statuses)) {
    assert.equal((await gateway.admin.get(path)).headers.get('cache-control'), 'no-store')
    assert.equal((await user.get(path)).status, status, path)
    assert.equal((await cliAll.get(path)).status, 403, path)
    assert.equal((await gateway.as().get(path)).status, 401, path)
  }
})
