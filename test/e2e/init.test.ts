import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { freshDatabase, tempDir } from '../store.ts'
import { actorAt, initialize, key, skip, startEmpty, userRecord } from './enterprise.ts'
import { startGateway } from './harness.ts'
import { until } from '../until.ts'

const refused = { error: 'the server is already initialized' }

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
  assert.deepEqual((await admin.get('/api/v0/users/whoami')).body, userRecord('admin', 'admin'))
  const second = await gateway.post('/init')
  assert.deepEqual([second.status, second.body], [409, refused])
  assert.equal(gateway.output().includes(token), false)
})

test(
  'AN-10 of twenty calls at two replicas exactly one initialises, and both know its administrator',
  { skip },
  async (t) => {
    const place = async () => ({ databaseUrl, dataDir: await tempDir(t) })
    const databaseUrl = await freshDatabase(t)
    const start = async () => startGateway(t, { place: await place(), env: key })
    const replicas = await Promise.all([start(), start()])
    const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => replicas[i % 2]!.post('/init')))
    const won = answers.filter(({ status }) => status === 200)
    const lost = answers.filter(({ status }) => status !== 200)
    assert.equal(won.length, 1)
    for (const { status, body } of lost) assert.deepEqual([status, body], [409, refused])
    for (const { url } of replicas) {
      const admin = actorAt(t, url, won[0]!.body.admin_access_token as string)
      await until('it is known', async () => (await admin.get('/api/v0/users')).status === 200)
    }
  }
)

test('AN-10 where an init secret is set nobody initialises without it', { skip }, async (t) => {
  const secret = 'the-init-secret-of-this-test'
  const gateway = await startEmpty(t, { env: { TOWPATH_INIT_SECRET: secret } })
  const wrong = [undefined, 'x'.repeat(secret.length), `${secret}x`, secret.slice(0, -1), secret.toUpperCase()]
  for (const given of wrong) {
    const { status, headers, body } = await actorAt(t, gateway.url, given).post('/init')
    assert.deepEqual([status, headers.get('www-authenticate')], [401, 'Bearer'])
    assert.deepEqual(body, { error: 'this needs the init secret: "Authorization: Bearer <secret>"' })
  }
  const { status, body } = await actorAt(t, gateway.url, secret).post('/init')
  assert.equal(status, 200)
  assert.equal((await actorAt(t, gateway.url, secret).get('/api/v0/servers')).status, 401, 'it opens nothing else')
  assert.equal((await actorAt(t, gateway.url, body.admin_access_token).get('/api/v0/servers')).status, 200)
})

test(
  'AN-10 replicas that start with an administrator token initialise the database once, with that token',
  { skip },
  async (t) => {
    const databaseUrl = await freshDatabase(t)
    const start = async (token: string) =>
      startGateway(t, {
        place: { databaseUrl, dataDir: await tempDir(t) },
        env: { ...key, TOWPATH_ADMIN_TOKEN: token }
      })
    const token = 'an-administrator-token'
    const replicas = await Promise.all([start(token), start(token)])
    for (const gateway of replicas) {
      assert.deepEqual((await actorAt(t, gateway.url, token).get('/api/v0/users')).body, [userRecord('admin', 'admin')])
      assert.equal((await gateway.post('/init')).status, 409)
      assert.equal(gateway.output().includes(token), false)
    }
    const later = await start('another-administrator-token')
    assert.equal((await actorAt(t, later.url, token).get('/api/v0/users')).status, 200)
    assert.equal((await actorAt(t, later.url, 'another-administrator-token').get('/api/v0/users')).status, 401)
  }
)

test('AN-12 before it is initialised nothing is served, started or shown', { skip }, async (t) => {
  const gateway = await startEmpty(t)
  const marker = join(await tempDir(t), 'marker')
  const script = `require('node:fs').writeFileSync(${JSON.stringify(marker)}, '')`
  const stdio = { name: 'a', transport: 'stdio', command: process.execPath, args: ['-e', script] }
  const anybody = actorAt(t, gateway.url)
  const closed: [method: string, path: string, body?: object][] = [
    ['GET', '/api/v0/servers'],
    ['POST', '/api/v0/servers', stdio],
    ['PUT', '/api/v0/servers/a', stdio],
    ['POST', '/api/v0/users', { name: 'u', role: 'admin' }],
    ['GET', '/api/v0/users/whoami'],
    ['POST', '/mcp', { jsonrpc: '2.0', id: 1, method: 'ping' }],
    ['GET', '/sse'],
    ['POST', '/message?sessionId=x', {}],
    ['POST', '/v0/groups/g1/mcp', {}],
    ['GET', '/v0/groups/g1/sse'],
    ['GET', '/api/v0/nothing'],
    ['DELETE', '/health']
  ]
  for (const [method, path, body] of closed) {
    const answer = await anybody.send(method, path, body)
    const refusal = { error: 'server is not initialized', code: 'not_initialized' }
    assert.deepEqual([answer.status, answer.body], [403, refusal], `${method} ${path}`)
  }
  for (const path of ['/', '/index.html', '/assets/x.js', '/api/dashboard/overview']) {
    assert.equal((await anybody.get(path)).status, 404, path)
  }
  for (const path of ['/health', '/ready', '/metadata', '/docs', '/openapi.json']) {
    assert.equal((await anybody.get(path)).status, 200, path)
  }
  assert.equal(existsSync(marker), false)
})

test('AN-12 who can reach it is told at the start that it waits for an administrator', { skip }, async (t) => {
  const open = await startEmpty(t, { env: { HOST: '0.0.0.0' } })
  assert.match(open.output(), /not initialized: anyone who reaches this port can claim the administrator account/)
  const guarded = await startEmpty(t, { env: { HOST: '0.0.0.0', TOWPATH_INIT_SECRET: 'the-init-secret-of-this-test' } })
  assert.doesNotMatch(guarded.output(), /anyone who reaches/)
  await initialize(open)
})
