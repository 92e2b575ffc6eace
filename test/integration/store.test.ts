import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { openStore } from '../../src/registry/store/store.ts'
import { engines, freshPlace, addCleanup, startRegistry } from '../store.ts'
import { limits, quiet } from '../templates.ts'
import { change, follow, httpServer, offerOf } from './registry-helpers.ts'

for (const engine of engines) {
  test(`long integers, bytes, times and arrays read the same (${engine})`, async (t) => {
    const store = await openStore({ ...limits, ...quiet, ...(await freshPlace(t, engine)) })
    addCleanup(t, () => store.close())
    const { rows } = await sql<Record<string, unknown>>`
      select 9007199254740993::int8 as long, count(*) as count, '\\x00ff'::bytea as bytes,
        timestamptz '2026-01-02 03:04:05.678+00' as time, array['a', null, 'b,"c'] as list from gateway`.execute(
      store.db
    )
    const { bytes, time, ...rest } = rows[0]!
    assert.deepEqual(rest, { long: '9007199254740993', count: '0', list: ['a', null, 'b,"c'] })
    assert.deepEqual([...(bytes as Uint8Array)], [0, 255])
    assert.equal((time as Date).toISOString(), '2026-01-02T03:04:05.678Z')
  })

  test(`arrays of texts, integers and ids are written and read the same (${engine})`, async (t) => {
    const store = await openStore({ ...limits, ...quiet, ...(await freshPlace(t, engine)) })
    addCleanup(t, () => store.close())
    const texts = ['', 'null', null, 'a b', '{1,2}', 'b,"c\\', '\u{1f600}']
    const integers = [0, -1, null, 2_147_483_647]
    const ids = ['5a2c5b0a-8a1e-4f0b-9a57-0123456789ab', null]
    const { rows } = await sql`
      select ${texts}::text[] as texts, ${integers}::integer[] as integers, ${ids}::uuid[] as ids,
        ${[]}::text[] as none`.execute(store.db)
    assert.deepEqual(rows, [{ texts, integers, ids, none: [] }])
  })

  test(`a write whose work throws has done nothing (${engine})`, async (t) => {
    const registry = await startRegistry(t, await freshPlace(t, engine))
    const { latest } = await follow(registry)
    const { version } = latest()
    const failure = new Error('changed my mind')
    const work = registry.write(change('server.create', 'time'), async (tx) => {
      await tx.servers.create(httpServer('time'), offerOf([]))
      throw failure
    })
    await assert.rejects(work, failure)
    assert.equal(latest().version, version)
    assert.deepEqual(await registry.configs(), [])
  })

  test(`a write resolves when its own process serves the new version (${engine})`, async (t) => {
    const registry = await startRegistry(t, await freshPlace(t, engine))
    const { latest } = await follow(registry)
    for (let round = 1; round <= 20; round++) {
      await registry.write(change('server.create', 's'), (tx) =>
        tx.servers.create(httpServer(`s${round}`), offerOf([]))
      )
      assert.equal(latest().servers.length, round)
    }
  })

  test(`servers that did not change stay the same objects (${engine})`, async (t) => {
    const registry = await startRegistry(t, await freshPlace(t, engine))
    const { latest } = await follow(registry)
    for (const name of ['a', 'b', 'c']) {
      await registry.write(change('server.create', name), (tx) => tx.servers.create(httpServer(name), offerOf([])))
    }
    const [a, b, c] = latest().servers
    await registry.write(change('server.disable', 'b'), (tx) => tx.servers.setEnabled('b', false))
    assert.equal(latest().servers[0], a)
    assert.notEqual(latest().servers[1], b)
    assert.equal(latest().servers[2], c)
    await registry.write(change('server.remove', 'a'), (tx) => tx.servers.remove('a'))
    assert.equal(latest().servers[1], c)
  })

  test(`a registry has one follower (${engine})`, async (t) => {
    const registry = await startRegistry(t, await freshPlace(t, engine))
    await registry.follow(() => {})
    await assert.rejects(
      registry.follow(() => {}),
      { message: 'the registry has one follower' }
    )
    await registry.ping()
  })
}

test('a query beside an open transaction of the embedded store gives up with a clear answer', async (t) => {
  const registry = await startRegistry(t, await freshPlace(t, 'pglite'), { connectTimeoutMs: 1_000 })
  const work = registry.write(change('server.create', 'time'), async (tx) => {
    await tx.servers.create(httpServer('time'), offerOf([]))
    await registry.ping()
  })
  await assert.rejects(work, { name: 'AppError', statusCode: 503, message: 'the registry database is busy' })
  assert.deepEqual(await registry.configs(), [])
})
