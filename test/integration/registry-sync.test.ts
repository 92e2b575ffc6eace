import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import pg from 'pg'
import type { Registry } from '../../src/registry/registry.ts'
import { openStore } from '../../src/registry/store/store.ts'
import { createStateFollower } from '../../src/registry/state-follower.ts'
import { startFaultProxy, type FaultProxy } from '../fixtures/fault-proxy.ts'
import { engines, freshPlace, addCleanup, startRegistry, tempDir } from '../store.ts'
import { administer, limits, quiet } from '../templates.ts'
import { until } from '../until.ts'
import { change, follow, httpServer, offerOf, startChild, tool } from './registry-helpers.ts'

const options = { skip: engines.includes('postgres') ? false : 'needs PostgreSQL' }
const unreachable = {
  name: 'AppError',
  statusCode: 503,
  message: 'the registry database is not reachable',
  retryAfter: 1
}

test('two registries on one database see each other’s writes', options, async (t) => {
  const place = await freshPlace(t, 'postgres')
  const [a, b] = [await startRegistry(t, place), await startRegistry(t, place)]
  const [seenByA, seenByB] = [await follow(a), await follow(b)]
  await create(a, 'one')
  await create(b, 'two')
  await seenByA.until((state) => state.servers.length === 2)
  await seenByB.until((state) => state.servers.length === 2)
  await a.write(change('tool.disable', 'two__now'), (tx) => tx.items.setEnabled('two', 'tool', ['now'], false))
  await seenByB.until(({ servers }) => servers[1]!.items[0]!.enabled === false)
})

test('who follows hears from then on of sessions that another replica has ended', options, async (t) => {
  const place = await freshPlace(t, 'postgres')
  const a = await startRegistry(t, place)
  for (let round = 0; round < 5; round++) {
    const b = await startRegistry(t, place)
    const heard: string[] = []
    await b.follow(
      () => {},
      (text) => heard.push(text)
    )
    const mark = Buffer.alloc(32, round).toString('base64url')
    await a.sessionEnds.add({ mark, principal: 'a', expiresAt: Date.now() + 60_000 })
    await until('the announcement', () => heard.includes(`${mark} a`), 10_000)
  }
})

test('writes are seen within 2 seconds also after every listener was ended', options, async (t) => {
  const place = await freshPlace(t, 'postgres')
  const errors: unknown[] = []
  const [a, b] = [
    await startRegistry(t, place),
    await startRegistry(t, place, { onError: (error) => errors.push(error) })
  ]
  const seenByB = await follow(b)
  const times: number[] = []
  for (let round = 1; round <= 3; round++) {
    await endListeners(place.databaseUrl!)
    await create(a, `s${round}`)
    const written = performance.now()
    await seenByB.until((state) => state.servers.length === round)
    times.push(performance.now() - written)
  }
  // on a busy machine some are slow
  assert.ok(Math.min(...times) < 2_000, `${times.join(', ')} ms`)
  assert.ok(errors.length >= 1 && errors.length <= 3, `${errors.length} reports`)
})

test('where NOTIFY cannot reach, the version poll does, and the failure is told once', options, async (t) => {
  const place = await freshPlace(t, 'postgres')
  const writer = await startRegistry(t, place)
  const store = await openStore({ ...limits, ...quiet, ...place })
  addCleanup(t, () => store.close())
  const errors: unknown[] = []
  const listener = () => new pg.Client({ host: '127.0.0.1', port: 1 })
  const sync = createStateFollower({ store: { db: store.db, listener }, onError: (error) => errors.push(error) })
  addCleanup(t, () => sync.close())
  const { until } = await follow(sync)
  await create(writer, 'one')
  await until((state) => state.servers.length === 1)
  await create(writer, 'two')
  await until((state) => state.servers.length === 2)
  assert.equal(errors.length, 1)
})

test('a burst of writes elsewhere is folded into fewer loads, and ends at the last', options, async (t) => {
  const place = await freshPlace(t, 'postgres')
  const [a, b] = [await startRegistry(t, place), await startRegistry(t, place)]
  const { seen, until } = await follow(b)
  await Promise.all(Array.from({ length: 30 }, (_, index) => create(a, `s${index}`)))
  await until((state) => state.servers.length === 30)
  const versions = seen.map((state) => Number(state.version))
  assert.deepEqual(
    versions,
    versions.toSorted((x, y) => x - y)
  )
})

test('LC-06: a database that goes away is a 503 and comes back by itself', options, async (t) => {
  const place = await freshPlace(t, 'postgres')
  const proxy = await startProxy(t, place.databaseUrl!)
  const errors: unknown[] = []
  const onError = (error: unknown) => errors.push(error)
  const registry = await startRegistry(t, { ...place, databaseUrl: proxy.url }, { onError })
  const elsewhere = await startRegistry(t, place)
  const { latest, until } = await follow(registry)
  await create(registry, 'before')

  await proxy.cut()
  await assert.rejects(create(registry, 'during'), unreachable)
  await assert.rejects(registry.ping(), unreachable)
  await assert.rejects(registry.configs(), unreachable)
  assert.equal(latest().servers.length, 1)
  await create(elsewhere, 'elsewhere')
  await proxy.mend()
  await until((state) => state.servers.length === 2)
  await create(registry, 'after')
  assert.deepEqual(
    latest().servers.map((server) => server.name),
    ['after', 'before', 'elsewhere']
  )
  assert.ok(errors.length <= 2, `${errors.length} reports`)
})

test('LC-06: connections that are lost between two statements of a write are a 503', options, async (t) => {
  const place = await freshPlace(t, 'postgres')
  const registry = await startRegistry(t, place)
  const work = registry.write(change('server.create', 'time'), async (tx) => {
    await tx.servers.create(httpServer('time'), offerOf([]))
    await administer(place.databaseUrl!, endAll)
    await tx.servers.setEnabled('time', false)
  })
  await assert.rejects(work, unreachable)
  await registry.ping()
  assert.deepEqual(await registry.configs(), [])
})

test('LC-08: a frozen database is a 503 within the limits, and thaws without harm', options, async (t) => {
  const place = await freshPlace(t, 'postgres')
  const proxy = await startProxy(t, place.databaseUrl!)
  const short = { connectTimeoutMs: 1_000, queryTimeoutMs: 2_000 }
  const registry = await startRegistry(t, { ...place, databaseUrl: proxy.url }, short)
  const { until } = await follow(registry)
  await registry.ping()
  proxy.freeze()
  await Promise.all(
    Array.from({ length: 20 }, (_, index) => assert.rejects(create(registry, `s${index}`), unreachable))
  )
  proxy.thaw()
  await create(registry, 'after')
  await until(({ servers }) => servers.some((server) => server.name === 'after'))
  const { version, servers } = (await follow(await startRegistry(t, place))).latest()
  assert.equal(version, String(servers.length))
})

test('a start without a database is a 503 with the reason as its cause', options, async (t) => {
  const place = { databaseUrl: 'postgres://postgres@127.0.0.1:1/none', dataDir: await tempDir(t) }
  await assert.rejects(startRegistry(t, place), (error: Error) => {
    assert.equal(error.message, unreachable.message)
    assert.equal((error.cause as { code?: string }).code, 'ECONNREFUSED')
    return true
  })
})

test('a process ends by itself once its registry on PostgreSQL is closed', options, async (t) => {
  const child = startChild(t, 'pass', await freshPlace(t, 'postgres'))
  assert.equal(await child.ended, 0)
})

test('a database that was put back to an earlier state is served as it is then', options, async (t) => {
  const place = await freshPlace(t, 'postgres')
  const registry = await startRegistry(t, place)
  const { latest, until } = await follow(registry)
  await create(registry, 'one')
  await create(registry, 'two')
  const back = `update gateway set version = 1; update servers set description = 'restored' where name = 'one'`
  await administer(place.databaseUrl!, `${back}; delete from servers where name = 'two'`)
  await until((state) => state.version === '1')
  assert.deepEqual(
    latest().servers.map(({ name, description }) => [name, description]),
    [['one', 'restored']]
  )
})

const create = (registry: Registry, name: string) =>
  registry.write(change('server.create', name), (tx) => tx.servers.create(httpServer(name), offerOf([tool('now')])))

const endAll = `select pg_terminate_backend(pid) from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid()`

const endListeners = (url: string) => administer(url, `${endAll} and application_name = 'towpath listener'`)

/** Starts a fault proxy between a registry and its database. */
async function startProxy(t: TestContext, target: string): Promise<FaultProxy & { readonly url: string }> {
  const proxy = await startFaultProxy(target)
  addCleanup(t, proxy.close)
  return Object.assign(proxy, { url: proxy.urlOf(target) })
}
