import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { engines, freshDatabase, tempDir } from '../store.ts'
import { startGateway, until, type Gateway } from './harness.ts'
import { at, startUpstream } from './upstream.ts'

const skip = engines.includes('postgres') ? false : 'no PostgreSQL'

async function startTwo(t: TestContext): Promise<[Gateway, Gateway]> {
  const databaseUrl = await freshDatabase(t)
  // Replicas share the key that seals secrets.
  const env = { TOWPATH_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64') }
  const start = async () => startGateway(t, { place: { databaseUrl, dataDir: await tempDir(t) }, env })
  return Promise.all([start(), start()])
}

const namesOf = async (gateway: Gateway, path: string) =>
  (await gateway.get(path)).body.map(({ name }: { name: string }) => name) as string[]

test('LC-09 of twenty registrations of one name at two replicas exactly one succeeds', { skip }, async (t) => {
  const upstream = await startUpstream(t, 'alpha')
  const replicas = await startTwo(t)
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) => replicas[index % 2]!.post('/api/v0/servers', at('alpha', upstream)))
  )
  assert.deepEqual(
    answers.map(({ status }) => status).toSorted((a, b) => a - b),
    [201, ...Array.from({ length: 19 }, () => 409)]
  )
  for (const replica of replicas) {
    await until('both replicas to know it', async () => (await namesOf(replica, '/api/v0/servers')).length > 0, 2_000)
    assert.deepEqual(await namesOf(replica, '/api/v0/servers'), ['alpha'])
    assert.deepEqual(await namesOf(replica, '/api/v0/tools'), ['alpha__echo'])
  }
})

test('LC-13 what one replica switches off or removes, the other refuses within two seconds', { skip }, async (t) => {
  const upstream = await startUpstream(t, 'alpha')
  const [a, b] = await startTwo(t)
  await a.register({ ...at('alpha', upstream), bearer_token: 'shared-between-the-replicas' })
  const call = async () => (await b.post('/api/v0/tools/invoke', { name: 'alpha__echo' })).status
  const becomes = async (status: number) => {
    await until(`the other replica to answer ${status}`, async () => (await call()) === status, 2_000)
    for (let again = 0; again < 10; again++) assert.equal(await call(), status)
  }
  await becomes(200)
  await a.post('/api/v0/tools/disable?entity=alpha__echo')
  await becomes(409)
  await a.post('/api/v0/tools/enable?entity=alpha__echo')
  await becomes(200)
  await a.post('/api/v0/servers/alpha/disable')
  await becomes(409)
  await a.remove('/api/v0/servers/alpha')
  await becomes(404)
  assert.deepEqual(await namesOf(b, '/api/v0/servers'), [])
})
