import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { FastifyInstance } from 'fastify'
import { buildApp, type BuildOptions } from '../../src/app.ts'
import type { Environment } from '../../src/config/config.ts'
import { freshConfig } from '../app.ts'
import { until } from '../until.ts'
import { startFaultProxy, type FaultProxy } from '../fixtures/fault-proxy.ts'
import { engines, addCleanup } from '../store.ts'

const options = { skip: engines.includes('postgres') ? false : 'needs PostgreSQL' }
const token = 'an-administrator-of-tests'
const enterprise: Environment = {
  SERVER_MODE: 'enterprise',
  TOWPATH_ADMIN_TOKEN: token,
  TOWPATH_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
  TOWPATH_DATABASE_CONNECT_TIMEOUT_MS: '1000',
  TOWPATH_DATABASE_QUERY_TIMEOUT_MS: '2000'
}

/** Starts an app with or without a connection to its database; closed after the test. */
async function start(t: TestContext, env: Environment, { isCut }: { isCut: boolean }, more: BuildOptions = {}) {
  const direct = await freshConfig(t, env, 'postgres')
  const proxy = await startFaultProxy(direct.databaseUrl!)
  addCleanup(t, proxy.close)
  if (isCut) await proxy.cut()
  const databaseUrl = proxy.urlOf(direct.databaseUrl!)
  const config = { ...direct, databaseUrl, directDatabaseUrl: databaseUrl }
  const app = await buildApp(config, more)
  addCleanup(t, () => app.close())
  await app.ready()
  return { app, proxy, config }
}

const statusOf = async (app: FastifyInstance, url: string) => {
  const { statusCode } = await app.inject({ url, headers: { authorization: `Bearer ${token}` } })
  return statusCode
}
const becomesReady = (app: FastifyInstance) =>
  until('the gateway to be ready', async () => (await statusOf(app, '/ready')) === 200)
const silence = (proxy: FaultProxy) => {
  proxy.freeze()
  return () => proxy.thaw()
}

for (const [mode, env] of Object.entries({ development: {}, enterprise })) {
  test(
    `without its database the gateway starts, is not ready, and serves once it is there (${mode})`,
    options,
    async (t) => {
      const { app, proxy } = await start(t, env, { isCut: true })
      const error = { statusCode: 503, message: 'the registry database is not reachable' }
      assert.throws(() => app.registry, error)
      assert.throws(() => app.gateway, error)
      assert.deepEqual([await statusOf(app, '/health'), await statusOf(app, '/metadata')], [200, 200])
      const ready = await app.inject('/ready')
      assert.deepEqual(
        [ready.statusCode, ready.headers['retry-after'], ready.json()],
        [503, '1', { error: 'the registry database is not reachable' }]
      )
      for (const url of [
        '/api/v0/servers',
        '/api/v0/server_configs',
        '/mcp',
        '/sse',
        '/v0/groups/g/mcp',
        '/api/v0/audit'
      ]) {
        assert.equal(await statusOf(app, url), 503, url)
      }
      const posted = { method: 'POST', url: '/mcp', payload: {} } as const
      assert.equal((await app.inject(posted)).statusCode, 503)
      // a refused request adds a row to the audit log, if the database is available
      assert.equal((await app.inject({ url: '/health', headers: { origin: 'https://evil.example' } })).statusCode, 403)

      await proxy.mend()
      await becomesReady(app)
      assert.equal(await statusOf(app, '/api/v0/servers'), 200)
    }
  )
}

test('a database that turns out to be of the other mode ends a start that has gone on', options, async (t) => {
  const first = await start(t, {}, { isCut: false })
  await first.app.close()
  await first.proxy.cut()
  const failures: unknown[] = []
  const app = await buildApp({ ...first.config, mode: 'enterprise' }, { onFailure: (error) => failures.push(error) })
  addCleanup(t, () => app.close())
  assert.equal(await statusOf(app, '/ready'), 503)
  await first.proxy.mend()
  await until('the failure', () => failures.length === 1)
  assert.equal((failures[0] as Error).name, 'StartupError')
  assert.equal(await statusOf(app, '/ready'), 503)
})

test('a start that waits for its database can be stopped', options, async (t) => {
  const { app } = await start(t, {}, { isCut: true })
  await app.close()
})

test('a replica that hears nothing from the database for too long is not ready until it does', options, async (t) => {
  const { app, proxy } = await start(t, { ...enterprise, TOWPATH_STALE_LIMIT: '5' }, { isCut: false })
  await becomesReady(app)
  const thaw = silence(proxy)
  assert.equal(await statusOf(app, '/api/v0/servers'), 200, 'what is known is served')
  await until('it to be stale', async () => (await statusOf(app, '/api/v0/servers')) === 503)
  assert.deepEqual([await statusOf(app, '/ready'), await statusOf(app, '/health')], [503, 200])
  thaw()
  await until('it to be served again', async () => (await statusOf(app, '/api/v0/servers')) === 200)
  assert.equal(await statusOf(app, '/ready'), 200)
})

test('development mode, and a limit of 0, serve what is known for ever', options, async (t) => {
  for (const env of [{}, { ...enterprise, TOWPATH_STALE_LIMIT: '0' }]) {
    const { app, proxy } = await start(t, env, { isCut: false })
    await becomesReady(app)
    const thaw = silence(proxy)
    await until('more than a second of silence', () => app.registry.unconfirmedMs() > 1_500)
    assert.deepEqual([await statusOf(app, '/api/v0/servers'), await statusOf(app, '/ready')], [200, 200])
    thaw()
  }
})
