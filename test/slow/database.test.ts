import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { actorAt, addUpstream, registerAs, skip, startEmpty, startEnterprise } from '../e2e/enterprise.ts'
import { until } from '../until.ts'
import { startOwnPostgres } from '../own-postgres.ts'
import { tempDir } from '../store.ts'

/** Starts an enterprise gateway on its own PostgreSQL server, with alpha. */
async function start(t: TestContext, env: NodeJS.ProcessEnv = {}) {
  const postgres = await startOwnPostgres(t)
  const place = { databaseUrl: postgres.url, dataDir: await tempDir(t) }
  const gateway = await startEnterprise(t, { place, env })
  const upstream = await addUpstream(t, gateway, 'alpha')
  return { postgres, gateway, upstream }
}

test('LC-06 a database that ends at once and comes back is used again, by the same process', { skip }, async (t) => {
  const { postgres, gateway, upstream } = await start(t)
  const { pid } = gateway
  await postgres.restart()
  const begun = performance.now()
  const all = async () => {
    const answers = await Promise.all([
      gateway.user.get('/api/v0/tools'),
      gateway.user.post('/api/v0/tools/invoke', { name: 'alpha__echo' }),
      gateway.admin.get('/api/v0/server_configs'),
      gateway.admin.post('/api/v0/tools/disable?entity=alpha__fail')
    ])
    const statuses = answers.map(({ status }) => status)
    assert.ok(
      statuses.every((status) => status === 200 || status === 503),
      `nothing but 200 and 503: ${statuses.join()}`
    )
    return statuses.every((status) => status === 200)
  }
  await until('all to be answered', all)
  t.diagnostic(`all answered ${Math.round(performance.now() - begun)} ms after the restart`)
  assert.deepEqual([gateway.pid, gateway.child.exitCode, upstream.calls('tools/call').length > 0], [pid, null, true])
  await registerAs(gateway.admin, { name: 'beta', transport: 'streamable_http', url: upstream.url })
})

test(
  'LC-08 while every process of the database is frozen, what is known is served and writes are 503',
  { skip },
  async (t) => {
    const { postgres, gateway } = await start(t, {
      TOWPATH_DATABASE_CONNECT_TIMEOUT_MS: '1000',
      TOWPATH_DATABASE_QUERY_TIMEOUT_MS: '2000'
    })
    postgres.freeze()
    const health: number[] = []
    let isFrozen = true
    const watch = async () => {
      while (isFrozen) {
        const begun = performance.now()
        assert.equal((await gateway.get('/health')).status, 200)
        health.push(performance.now() - begun)
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    }
    const watching = watch()
    const requests = Array.from({ length: 50 }, (_, i) => {
      if (i % 5 === 0) return gateway.admin.post('/api/v0/tools/disable?entity=alpha__fail')
      if (i % 5 === 1) return gateway.admin.get('/api/v0/server_configs')
      if (i % 5 === 2) return gateway.cliA.modern('tools/call', { name: 'alpha__echo', arguments: {} })
      if (i % 5 === 3) return gateway.user.post('/api/v0/tools/invoke', { name: 'alpha__echo' })
      return gateway.user.get('/api/v0/tools')
    })
    const begun = performance.now()
    const statuses = (await Promise.all(requests)).map(({ status }) => status)
    const took = performance.now() - begun
    isFrozen = false
    await watching
    postgres.thaw()

    statuses.forEach((status, i) => assert.equal(status, i % 5 < 2 ? 503 : 200, `request ${i}`))
    health.sort((a, b) => a - b)
    const [median, slowest] = [health[health.length >> 1]!, health.at(-1)!]
    t.diagnostic(
      `answered within ${Math.round(took)} ms; /health ${Math.round(median)} ms, at most ${Math.round(slowest)}`
    )
    assert.ok(median < took / 4, `/health took ${median} ms of ${took}`)
    await until(
      'writes to succeed again',
      async () => (await gateway.admin.post('/api/v0/tools/disable?entity=alpha__fail')).status === 200
    )
  }
)

test(
  'three processes that start at once on an empty PostgreSQL are all ready, initialised once, and agree',
  { skip },
  async (t) => {
    const postgres = await startOwnPostgres(t)
    const token = 'an-administrator-of-tests'
    const gateways = await Promise.all(
      [1, 2, 3].map(async () => {
        const place = { databaseUrl: postgres.url, dataDir: await tempDir(t) }
        return startEmpty(t, { place, env: { TOWPATH_ADMIN_TOKEN: token } })
      })
    )
    const as = ({ url }: { url: string }) => actorAt(t, url, token)
    const [first] = gateways
    const made = await as(first!).post('/api/v0/users', { name: 'one' })
    assert.equal(made.status, 201, made.text)
    for (const gateway of gateways) {
      const names = async () => {
        const { body } = await as(gateway).get('/api/v0/users')
        return (body as { name: string }[]).map(({ name }) => name).join()
      }
      await until('the user at every replica', async () => (await names()) === 'admin,one')
    }
  }
)
