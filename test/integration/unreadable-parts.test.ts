import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { openStore } from '../../src/registry/store/store.ts'
import { freshConfig, openApp, register, stdioServer } from '../app.ts'
import { engines, addCleanup } from '../store.ts'
import { limits, quiet } from '../templates.ts'

for (const engine of engines) {
  test(`SR-C1 a start on a store with a part that cannot be read serves the rest, and /ready names the part until it is removed (${engine})`, async (t) => {
    const config = await freshConfig(t, {}, engine)
    const first = await openApp(config)
    addCleanup(t, () => first.close())
    await register(first, stdioServer('alpha'))
    const payload = { name: 'bad', included_servers: ['alpha'] }
    assert.equal((await first.inject({ method: 'POST', url: '/api/v0/tool-groups', payload })).statusCode, 201)
    await first.close()
    const { dataDir, databaseUrl } = config
    const store = await openStore({
      ...limits,
      ...quiet,
      dataDir,
      ...(databaseUrl === undefined ? {} : { databaseUrl })
    })
    await sql`update tool_groups set included_tools = '5' where name = 'bad'`.execute(store.db)
    await store.close()

    const app = await openApp(config)
    addCleanup(t, () => app.close())
    const ready = await app.inject('/ready')
    assert.deepEqual(
      [ready.statusCode, ready.json()],
      [503, { error: 'the gateway cannot read tool group "bad"; its log says why' }],
      'it names what is wrong'
    )
    const called = await app.inject({
      method: 'POST',
      url: '/api/v0/tools/invoke',
      payload: { name: 'alpha__echo', text: 'x' }
    })
    assert.equal(called.statusCode, 200, called.body)
    const removed = await app.inject({ method: 'DELETE', url: '/api/v0/tool-groups/bad' })
    assert.equal(removed.statusCode, 204, removed.body)
    assert.equal((await app.inject('/ready')).statusCode, 200, 'all can be read again')
  })
}
